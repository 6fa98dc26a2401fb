"""Merge batches into one snapshot: a pure function of what they hold and of the rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.snapshots import Beside, SnapshotTables
from ingestion.leave_out import LeftOut, without_withdrawn
from ingestion.merge_beside import STEP, decisions, merged_beside, split_conflicts
from ingestion.merge_choose import Chooser, Chosen, Part
from ingestion.merge_classes import check_ruled, unite_classes
from ingestion.merge_frames import Voice
from ingestion.merge_places import Places
from ingestion.merge_ranges import UnionRules, UnitedTables, unite_in_ranges
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


def merge_snapshots(batches: Sequence[NamedSnapshot], rules: MergeRules) -> Merged:
    """Return one snapshot of `batches`, which are in the order of their arrival; they stay as they are.

    A batch that comes twice changes nothing. Under the rules union, consensus and review the order says nothing but
    which split a group has that is not stated: the one it had first; and not even that where `rules.ordered` is false.

    Raises:
        InvalidInputError: there is no batch, two classes differ in nothing but case or blanks, or the hold-out names
            what no batch has.
        UsageError: a condition, or the name of a batch or a class in the rules is wrong.
    """
    classes = unite_classes(batches)
    check_ruled(rules.merge.per_class, classes)
    allowed, withdrawn = _leave_out(batches, rules.withdrawn)
    heard = line_up(allowed, rules)
    places = _place(line_up(batches, rules), rules).without(rules.withdrawn)
    chosen = Chooser(rules.merge, [batch.name for batch in batches]).choose(
        (_part(entry.batch) for entry in heard), places.table
    )
    united, repeated = _unite(heard, chosen, places.table.sort("frame_id"), rules)
    tables = SnapshotTables(united.frames, united.sources, united.boxes, classes)
    decided = decisions(chosen, places, tables, [part.decisions for part in withdrawn])
    conflicts = [*united.conflicts, split_conflicts(places)]
    beside = merged_beside([entry.batch for entry in heard], decided, conflicts, tables)
    counts = (
        _counts(batches, tables)
        | _gone(united, chosen, tables, repeated)
        | {f"{name}_withdrawn": sum(part.rows[name] for part in withdrawn) for name in columns.KEYS}
    )
    return Merged(tables, beside, counts | {"conflicts": beside.conflicts.num_rows})


def _leave_out(
    batches: Sequence[NamedSnapshot], withdrawn: frozenset[str]
) -> tuple[list[NamedSnapshot], list[LeftOut]]:
    parts = [without_withdrawn(batch.tables, withdrawn, STEP) for batch in batches]
    kept = [replace(batch, tables=tables) for batch, (tables, _) in zip(batches, parts, strict=True)]
    return kept, [part for _, part in parts]


def _part(batch: NamedSnapshot) -> Part:
    tables = batch.tables
    return Part(batch.name, tables.frames, tables.sources, tables.boxes)


def _place(heard: Sequence[Heard], rules: MergeRules) -> Places:
    """Place all frames, also those not taken and those withdrawn: what is left out moves no frame to another split."""
    order = by_name(heard) if rules.symmetric and not rules.ordered else sorted(heard, key=lambda entry: entry.arrival)
    new, placed = (
        [(entry.batch.name, entry.batch.tables) for entry in order if entry.batch.placed == stands]
        for stands in (False, True)
    )
    return place_batches(new, SplitRules(rules.holdout, rules.splits, rules.fixed_splits), placed)


def _unite(heard: Sequence[Heard], chosen: Chosen, places: pl.DataFrame, rules: MergeRules) -> tuple[UnitedTables, int]:
    """Return all tables made one, and how many boxes were of batches that come twice."""
    order = order_of(rules.merge.rule, heard, rules)
    speakers = _distinct(chosen.parts, order)
    repeated = sum(part.boxes.num_rows for turn, part in enumerate(chosen.parts) if turn not in speakers)
    spoken = {turn: chosen.parts[turn] for turn in speakers}
    return unite_in_ranges(spoken, places, UnionRules(box_rules(heard, rules), _voice(rules, order))), repeated


def _distinct(parts: Sequence[Part], order: Mapping[int, int]) -> list[int]:
    """Return the turns of all but those who say just what another says: a batch that comes twice has one voice."""
    kept: list[int] = []
    for turn in sorted(range(len(parts)), key=lambda turn: order.get(turn, turn)):
        if not any(_equal(parts[turn], parts[other]) for other in kept):
            kept.append(turn)
    return sorted(kept)


def _equal(a: Part, b: Part) -> bool:
    pairs = [(getattr(a, name), getattr(b, name)) for name in columns.KEYS]
    if any(one.num_rows != other.num_rows for one, other in pairs):
        return False
    return all(one.equals(other) for one, other in pairs)


def _voice(rules: MergeRules, order: Mapping[int, int]) -> Voice:
    if rules.merge.rule == "consensus":
        return Voice("most", order, "consensus")
    if rules.merge.rule == "review":
        return Voice("none", order, "review")
    return Voice("first", order, "first" if rules.merge.rule == "union" else rules.merge.rule)


def _counts(batches: Sequence[NamedSnapshot], tables: SnapshotTables) -> dict[str, int]:
    """Count what came in, and what was kept of it."""
    coming = {name: sum(getattr(batch.tables, name).num_rows for batch in batches) for name in columns.KEYS}
    kept = {name: getattr(tables, name).num_rows for name in columns.KEYS}
    return {"batches": len(batches), **{f"{name}_in": count for name, count in coming.items()}, **kept}


def _gone(united: UnitedTables, chosen: Chosen, tables: SnapshotTables, repeated: int) -> dict[str, int]:
    """Count where the rest went, and of what kind the frames are that were kept."""
    once = united.once
    boxes = {why: count + (repeated if why == "united" else 0) for why, count in united.box_counts.items()}
    frames = tables.frames
    return {
        **{f"{name}_leaked": count - getattr(tables, name).num_rows for name, count in once.items()},
        "boxes_leaked": united.boxes_leaked,
        "frames_shared": chosen.taken["frames"] - once["frames"],
        "sources_repeated": chosen.taken["sources"] - once["sources"],
        **{f"boxes_{why}": count for why, count in boxes.items()},
        **chosen.counts,
        "frames_labeled": pc.sum(pc.greater(pc.list_value_length(frames["annotated_classes"]), 0)).as_py() or 0,
        "drive_groups": pc.count_distinct(frames["drive_group"]).as_py(),
        **{f"frames_{split}": pc.sum(pc.equal(frames["split"], split)).as_py() or 0 for split in columns.SPLITS},
    }
