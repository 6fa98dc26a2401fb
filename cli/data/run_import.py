"""Run an import for a command: with a bar while it runs, and with what it cost."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cli.data.progress import shown_progress
from cli.output import place_from
from driveflow.canonical import Json
from driveflow.flow.sections import BatchSection, TaxonomySection
from driveflow.processes import peak_memory_bytes
from driveflow.storage.objects import to_uri
from ingestion.import_source import SourceRequest, import_source
from ingestion.source_report import import_report


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to import, and into which workspace."""

    source: str
    section: BatchSection
    taxonomy: TaxonomySection | None
    workspace: Path
    profile: str
    fresh: bool = False


def run_import(wanted: Wanted) -> dict[str, Json]:
    """Import, and return the report with the seconds and the memory that it took."""
    started_s = time.monotonic()
    store = place_from(wanted.workspace, wanted.profile).store
    request = SourceRequest(to_uri(wanted.source), wanted.section, wanted.taxonomy, store, wanted.fresh)
    with shown_progress(f"import {wanted.section.name}") as progress:
        made = import_source(request, datetime.now(UTC), progress)
        report = import_report(made)
    return {**report, "seconds": round(time.monotonic() - started_s, 3), "peak_memory_bytes": peak_memory_bytes()}
