"""Tell what an import made, in words that a program can read: everything is counted, and the counts add up."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.snapshots import Snapshot
from driveflow.tables import REMARKS

if TYPE_CHECKING:
    from ingestion.import_source import SourceImport  # it brings all readers, which a look at a quarantine needs not
    from ingestion.merge_named import NamedMerge

MAX_ROWS = 100
"""So many rows of quarantine and so many conflicts are written out; all are counted."""


def import_report(made: "SourceImport") -> dict[str, Json]:
    """Return what `made` brought: files_in = files_kept + files_quarantined + files_skipped."""
    counts, snapshot = made.counts, made.snapshot
    skipped = {name.removeprefix("skipped_"): n for name, n in counts.items() if name.startswith("skipped_")}
    return {
        **named(made),
        "format": made.label_format,
        **contents(snapshot),
        **{name: counts[name] for name in ("files_in", "files_kept", "files_quarantined", "files_skipped")},
        "archives": counts.get("archives", 0),
        "skipped": skipped,
        "quarantined": quarantine_of(snapshot),
        "remarks": remarks_of(snapshot),
        **conflicts_of(snapshot),
        "counts": dict(counts),
        "notes": list(made.notes),
    }


def named(made: "SourceImport | NamedMerge") -> dict[str, Json]:
    """Return which snapshot was made, and what its name means now."""
    return {
        "snapshot": made.snapshot.snapshot_id,
        "uri": made.snapshot.uri,
        "tag": made.tag.name,
        "tag_number": made.tag.number,
        "tag_moved": made.moved,
        "reused": made.reused,
    }


def contents(snapshot: Snapshot) -> dict[str, Json]:
    """Return how much a snapshot holds; `classes` counts boxes, of which `ignored_boxes` are ignore regions."""
    frames, sources, boxes = snapshot.frames(), snapshot.sources(), snapshot.boxes()
    return {
        "frames": frames.num_rows,
        "frames_labeled": pc.sum(pc.greater(pc.list_value_length(frames["annotated_classes"]), 0)).as_py() or 0,
        "sources": sources.num_rows,
        "boxes": boxes.num_rows,
        "ignored_boxes": pc.sum(boxes["ignore"]).as_py() or 0,
        "predictions": boxes.num_rows - boxes["score"].null_count,
        "drives": len(sources["drive"].unique()),
        "classes": {**dict.fromkeys(snapshot.classes, 0), **tally(boxes["class_name"])},
        "splits": tally(frames["split"]),
    }


def quarantine_of(snapshot: Snapshot, reason: str = "", most: int = MAX_ROWS) -> dict[str, Json]:
    """Return what was put aside, or of that what has one `reason`: how much for which reason, and the first rows."""
    held = snapshot.quarantine()
    told = pc.is_in(held["reason"], value_set=pa.array(sorted(REMARKS)))
    held = held.filter(pc.equal(held["reason"], reason) if reason else pc.invert(told))
    return _counted(held, most)


def remarks_of(snapshot: Snapshot, most: int = MAX_ROWS) -> dict[str, Json]:
    """Return what was told of files by which nothing was lost, as `quarantine_of` does."""
    held = snapshot.quarantine()
    return _counted(held.filter(pc.is_in(held["reason"], value_set=pa.array(sorted(REMARKS)))), most)


def _counted(held: pa.Table, most: int) -> dict[str, Json]:
    return {"total": held.num_rows, "reasons": tally(held["reason"]), "rows": held.slice(0, most).to_pylist()}


def conflicts_of(snapshot: Snapshot, most: int = 5) -> dict[str, Json]:
    """Return how many disagreements were decided, how many of each kind, and examples.

    An example has both sides, the rule that decided, and where to see it.
    """
    conflicts = snapshot.conflicts()
    kinds = tally(conflicts["kind"])
    examples: list[Json] = []
    for kind in kinds:
        examples += _with_see(snapshot, conflicts.filter(pc.equal(conflicts["kind"], kind)).slice(0, most))
    return {"conflicts": conflicts.num_rows, "conflict_kinds": {**kinds}, "conflict_examples": examples}


def conflict_rows(snapshot: Snapshot, kind: str = "", most: int = MAX_ROWS) -> dict[str, Json]:
    """Return the disagreements that were decided, or those of one `kind`: how many of each, and the first rows."""
    conflicts = snapshot.conflicts()
    conflicts = conflicts.filter(pc.equal(conflicts["kind"], kind)) if kind else conflicts
    rows = _with_see(snapshot, conflicts.slice(0, most))
    return {"total": conflicts.num_rows, "kinds": {**tally(conflicts["kind"])}, "rows": rows}


def _with_see(snapshot: Snapshot, conflicts: pa.Table) -> list[Json]:
    see = f"--snapshot {snapshot.snapshot_id[:16]}"
    return [{**row, "see": f"driveflow data explain {row['frame_id'][:16]} {see}"} for row in conflicts.to_pylist()]


def tally(values: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each value comes, by value."""
    found = ((str(item["values"].as_py()), item["counts"].as_py()) for item in values.value_counts())
    return dict(sorted(found))
