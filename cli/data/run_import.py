"""Run an import for a command: with a bar while it runs, and with what it cost."""

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from cli.data.progress import shown_progress
from cli.output import place_from
from cli.snapshot_argument import find_snapshot
from driveflow.canonical import Json
from driveflow.flow.sections import BatchSection, TaxonomySection
from driveflow.processes import peak_memory_bytes
from driveflow.snapshots import Snapshot
from driveflow.storage.objects import to_uri
from ingestion.import_source import SourceRequest, import_source
from ingestion.retry import held_by, request_of, retry_report
from ingestion.source_report import import_report


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to import, and into which workspace."""

    source: str
    section: BatchSection
    taxonomy: TaxonomySection | None
    workspace: Path
    profile: str


def run_import(wanted: Wanted) -> dict[str, Json]:
    """Import, and return the report with the seconds and the memory that it took."""
    store = place_from(wanted.workspace, wanted.profile).store
    home = to_uri(str(wanted.workspace))
    return _run(SourceRequest(to_uri(wanted.source), wanted.section, wanted.taxonomy, store, workspace=home))[0]


def retry_import(tag: str, workspace: Path, profile: str) -> dict[str, Json]:
    """Import again what `tag` means, and return the report with what became of the quarantine."""
    before = find_snapshot(tag, workspace, profile)
    held = held_by(before)
    request = request_of(before, place_from(workspace, profile).store)
    report, after = _run(replace(request, workspace=to_uri(str(workspace))))
    return {**report, "retried": retry_report(held, after)}


def _run(request: SourceRequest) -> tuple[dict[str, Json], Snapshot]:
    started_s = time.monotonic()
    with shown_progress(f"import {request.section.name}") as progress:
        made = import_source(request, datetime.now(UTC), progress)
        report = import_report(made)
    cost: dict[str, Json] = {
        "seconds": round(time.monotonic() - started_s, 3),
        "peak_memory_bytes": peak_memory_bytes(),
    }
    return {**report, **cost}, made.snapshot
