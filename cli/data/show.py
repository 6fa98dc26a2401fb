"""`driveflow data show`: what a snapshot holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.canonical import Json
    from driveflow.snapshots import Snapshot


def show(
    snapshot: Annotated[str, typer.Argument(help="Address or id of a snapshot.", show_default=False)],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say what a snapshot holds: frames, batches, drives, boxes, and what was decided to make it.

    Example:
      driveflow data show 3f2a

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.snapshot_argument import find_snapshot

    emit(_contents(find_snapshot(snapshot, workspace, profile)), output)


def _contents(snapshot: "Snapshot") -> "dict[str, Json]":
    import pyarrow.compute as pc

    frames, sources, boxes = snapshot.frames(), snapshot.sources(), snapshot.boxes()
    decisions, quarantine = snapshot.decisions(), snapshot.quarantine()
    labeled = pc.sum(pc.greater(pc.list_value_length(frames["annotated_classes"]), 0)).as_py() or 0
    return {
        "snapshot": snapshot.uri,
        "made_by": str(snapshot.made_by().get("step", "")) if snapshot.record_id else "",
        "frames": frames.num_rows,
        "labeled": labeled,
        "splits": _tally(frames["split"]),
        "batches": _tally(sources["batch"]),
        "drives": len(sources["drive"].unique()),
        "drive_groups": len(frames["drive_group"].unique()),
        "boxes": _tally(boxes["class_name"]),
        "decisions": _tally(pc.binary_join_element_wise(decisions["verdict"], decisions["reason"], " ")),
        "quarantine": _tally(quarantine["reason"]),
    }


def _tally(values: "pa.ChunkedArray") -> "dict[str, Json]":
    counts = ((str(item["values"].as_py()), item["counts"].as_py()) for item in values.value_counts())
    return dict(sorted(counts))
