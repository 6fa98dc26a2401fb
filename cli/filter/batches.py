"""`driveflow filter batches`: what came of each batch, in the order in which they were judged."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from driveflow.canonical import Json
    from driveflow.snapshots import Snapshot


def batches(
    snapshot: Annotated[str, typer.Argument(help="Address or id of a filtered snapshot.", show_default=False)],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Tell what came of the frames of each batch, and of how many the kept twin came with a batch before.

    Example:
      driveflow filter batches 3f2a

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.snapshot_argument import find_snapshot

    rows = _rows(find_snapshot(snapshot, workspace, profile, "filter_frames"))
    emit({"batches": cast("Json", rows)}, output, table(rows) if rows else "No frame came in.")


def _rows(snapshot: "Snapshot") -> "list[dict[str, Json]]":
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from cli.snapshot_argument import lineage
    from driveflow.errors import UsageError
    from driveflow.tables import VERDICTS
    from filtering.arrivals import arrivals

    if snapshot.made_by().get("step") != "filter_frames":
        raise UsageError(f"{snapshot.uri} was not filtered; name the snapshot that `filter_frames` made.")
    arrival = tuple(cast("Sequence[str]", snapshot.made_by().get("arrival", ())))
    if not arrival:
        raise UsageError(f"{snapshot.uri} was not filtered batch by batch; see filters.by_arrival.")
    decisions = snapshot.decisions()
    ids = decisions["frame_id"].combine_chunks()
    came, _ = arrivals(ids, pa.concat_tables([item.sources() for item in lineage(snapshot)]), arrival)
    twin = pc.fill_null(pc.index_in(decisions["twin"], value_set=ids), -1).to_numpy().astype(np.int64)
    earlier = (twin >= 0) & (came[twin] < came)
    verdict = decisions["verdict"].to_numpy()
    rows: list[dict[str, Json]] = []
    for number, name in enumerate((*arrival, "")):
        mine = came == number
        counts: dict[str, Json] = {word: int((mine & (verdict == word)).sum()) for word in VERDICTS}
        row: dict[str, Json] = {"batch": name or "no batch", "frames": int(mine.sum()), **counts}
        rows += [row | {"twin came before": int((mine & earlier).sum())}] if mine.any() else []
    return rows
