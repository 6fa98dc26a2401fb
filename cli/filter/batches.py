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

    rows, nothing_new = _rows(find_snapshot(snapshot, workspace, profile, "filter_frames"))
    text = [table(rows) if rows else "No frame came in."]
    text += [
        f"{name}: nothing new, its frames came with batches before: {count:,}."
        if count
        else f"{name}: no frame of it came in."
        for name, count in nothing_new.items()
    ]
    emit({"batches": cast("Json", rows), "nothing_new": {**nothing_new}}, output, "\n".join(text))


def _rows(snapshot: "Snapshot") -> "tuple[list[dict[str, Json]], dict[str, int]]":
    """Return what came of each batch, and how many frames those have that brought none of their own."""
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
    sources = pa.concat_tables([item.sources() for item in lineage(snapshot)])
    came, _ = arrivals(ids, sources, arrival)
    twin = pc.fill_null(pc.index_in(decisions["twin"], value_set=ids), -1).to_numpy().astype(np.int64)
    earlier = (twin >= 0) & (came[twin] < came)
    verdict = decisions["verdict"].to_numpy()
    rows: list[dict[str, Json]] = []
    for number, name in enumerate((*arrival, "")):
        mine = came == number
        counts: dict[str, Json] = {word: int((mine & (verdict == word)).sum()) for word in VERDICTS}
        row: dict[str, Json] = {"batch": name or "no batch", "frames": int(mine.sum()), **counts}
        rows += [row | {"twin came before": int((mine & earlier).sum())}] if mine.any() else []
    known = sources.filter(pc.is_in(sources["frame_id"], value_set=ids))
    rest = [name for number, name in enumerate(arrival) if not (came == number).any()]
    frames = (known.filter(pc.equal(known["batch"], name))["frame_id"] for name in rest)
    return rows, {name: pc.count_distinct(ids).as_py() for name, ids in zip(rest, frames, strict=True)}
