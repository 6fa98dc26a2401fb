"""Withdraw frames: a tombstone for each, and no copy of the picture left that is ours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from driveflow.errors import UsageError
from driveflow.ledger.ledger import Ledger
from driveflow.ledger.rows import AuditRow
from driveflow.storage.cache import Cache
from driveflow.storage.objects import local_path
from driveflow.storage.sweep import remove_half_written
from driveflow.withdrawn import ModelSeen, Tombstone, Trace, read_tombstone, write_tombstone
from ingestion.find_traces import (
    FrameTraces,
    MeasuredParts,
    find_copies,
    find_exports,
    find_pages,
    find_rows,
    models_that_saw,
    still_there,
    trace_snapshots,
)
from ingestion.purge import check_zeros, purge_cache, purge_copies, purge_exports, purge_rows, purge_shards

_Named = TypeVar("_Named", str, Trace)
_OURS = ("shard", "campaign", "rows", "cache", "training")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where copies may lie: the store, what this machine keeps beside it, pages of runs, and the ledger of models."""

    store: str
    cache: Cache | None = None
    scratch: Path | None = None
    pages: tuple[Path, ...] = ()
    ledger: Ledger | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """What is to go, why, who says so and when; sources outside the store go only with `delete_sources`."""

    frame_ids: tuple[str, ...]
    reason: str
    who: str
    at: str
    delete_sources: bool = False

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.who.strip():
            raise UsageError("A frame is withdrawn for a reason and by somebody: both must be given.")
        if not self.frame_ids:
            raise UsageError("No frame was named.")


def plan_withdrawal(withdrawal: Withdrawal, reach: Reach) -> list[Tombstone]:
    """Return the tombstones as they would begin: all that is known now, and what earlier tries knew; nothing changes.

    The first reason, person and time of a frame stay.
    """
    traces = trace_snapshots(reach.store, withdrawal.frame_ids)
    rows = find_rows(reach.store, withdrawal.frame_ids)
    copies = find_copies(reach.store, withdrawal.frame_ids)
    pages = find_pages(reach.store, reach.pages, traces)
    nobody: dict[str, list[ModelSeen]] = {}
    models = models_that_saw(reach.ledger, traces) if reach.ledger else nobody
    planned = []
    for frame_id in dict.fromkeys(withdrawal.frame_ids):
        before = _begun(frame_id, withdrawal, reach)
        found = traces[frame_id]
        planned.append(
            replace(
                before,
                state="begun",
                digests=_both(before.digests, found.digests - {frame_id}),
                purged=_both(before.purged, {*copies[frame_id], *_ours(frame_id, found, rows, reach)}),
                remaining=_both(before.remaining, (place for place in found.places if place.kind not in _OURS)),
                snapshots=_both(before.snapshots, found.splits),
                models=tuple(sorted({*before.models, *models.get(frame_id, ())}, key=str)),
                pages=_both(before.pages, pages[frame_id]),
            )
        )
    return planned


def withdraw(withdrawal: Withdrawal, reach: Reach) -> list[Tombstone]:
    """Withdraw frames and return their tombstones.

    The tombstones are written before anything is looked for, so that from then on the frames are refused, again before
    anything is purged, and once more when all is done: an import that goes on meanwhile either sees them, or what it
    packed is found. Killed at any point and run again it ends in the same state.

    Raises:
        IntegrityError: somebody else wrote a shard at the same moment; doing it again helps.
    """
    for frame_id in dict.fromkeys(withdrawal.frame_ids):
        write_tombstone(reach.store, replace(_begun(frame_id, withdrawal, reach), state="begun"))
    planned = plan_withdrawal(withdrawal, reach)
    for tombstone in planned:
        write_tombstone(reach.store, tombstone)
    _purge(planned, withdrawal, reach)
    check_zeros(trace for tombstone in planned for trace in tombstone.purged if trace.kind == "shard")
    done = [_finished(tombstone) for tombstone in planned]
    for tombstone in done:
        write_tombstone(reach.store, tombstone)
        _note(tombstone, reach)
    return done


def _begun(frame_id: str, withdrawal: Withdrawal, reach: Reach) -> Tombstone:
    """Return the tombstone that an earlier try left, else one that knows nothing but why, who and when."""
    return read_tombstone(reach.store, frame_id) or Tombstone(
        frame_id=frame_id, reason=withdrawal.reason.strip(), who=withdrawal.who.strip(), at=withdrawal.at
    )


def _ours(frame_id: str, found: FrameTraces, rows: MeasuredParts, reach: Reach) -> set[Trace]:
    ours = {place for place in found.places if place.kind == "shard"}
    # A part is written anew without the frame, so its folder is what lasts; one that is damaged goes as a whole.
    ours |= {Trace("rows", uri.rpartition("/")[0]) for uri, frames in rows.holding.items() if frame_id in frames}
    ours |= {Trace("rows", uri) for uri in rows.damaged}
    if reach.scratch is not None:
        ours |= set(find_exports(reach.scratch, frame_id))
    if reach.cache is not None:
        kept = [digest for digest in {frame_id, *found.digests} if reach.cache.get(digest) is not None]
        ours |= {Trace("cache", digest) for digest in kept}
    return ours


def _purge(planned: Sequence[Tombstone], withdrawal: Withdrawal, reach: Reach) -> None:
    for folder in filter(None, (local_path(reach.store), reach.scratch)):
        remove_half_written(folder)  # what a killed writer left may hold the bytes too
    everything = [trace for tombstone in planned for trace in tombstone.purged]
    purge_shards(trace for trace in everything if trace.kind == "shard")
    purge_copies(trace for trace in everything if trace.kind == "campaign")
    purge_exports(trace for trace in everything if trace.kind == "training")
    purge_rows(find_rows(reach.store, withdrawal.frame_ids))
    for tombstone in planned:
        purge_cache(reach.cache, (tombstone.frame_id, *tombstone.digests))
        if withdrawal.delete_sources:
            purge_copies(trace for trace in tombstone.remaining if _is_its_own(trace, tombstone))


def _is_its_own(trace: Trace, tombstone: Tombstone) -> bool:
    """Return whether a source is nothing but the frame, so that no other data goes with it."""
    whole = Trace(trace.kind, trace.uri)
    return trace.kind == "source" and trace.offset == 0 and still_there(whole, (tombstone.frame_id, *tombstone.digests))


def _finished(tombstone: Tombstone) -> Tombstone:
    """Return the tombstone with the sources that still lie there; those that are gone count as purged."""
    names = (tombstone.frame_id, *tombstone.digests)
    there = tuple(trace for trace in tombstone.remaining if still_there(trace, names))
    gone = set(tombstone.remaining) - set(there)
    return replace(tombstone, state="done", remaining=there, purged=_both(tombstone.purged, gone))


def _note(tombstone: Tombstone, reach: Reach) -> None:
    if reach.ledger is not None:
        detail = {"reason": tombstone.reason, "snapshots": list(tombstone.snapshots)}
        key = f"withdraw {tombstone.frame_id}"
        row = AuditRow(
            audit_key=key,
            who=tombstone.who,
            action="withdrawn",
            subject=tombstone.frame_id,
            detail=detail,
            at=tombstone.at,
        )
        reach.ledger.add_audit(row)


def _both(before: Iterable[_Named], found: Iterable[_Named]) -> tuple[_Named, ...]:
    return tuple(sorted(set(before) | set(found)))
