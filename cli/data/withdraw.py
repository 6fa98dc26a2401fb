"""`driveflow data withdraw`: make a frame go, and say what is left of it and who saw it."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, say
from cli.who import signed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from driveflow.place import Place
    from driveflow.withdrawn import Tombstone, Trace
    from ingestion.withdraw import Reach

_SHOWN = 20


def withdraw(  # noqa: PLR0913, PLR0917 one parameter an option
    frames: Annotated[
        list[str] | None,
        typer.Argument(help="Beginning of a frame id, end of a file's path, or TAG:PATH.", show_default=False),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why it must go; kept in the tombstone.")] = "",
    snapshot: Annotated[str, typer.Option("--snapshot", "-s", help="Look for the frames in this snapshot only.")] = "",
    who: Annotated[str, typer.Option("--who", help="Who says so; the user of this machine if left out.")] = "",
    delete_sources: Annotated[
        bool, typer.Option("--delete-sources", help="Delete the files of the delivery too, where they are only this.")
    ] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List what was withdrawn.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Withdraw frames for privacy, law or licence: purge our copies, leave a tombstone, name the models that saw them.

    Files of a delivery are yours: they stay, and are listed, unless --delete-sources is given. What will go is
    listed and asked about; where nobody can answer, --yes says so.

    Example:
      driveflow data withdraw front/000412.jpg --reason "asked to be removed"

    Exit codes: 0 done, 1 not done, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from driveflow.errors import UsageError
    from driveflow.withdrawn import list_tombstones

    place = place_from(workspace, profile)
    if list_all:
        found = list_tombstones(place.store)
        emit([item.to_json() for item in found], output, "\n".join(map(_line, found)) or "Nothing was withdrawn.")
        return
    if not frames or not all(text.strip() for text in frames) or not reason.strip():
        raise UsageError("Name at least one frame and say why: driveflow data withdraw FRAME --reason TEXT.")
    asked = _Asked(tuple(frames), reason, signed(who), snapshot, delete_sources)
    done = _withdraw(asked, _reach(place, workspace), (workspace, profile), yes=yes)
    emit([item.to_json() for item in done], output, "\n".join(_told(item) for item in done))


class _Asked:
    """What the command line says."""

    def __init__(self, frames: "tuple[str, ...]", reason: str, who: str, snapshot: str, delete: bool) -> None:
        self.frames, self.reason, self.who, self.snapshot, self.delete_sources = frames, reason, who, snapshot, delete


def _withdraw(asked: _Asked, reach: "Reach", where: "tuple[Path, str]", *, yes: bool) -> "list[Tombstone]":
    from datetime import UTC, datetime

    from cli.frame_argument import find_frames
    from cli.snapshot_argument import find_snapshot
    from driveflow.ledger.rows import timestamp
    from ingestion.withdraw import Withdrawal, plan_withdrawal, withdraw

    chosen = [find_snapshot(asked.snapshot, *where)] if asked.snapshot else []
    request = Withdrawal(
        frame_ids=find_frames(asked.frames, chosen, reach.store, where),
        reason=asked.reason,
        who=asked.who,
        at=timestamp(datetime.now(UTC)),
        delete_sources=asked.delete_sources,
    )
    if not yes:
        _ask(plan_withdrawal(request, reach), delete_sources=asked.delete_sources)
    return withdraw(request, reach)


def _ask(planned: "Sequence[Tombstone]", *, delete_sources: bool) -> None:
    import sys

    from driveflow.errors import UsageError
    from driveflow.pages.how_many import how_many

    for tombstone in planned:
        say(f"{tombstone.frame_id}: {how_many(len(tombstone.purged), 'copy', 'copies')} of ours will be purged.")
        for uri in _damaged(tombstone):
            say(f"  is damaged, may tell of it, and will be removed with all that was measured in it: {uri}")
        fate = "will be deleted if they are only this frame" if delete_sources else "will stay"
        _say_traces(f"  {fate}:", tombstone.remaining)
    if not sys.stdin.isatty():
        raise UsageError("Purging cannot be undone; --yes would say that you mean it.")
    typer.confirm("This cannot be undone. Go on?", abort=True, err=True)


def _say_traces(title: str, traces: "Sequence[Trace]") -> None:
    for trace in traces:
        say(f"{title} {trace.uri}")


def _reach(place: "Place", workspace: "Path") -> "Reach":
    from pathlib import Path

    from cli.open_ledger import ledger_of
    from driveflow.images.pixels import place_cache
    from ingestion.withdraw import Reach

    return Reach(
        store=place.store,
        cache=place_cache(place),
        scratch=Path(place.scratch),
        pages=tuple(folder for folder in (workspace / "runs",) if folder.is_dir()),
        ledger=ledger_of(place),
    )


def _line(tombstone: "Tombstone") -> str:
    state = "" if tombstone.state == "done" else " (begun, not finished: run it again)"
    return f"{tombstone.frame_id[:16]}  {tombstone.at[:19]}  {tombstone.who}: {tombstone.reason}{state}"


def _told(tombstone: "Tombstone") -> str:
    from driveflow.pages.how_many import how_many

    copies = how_many(len(tombstone.purged), "copy", "copies")
    lines = [f"{tombstone.frame_id} is withdrawn: {tombstone.reason}"]
    lines.append(f"  {copies} purged" if tombstone.purged else "  there was no copy of ours")
    lines += _listed("damaged and removed, with all that was measured in it", _damaged(tombstone))
    lines += _listed("still there", [trace.uri for trace in tombstone.remaining])
    lines += _listed("held by snapshot", [snapshot[:16] for snapshot in tombstone.snapshots])
    lines += _listed("seen by model", [_model(seen) for seen in tombstone.models])
    lines += _listed("may be shown on", tombstone.pages)
    return "\n".join(lines)


def _damaged(tombstone: "Tombstone") -> list[str]:
    """Return the parts that were no longer what was written, of which nobody can tell what frames are in them."""
    return [trace.uri for trace in tombstone.purged if trace.kind == "rows" and trace.uri.endswith(".parquet")]


def _model(seen: "object") -> str:
    from driveflow.withdrawn import ModelSeen

    assert isinstance(seen, ModelSeen)
    version = f"version {seen.version}" if seen.version is not None else seen.digest[:12]
    return f"{seen.model} {version} ({seen.state}): {seen.how}"


def _listed(title: str, items: "Sequence[str]") -> list[str]:
    more = [f"  {title}: {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return [f"  {title}: {item}" for item in items[:_SHOWN]] + more
