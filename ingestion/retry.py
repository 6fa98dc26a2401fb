"""Import a batch again as it was imported before, and say which of its files became usable."""

from dataclasses import dataclass
from typing import Any, cast

from driveflow.canonical import Json
from driveflow.errors import UsageError
from driveflow.flow.part import batch_section_of, taxonomy_of
from driveflow.snapshots import Snapshot
from ingestion.import_source import SourceRequest

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Held:
    """What was quarantined before, by path and line."""

    rows: frozenset[tuple[str, int | None]]


def request_of(snapshot: Snapshot, store: str) -> SourceRequest:
    """Return what imported `snapshot`, to be done afresh.

    Raises:
        UsageError: no import made it, or one that did not write down what it read.
    """
    made_by: Any = snapshot.made_by() if snapshot.record_id else {}
    if "section" not in made_by or "uri" not in made_by:
        parents = ", ".join(str(parent)[:16] for parent in cast("list[Json]", made_by.get("parents", [])))
        hint = f"; it was made of {parents}, which may be imports" if parents else ""
        raise UsageError(f"Snapshot {snapshot.snapshot_id[:16]} is no import, so there is nothing to read again{hint}.")
    taxonomy = made_by.get("taxonomy")
    return SourceRequest(
        uri=str(made_by["uri"]),
        section=batch_section_of(made_by["section"]),
        taxonomy=None if taxonomy is None else taxonomy_of(taxonomy),
        store=store,
        fresh=True,
    )


def held_by(snapshot: Snapshot) -> Held:
    """Return what `snapshot` has in quarantine."""
    quarantine = snapshot.quarantine()
    return Held(frozenset(zip(quarantine["path"].to_pylist(), quarantine["line"].to_pylist(), strict=True)))


def retry_report(before: Held, after: Snapshot) -> dict[str, Json]:
    """Return which entries of the quarantine are gone, which stay, and which are new."""
    now = held_by(after)
    kept = set(after.sources()["path"].to_pylist())
    gone = before.rows - now.rows
    usable = sorted({path for path, _ in gone if path in kept})
    return {
        "usable": {"total": len(usable), "paths": list(usable[:_SHOWN])},
        "gone": len(gone),
        "still_quarantined": len(before.rows & now.rows),
        "newly_quarantined": len(now.rows - before.rows),
    }
