"""Split a snapshot anew: train, val and hold-out by drive group, place or day; a hold-out that is there stays."""

from collections import Counter
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import Json
from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import SnapshotTables
from ingestion.leave_out import without_withdrawn
from ingestion.merge_splits import place_frames
from ingestion.split_board import TIE_MARK, Placement, Sighting, SplitRules
from ingestion.split_units import contents, sightings

STEP = "split"
_HELD, _REST = "held", "rest"


@dataclass(frozen=True, slots=True)
class Split:
    """The tables with their new splits, a decision for every frame left out, and how many frames no unit tied."""

    tables: SnapshotTables
    decisions: pa.Table
    untied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest:
    """What to split and how; with `redo` the hold-out that is there is drawn anew too; `withdrawn` frames go."""

    tables: SnapshotTables
    holdout: HoldoutSection = field(default_factory=HoldoutSection)
    splits: SplitSection = field(default_factory=SplitSection)
    redo: bool = False
    withdrawn: frozenset[str] = frozenset()


def split_snapshot(request: SplitRequest) -> Split:
    """Return the snapshot of `request` with new splits; drive groups that are there are never taken apart.

    Without `redo` hold-out frames stay hold-out, and no frame joins them: those that turn out to hang together with
    them are left out with reason leak.

    Raises:
        UsageError: a share is asked for a hold-out that is there and stays.
        InvalidInputError: nothing would be left to train on.
    """
    tables = request.tables
    frames = tables.frames
    held = set() if request.redo else set(frames.filter(pc.equal(frames["split"], "holdout"))["frame_id"].to_pylist())
    if held and request.holdout.fraction:
        raise UsageError(f"{len(held)} frames are hold-out already and stay so; to draw a new hold-out, say so: redo.")
    seen = _with_groups(sightings(tables, request.splits), tables)
    arrivals = [
        (_HELD, [sighting for sighting in seen if sighting.frame_id in held]),
        (_REST, [sighting for sighting in seen if sighting.frame_id not in held]),
    ]
    rules = SplitRules(request.holdout, request.splits, {_HELD: "holdout"})
    placement = place_frames(arrivals, rules, [contents(tables)])
    leaks = dict(placement.leaks)
    for frame_id, split in placement.splits.items():
        if held and split == "holdout" and frame_id not in held:
            leaks[frame_id] = f"its {_spoken(request.splits)} is that of hold-out frames, which stay as they are"
    untied = sum(1 for sighting in seen if len(sighting.ties) == 1) if request.splits.by != "drive_group" else 0
    made, gone = without_withdrawn(_placed(tables, placement, leaks), request.withdrawn, STEP)
    if not pc.sum(pc.equal(made.frames["split"], "train")).as_py():
        counts = ", ".join(f"{split} {count['frames']}" for split, count in split_counts(made).items())
        raise InvalidInputError(f"No frame would be left to train on: of {tables.frames.num_rows} frames {counts}.")
    decided = pa.Table.from_pylist(_decisions(leaks), schema=columns.DECISIONS)
    return Split(made, pa.concat_tables([decided, gone.decisions]), untied)


def split_counts(tables: SnapshotTables) -> dict[str, dict[str, Json]]:
    """Return for each split how many frames, labeled frames, drive groups and boxes of each class it has."""
    frames = pl.DataFrame(
        pl.from_arrow(tables.frames.select(["frame_id", "split", "drive_group", "annotated_classes"]))
    )
    boxes = pl.DataFrame(pl.from_arrow(tables.boxes.select(["frame_id", "class_name", "ignore", "score"])))
    drawn = boxes.filter(pl.col("ignore").not_() & pl.col("score").is_null()).join(
        frames.select("frame_id", "split"), on="frame_id"
    )
    found: dict[str, dict[str, Json]] = {}
    for split in columns.SPLITS:
        here = frames.filter(pl.col("split") == split)
        counts = Counter(drawn.filter(pl.col("split") == split)["class_name"].to_list())
        found[split] = {
            "frames": here.height,
            "labeled": here.filter(pl.col("annotated_classes").list.len() > 0).height,
            "drive_groups": here["drive_group"].n_unique(),
            "boxes": {name: counts[name] for name in tables.classes},
        }
    return found


def _with_groups(seen: list[Sighting], tables: SnapshotTables) -> list[Sighting]:
    """Tie the frames of each drive group that is there, which may be linked by frames that are left out by now."""
    groups = dict(zip(tables.frames["frame_id"].to_pylist(), tables.frames["drive_group"].to_pylist(), strict=True))
    return [
        replace(sighting, ties=(f"{TIE_MARK}group|{groups[sighting.frame_id]}", *sighting.ties)) for sighting in seen
    ]


def _placed(tables: SnapshotTables, placement: Placement, leaks: dict[str, str]) -> SnapshotTables:
    kept = [frame_id for frame_id in placement.splits if frame_id not in leaks]
    rest = tables.only(pa.array(kept, pa.string()))
    ids = rest.frames["frame_id"].to_pylist()
    frames = rest.frames
    for name, values in (("split", placement.splits), ("drive_group", placement.groups)):
        column = pa.array([values[frame_id] for frame_id in ids], pa.string())
        frames = frames.set_column(frames.schema.get_field_index(name), name, column)
    return replace(rest, frames=frames)


def _decisions(leaks: dict[str, str]) -> list[dict[str, str]]:
    fixed = {"step": STEP, "rule": "split", "verdict": "dropped", "reason": "leak"}
    return [{**fixed, "frame_id": frame_id, "detail": why} for frame_id, why in sorted(leaks.items())]


def _spoken(splits: SplitSection) -> str:
    return splits.by.replace("_", " ")
