"""Merge batches into one snapshot: a pure function of what they hold and of the rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.snapshots import Beside, SnapshotTables
from ingestion.leave_out import LeftOut, without_withdrawn
from ingestion.merge_beside import STEP, decisions, merged_beside, split_conflicts
from ingestion.merge_choose import Chooser, Chosen, Part
from ingestion.merge_classes import unite_classes
from ingestion.merge_frames import United, Voice, unite_frames, unite_sources
from ingestion.merge_places import Places
from ingestion.merge_ranges import BoxPart, RangedBoxes, unite_in_ranges
from ingestion.merge_rules import Heard, MergeRules, NamedSnapshot, box_rules, by_name, line_up, order_of
from ingestion.merge_units import place_batches
from ingestion.split_board import SplitRules

__all__ = ["MergeRules", "Merged", "NamedSnapshot", "merge_snapshots"]


@dataclass(frozen=True, slots=True)
class Merged:
    """The one snapshot, what lies beside it (a decision for every frame left out), and counts that add up.

    frames_in = frames + frames_shared + frames_leaked + frames_withdrawn + frames_where + frames_sampling +
    frames_quota, sources_in = sources + sources_repeated + sources_leaked + sources_withdrawn + sources_left_out, and
    boxes_in = boxes + boxes_united + boxes_overruled + boxes_in_review + boxes_leaked + boxes_withdrawn +
    boxes_left_out + boxes_filtered.
    """

    tables: SnapshotTables
    beside: Beside
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _United:
    """All tables made one, before frames without a place go."""

    frames: United
    sources: United
    boxes: RangedBoxes
    repeated_boxes: int


def merge_snapshots(batches: Sequence[NamedSnapshot], rules: MergeRules) -> Merged:
    """Return one snapshot of `batches`, which are in the order of their arrival; they stay as they are.

    A batch that comes twice changes nothing. Under the rules union, consensus and review the order says nothing but
    which split a group has that is not stated: the one it had first; and not even that where `rules.ordered` is false.

    Raises:
        InvalidInputError: there is no batch, two classes differ in nothing but case or blanks, or the hold-out names
            what no batch has.
        UsageError: a condition or the name of a batch in the rules is wrong.
    """
    classes = unite_classes(batches)
    allowed, withdrawn = _leave_out(batches, rules.withdrawn)
    heard = line_up(allowed, rules)
    places = _place(line_up(batches, rules), rules).without(rules.withdrawn)
    chosen = Chooser(rules.merge, [batch.name for batch in batches]).choose(
        (_part(entry.batch) for entry in heard), places.table
    )
    order = places.table.sort("frame_id").with_row_index("place")
    united = _unite(heard, chosen, order, rules)
    tables = _tables(united, order, classes)
    conflicts = [united.frames.conflicts, united.sources.conflicts, united.boxes.conflicts]
    decided = decisions(chosen.left_out, places, tables, [part.decisions for part in withdrawn])
    beside = merged_beside([entry.batch for entry in heard], decided, [*conflicts, split_conflicts(places)], tables)
    counts = _counts(batches, united, chosen, tables) | {
        f"{name}_withdrawn": sum(part.rows[name] for part in withdrawn) for name in columns.KEYS
    }
    return Merged(tables, beside, counts | {"conflicts": beside.conflicts.num_rows})


def _leave_out(
    batches: Sequence[NamedSnapshot], withdrawn: frozenset[str]
) -> tuple[list[NamedSnapshot], list[LeftOut]]:
    parts = [without_withdrawn(batch.tables, withdrawn, STEP) for batch in batches]
    kept = [replace(batch, tables=tables) for batch, (tables, _) in zip(batches, parts, strict=True)]
    return kept, [part for _, part in parts]


def _part(batch: NamedSnapshot) -> Part:
    tables = batch.tables
    return Part(batch.name, _frame(tables.frames), _frame(tables.sources), tables.boxes)


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _place(heard: Sequence[Heard], rules: MergeRules) -> Places:
    """Place all frames, also those not taken and those withdrawn: what is left out moves no frame to another split."""
    order = by_name(heard) if rules.symmetric and not rules.ordered else sorted(heard, key=lambda entry: entry.arrival)
    new, placed = (
        [(entry.batch.name, entry.batch.tables) for entry in order if entry.batch.placed == stands]
        for stands in (False, True)
    )
    return place_batches(new, SplitRules(rules.holdout, rules.splits, rules.fixed_splits), placed)


def _unite(heard: Sequence[Heard], chosen: Chosen, places: pl.DataFrame, rules: MergeRules) -> _United:
    order = order_of(rules.merge.rule, heard, rules)
    speakers = _distinct(chosen.parts, order)
    repeated = sum(part.boxes.num_rows for turn, part in enumerate(chosen.parts) if turn not in speakers)
    frames, sources = (
        pl.concat(
            getattr(chosen.parts[turn], name).with_columns(
                turn=pl.lit(turn, pl.Int64), by=pl.lit(chosen.parts[turn].name)
            )
            for turn in speakers
        )
        for name in ("frames", "sources")
    )
    looked = frames.select("frame_id", "annotated_classes", "turn", "by")
    spoken = [BoxPart(turn, chosen.parts[turn].name, chosen.parts[turn].boxes) for turn in speakers]
    chosen.parts.clear()  # what is stacked is not needed twice
    boxes = unite_in_ranges(spoken, looked, places["frame_id"], box_rules(heard, rules))
    found = unite_frames(frames, _voice(rules, order))
    reviewed = United(_without_disputed(found.table, boxes.disputed), found.conflicts)
    return _United(reviewed, unite_sources(sources), boxes, repeated)


def _distinct(parts: Sequence[Part], order: Mapping[int, int]) -> list[int]:
    """Return the turns of all but those who say just what another says: a batch that comes twice has one voice."""
    kept: list[int] = []
    for turn in sorted(range(len(parts)), key=lambda turn: order.get(turn, turn)):
        if not any(_equal(parts[turn], parts[other]) for other in kept):
            kept.append(turn)
    return sorted(kept)


def _equal(a: Part, b: Part) -> bool:
    pairs = [(a.frames, b.frames), (a.sources, b.sources)]
    if a.boxes.num_rows != b.boxes.num_rows or any(one.height != other.height for one, other in pairs):
        return False
    return all(one.equals(other) for one, other in pairs) and bool(a.boxes.equals(b.boxes))


def _voice(rules: MergeRules, order: Mapping[int, int]) -> Voice:
    if rules.merge.rule == "consensus":
        return Voice("most", order, "consensus")
    if rules.merge.rule == "review":
        return Voice("none", order, "review")
    return Voice("first", order, "first" if rules.merge.rule == "union" else rules.merge.rule)


def _without_disputed(frames: pl.DataFrame, disputed: pl.DataFrame) -> pl.DataFrame:
    """Return `frames` without the annotated classes that a review must look at first."""
    if disputed.is_empty():
        return frames
    out = disputed.group_by("frame_id").agg(_out="class_name")
    left = pl.col("annotated_classes").list.set_difference("_out").list.sort()
    joined = frames.join(out, on="frame_id", how="left", maintain_order="left")
    found = pl.when(pl.col("_out").is_null()).then("annotated_classes").otherwise(left)
    return joined.with_columns(annotated_classes=found).drop("_out")


def _tables(united: _United, places: pl.DataFrame, classes: tuple[str, ...]) -> SnapshotTables:
    frames = united.frames.table.drop("split", "drive_group").join(places, on="frame_id").sort("place")
    sources = united.sources.table.join(places.select("frame_id", "place"), on="frame_id")
    return SnapshotTables(
        frames=frames.select(columns.FRAMES.names).to_arrow(),
        sources=_sorted_sources(sources).select(columns.SOURCES.names).to_arrow(),
        boxes=united.boxes.boxes,
        classes=classes,
    )


def _sorted_sources(sources: pl.DataFrame) -> pl.DataFrame:
    """Return `sources` by key; `place` goes as their frames do, and numbers are sorted faster than texts."""
    keys = ["place", *columns.KEYS["sources"][1:]]
    table = sources.select(keys).to_arrow(compat_level=pl.CompatLevel.oldest())
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    return sources.select(pl.all().gather(pl.Series(order.to_numpy())))


def _counts(
    batches: Sequence[NamedSnapshot], united: _United, chosen: Chosen, tables: SnapshotTables
) -> dict[str, int]:
    """Count what came in, what of it is left once, and what of that was kept."""
    coming = {name: sum(getattr(batch.tables, name).num_rows for batch in batches) for name in columns.KEYS}
    once = {"frames": united.frames.table, "sources": united.sources.table}
    kept = {name: getattr(tables, name).num_rows for name in columns.KEYS}
    frames = _frame(tables.frames.select(["split", "drive_group", "annotated_classes"]))
    boxes = united.boxes.counts
    return {
        "batches": len(batches),
        **{f"{name}_in": count for name, count in coming.items()},
        **kept,
        **{f"{name}_leaked": table.height - kept[name] for name, table in once.items()},
        "boxes_leaked": united.boxes.leaked,
        "frames_shared": chosen.taken["frames"] - once["frames"].height,
        "sources_repeated": chosen.taken["sources"] - once["sources"].height,
        **{f"boxes_{why}": count + (united.repeated_boxes if why == "united" else 0) for why, count in boxes.items()},
        **chosen.counts,
        "frames_labeled": frames.filter(pl.col("annotated_classes").list.len() > 0).height,
        "drive_groups": frames["drive_group"].n_unique(),
        **{f"frames_{split}": frames.filter(pl.col("split") == split).height for split in columns.SPLITS},
    }
