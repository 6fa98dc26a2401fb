"""Merge batches into one snapshot: a pure function of what they hold and of the rules."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from driveflow.errors import InvalidInputError
from driveflow.flow.sections import HoldoutSection, MergeSection, SplitSection
from driveflow.snapshots import Beside, SnapshotTables
from ingestion.leave_out import LeftOut, without_withdrawn
from ingestion.merge_boxes import BoxRules, Claims, UnitedBoxes, unite_boxes
from ingestion.merge_frames import unite_frames, unite_sources
from ingestion.merge_splits import place_frames
from ingestion.split_board import Placement, Sighting, SplitRules

_STEP = "merge_batches"


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """An imported batch: its name in the flow, what it holds, and what lies beside."""

    name: str
    tables: SnapshotTables
    beside: Beside = field(default_factory=Beside)


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How batches become one.

    `fixed_splits` gives the split that a batch states for all its frames; frames that are `withdrawn` are left out.
    """

    merge: MergeSection = field(default_factory=MergeSection)
    holdout: HoldoutSection = field(default_factory=HoldoutSection)
    splits: SplitSection = field(default_factory=SplitSection)
    fixed_splits: Mapping[str, str] = field(default_factory=dict)
    withdrawn: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Merged:
    """The one snapshot, what lies beside it (a decision for every frame left out), and counts that add up.

    frames_in = frames + frames_shared + frames_leaked + frames_withdrawn, likewise sources_in with sources_repeated,
    sources_leaked and sources_withdrawn, and
    boxes_in = boxes + boxes_united + boxes_overruled + boxes_leaked + boxes_withdrawn.
    """

    tables: SnapshotTables
    beside: Beside
    counts: dict[str, int]


def merge_snapshots(batches: Sequence[NamedSnapshot], rules: MergeRules) -> Merged:
    """Return the union of `batches`, which are in the order of their arrival; they stay as they are.

    A batch that comes twice changes nothing. The order decides three things and no more: whose number stands where two
    batches drew the same box or gave the same attribute, the name of a drive group, and which split a group has that
    is not stated: the one it had first.

    Raises:
        InvalidInputError: there is no batch, the taxonomies differ, or the hold-out names what no batch has.
    """
    classes = _classes(batches)
    batches, left_out = _leave_out(batches, rules.withdrawn)
    frames = unite_frames([(batch.name, _frame(batch.tables.frames)) for batch in batches], _trust(batches, rules))
    sources = unite_sources([(batch.name, _frame(batch.tables.sources)) for batch in batches])
    boxes = _unite_boxes(batches, rules)
    placement = _place(batches, rules)
    placed = _placed(frames.table, placement)
    kept = placed.select("frame_id")
    tables = SnapshotTables(
        placed.to_arrow(),
        sources.table.join(kept, on="frame_id", how="semi").to_arrow(),
        boxes.boxes.join(kept, on="frame_id", how="semi").select(columns.BOXES.names).to_arrow(),
        classes,
    )
    conflicts = [*frames.conflicts, *sources.conflicts, *boxes.conflicts, *_split_conflicts(placement)]
    beside = _beside(batches, conflicts, placement, [part.decisions for part in left_out])
    united = {"frames": frames.table.height, "sources": sources.table.height, "boxes": boxes.boxes.height}
    counts = _counts(batches, united, tables) | {
        "boxes_united": boxes.united,
        "boxes_overruled": boxes.overruled,
        "conflicts": beside.conflicts.num_rows,
    }
    return Merged(tables, beside, _with_left_out(counts, left_out))


def _leave_out(
    batches: Sequence[NamedSnapshot], withdrawn: frozenset[str]
) -> tuple[Sequence[NamedSnapshot], list[LeftOut]]:
    parts = [without_withdrawn(batch.tables, withdrawn, _STEP) for batch in batches]
    kept = [replace(batch, tables=tables) for batch, (tables, _) in zip(batches, parts, strict=True)]
    return kept, [part for _, part in parts]


def _with_left_out(counts: dict[str, int], left_out: Sequence[LeftOut]) -> dict[str, int]:
    """Return `counts` with the rows that never came to be merged."""
    gone = {name: sum(part.rows[name] for part in left_out) for name in columns.KEYS}
    coming = {f"{name}_in": counts[f"{name}_in"] + count for name, count in gone.items()}
    return {**counts, **coming, **{f"{name}_withdrawn": count for name, count in gone.items()}}


def _classes(batches: Sequence[NamedSnapshot]) -> tuple[str, ...]:
    if not batches:
        raise InvalidInputError("There is nothing to merge: no batch was given.")
    first = batches[0]
    for other in batches[1:]:
        if other.tables.classes != first.tables.classes:
            raise InvalidInputError(
                f"Batch {other.name!r} was imported with the classes {list(other.tables.classes)}, "
                f"batch {first.name!r} with {list(first.tables.classes)}; import both under one taxonomy."
            )
    return first.tables.classes


def _trust(batches: Sequence[NamedSnapshot], rules: MergeRules) -> dict[str, int]:
    """Return the place of each batch, most trusted first; those that `trust` does not name follow as they arrived."""
    names = list(dict.fromkeys([*rules.merge.trust, *(batch.name for batch in batches)]))
    return {name: place for place, name in enumerate(names)} if rules.merge.rule == "prefer" else {}


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _unite_boxes(batches: Sequence[NamedSnapshot], rules: MergeRules) -> UnitedBoxes:
    boxes, annotated = [], []
    for turn, batch in enumerate(batches):
        who = {"turn": pl.lit(turn, pl.Int64), "by": pl.lit(batch.name)}
        boxes.append(_frame(batch.tables.boxes).with_columns(**who))
        looked = _frame(batch.tables.frames).select("frame_id", class_name="annotated_classes")
        annotated.append(looked.explode("class_name", empty_as_null=False).with_columns(**who))
    how = BoxRules(rules.merge.rule, rules.merge.same_box_min_iou, _trust(batches, rules))
    return unite_boxes(Claims(pl.concat(boxes), pl.concat(annotated)), how)


def _place(batches: Sequence[NamedSnapshot], rules: MergeRules) -> Placement:
    seen = []
    for batch in batches:
        names = ("frame_id", "drive", "source_split")
        rows = zip(*(batch.tables.sources[name].to_pylist() for name in names), strict=True)
        seen.append((batch.name, [Sighting(*row) for row in rows]))
    return place_frames(seen, SplitRules(rules.holdout, rules.splits, rules.fixed_splits))


def _placed(frames: pl.DataFrame, placement: Placement) -> pl.DataFrame:
    """Return the frames that have a place, with their split and drive group."""
    schema = {"frame_id": pl.String, "split": pl.String, "drive_group": pl.String}
    ids = list(placement.splits)
    places = [ids, [placement.splits[key] for key in ids], [placement.groups[key] for key in ids]]
    table = pl.DataFrame(dict(zip(schema, places, strict=True)), schema=schema)
    return frames.drop("split", "drive_group").join(table, on="frame_id").select(columns.FRAMES.names)


def _split_conflicts(placement: Placement) -> list[dict[str, str]]:
    return [
        {
            "frame_id": conflict.frame_id,
            "kind": "split",
            "left": canonical_json({"split": conflict.split}),
            "right": canonical_json({"batch": conflict.batch, "split": conflict.stated}),
            "rule": "holdout" if conflict.stated == "holdout" else "first",
            "winner": "right" if conflict.stated == "holdout" else "left",
        }
        for conflict in placement.conflicts
    ]


def _beside(
    batches: Sequence[NamedSnapshot],
    conflicts: list[dict[str, str]],
    placement: Placement,
    decided: Sequence[pa.Table],
) -> Beside:
    before = [batch.beside.conflicts for batch in batches]
    after = pa.Table.from_pylist(conflicts, schema=columns.CONFLICTS)
    locations = _frame(_once([batch.beside.locations for batch in batches], columns.LOCATIONS))
    kept = pl.DataFrame({"frame_id": list(placement.splits)}, schema={"frame_id": pl.String})
    return Beside(
        locations=locations.join(kept, on="frame_id", how="semi", maintain_order="left").to_arrow(),
        decisions=_once(
            [*decided, pa.Table.from_pylist(_decisions(placement), schema=columns.DECISIONS)], columns.DECISIONS
        ),
        quarantine=_once([batch.beside.quarantine for batch in batches], columns.QUARANTINE),
        conflicts=_once([*before, after], columns.CONFLICTS),
    )


def _once(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return the rows of all parts, each once, in the order in which they came."""
    everything = pa.concat_tables([part.select(schema.names).cast(schema) for part in parts])
    return _frame(everything).unique(maintain_order=True).to_arrow().cast(schema)


def _decisions(placement: Placement) -> list[dict[str, str]]:
    return [
        {
            "frame_id": frame_id,
            "step": _STEP,
            "rule": "split",
            "verdict": "dropped",
            "reason": "leak",
            "detail": placement.leaks[frame_id],
        }
        for frame_id in sorted(placement.leaks)
    ]


def _counts(batches: Sequence[NamedSnapshot], united: Mapping[str, int], tables: SnapshotTables) -> dict[str, int]:
    """Count what came in, what is left once (`united`), and what of that was kept."""
    coming = {name: sum(getattr(batch.tables, name).num_rows for batch in batches) for name in columns.KEYS}
    kept = {name: getattr(tables, name).num_rows for name in columns.KEYS}
    splits = Counter(tables.frames["split"].to_pylist())
    return {
        "batches": len(batches),
        **{f"{name}_in": count for name, count in coming.items()},
        **kept,
        **{f"{name}_leaked": united[name] - kept[name] for name in columns.KEYS},
        "frames_shared": coming["frames"] - united["frames"],
        "sources_repeated": coming["sources"] - united["sources"],
        "frames_labeled": sum(1 for names in tables.frames["annotated_classes"].to_pylist() if names),
        "drive_groups": len(set(tables.frames["drive_group"].to_pylist())),
        **{f"frames_{split}": splits[split] for split in columns.SPLITS},
    }
