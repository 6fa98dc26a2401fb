"""`driveflow filter undo` and `not-duplicate`: what a person knows better than a filter."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit
from cli.who import signed

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from driveflow.snapshots import Snapshot

Who = Annotated[str, typer.Option("--who", help="Who says so; the user of this machine if left out.")]
Why = Annotated[str, typer.Option("--why", help="Why; told by `driveflow data explain`.")]
TakeBack = Annotated[bool, typer.Option("--take-back", help="Take back what was said before.")]
InSnapshot = Annotated[
    str, typer.Option("--snapshot", "-s", help="Look in this snapshot and what it was made from; all if left out.")
]
_FILTER_STEP = "filter_frames"


def undo(  # noqa: PLR0913, PLR0917 one parameter an option
    frames: Annotated[
        list[str],
        typer.Argument(help="Beginning of a frame id, end of a file's path, or TAG:PATH.", show_default=False),
    ],
    snapshot: InSnapshot = "",
    why: Why = "",
    who: Who = "",
    take_back: TakeBack = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Undo drops: from the next run on, these frames are kept whatever a filter says of them.

    A snapshot never changes, so those that were made without the frames stay as they are; run the flow again for one
    that has them. Nothing is deleted: `--take-back` adds that the filters may decide again.

    Examples:
      driveflow filter undo front/000412.jpg --why "the only tram"
      driveflow filter undo 3f2a 77b0 --snapshot may --take-back

    Exit codes: 0 done, 2 no filter dropped it or nothing was undone, 3 not found.
    """
    from cli.frame_argument import find_frames
    from cli.output import place_from
    from driveflow.by_hand import Said, kept_by_hand, said_by_hand, say_by_hand
    from driveflow.storage.uris import writable

    store = place_from(workspace, profile).store
    records = _records(snapshot, store, (workspace, profile))
    ids = find_frames(frames, records if snapshot else (), store, (workspace, profile))
    if take_back:
        undone = kept_by_hand(said_by_hand(store))
        _refuse_unsaid([item[:16] for item in ids if item not in undone], "no drop of {} was undone")
    dropped = [_last_drop(frame_id, records) for frame_id in ids]
    name, at = signed(who), _now()
    rows = [Said(about="keep", frame_id=item, who=name, at=at, why=writable(why), yes=not take_back) for item in ids]
    say_by_hand(store, rows)
    fate = "the filters decide again" if take_back else "stays from the next run on"
    lines = [
        f"{row.frame_id[:16]} {fate}; it was dropped: {drop['reason']}, {drop['detail']}"
        for row, drop in zip(rows, dropped, strict=True)
    ]
    told: list[Json] = [{**row.to_json(), "dropped": drop} for row, drop in zip(rows, dropped, strict=True)]
    emit(told, output, "\n".join(lines))


def not_duplicate(  # noqa: PLR0913, PLR0917 one parameter an option
    one: Annotated[str, typer.Argument(metavar="A", help="A frame, as for `undo`.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="B", help="The other frame.", show_default=False)],
    snapshot: InSnapshot = "",
    why: Why = "",
    who: Who = "",
    take_back: TakeBack = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Mark two frames as no duplicates: from the next run on, neither is dropped as the twin of the other.

    Examples:
      driveflow filter not-duplicate front/000412.jpg front/000413.jpg --why "a child steps out"
      driveflow filter not-duplicate 3f2a 77b0 --take-back

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.frame_argument import find_frames
    from cli.output import place_from
    from driveflow.by_hand import Said, not_duplicates, pair_of, said_by_hand, say_by_hand
    from driveflow.errors import UsageError
    from driveflow.storage.uris import writable

    store = place_from(workspace, profile).store
    records = _records(snapshot, store, (workspace, profile))
    ids = find_frames((one, other), records if snapshot else (), store, (workspace, profile))
    if len(ids) == 1:
        raise UsageError(f"{one!r} and {other!r} name the same frame, {ids[0][:16]}.")
    if take_back and pair_of(*ids) not in not_duplicates(said_by_hand(store)):
        _refuse_unsaid([f"{ids[0][:16]} and {ids[1][:16]}"], "{} were not marked as no duplicates")
    row = Said(
        about="not_duplicate",
        frame_id=ids[0],
        twin=ids[1],
        who=signed(who),
        at=_now(),
        why=writable(why),
        yes=not take_back,
    )
    say_by_hand(store, [row])
    fate = "may be twins again" if take_back else "are no twins from the next run on"
    emit(row.to_json(), output, f"{ids[0][:16]} and {ids[1][:16]} {fate}")


def _refuse_unsaid(of: Sequence[str], words: str) -> None:
    """Refuse to take back what nobody said; `words` say it of one of `of`.

    Raises:
        UsageError: nobody said it of some of them.
    """
    from driveflow.errors import UsageError

    if of:
        raise UsageError(f"There is nothing to take back: {words.format(of[0])}.")


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat()


def _records(snapshot: str, store: str, where: "tuple[Path, str]") -> "list[Snapshot]":
    """Return the records to look in, newest first."""
    from cli.snapshot_argument import find_snapshot, lineage
    from ingestion.story import records_of_store

    if snapshot:
        return list(lineage(find_snapshot(snapshot, *where, _FILTER_STEP)))
    return records_of_store(store)[::-1]


def _last_drop(frame_id: str, records: "Sequence[Snapshot]") -> "dict[str, Json]":
    """Return what the filters said when they last dropped the frame.

    Raises:
        UsageError: they never did.
    """
    import pyarrow.compute as pc

    from driveflow.errors import UsageError

    for record in records:
        if record.record_id and record.made_by().get("step") == _FILTER_STEP:
            decisions = record.decisions()
            for row in decisions.filter(pc.equal(decisions["frame_id"], frame_id)).to_pylist():
                if row["verdict"] == "dropped":
                    told = {name: row[name] for name in ("reason", "rule", "score", "limit", "twin", "detail")}
                    return {"snapshot": record.snapshot_id, **told}
    raise UsageError(
        f"No filter dropped {frame_id[:16]} in what was looked at; `driveflow data explain {frame_id[:16]}` tells more."
    )
