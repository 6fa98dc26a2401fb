"""Run a merge for a command, and tell what it cost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cli.data.progress import shown_progress
from cli.output import place_from
from cli.snapshot_argument import find_snapshot
from driveflow.canonical import Json
from driveflow.flow.part import RulesFile, load_rules
from driveflow.processes import peak_memory_bytes
from ingestion.merge_named import MergeRequest, merge_named, merge_report, part_names


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to merge, by what a person calls it, and into which workspace."""

    texts: Sequence[str]
    name: str
    rules: Path | None
    in_order: bool
    workspace: Path
    profile: str


def run_merge(wanted: Wanted) -> dict[str, Json]:
    """Merge, and return the report with the seconds and the memory that it took."""
    started_s = time.monotonic()
    found = [find_snapshot(text, wanted.workspace, wanted.profile) for text in wanted.texts]
    parts = part_names(wanted.texts, found)
    rules = RulesFile() if wanted.rules is None else load_rules(wanted.rules, list(parts))
    store = place_from(wanted.workspace, wanted.profile).store
    with shown_progress(f"merge {wanted.name}"):
        made = merge_named(MergeRequest(wanted.name, parts, rules, store, wanted.in_order), datetime.now(UTC))
        report = merge_report(made)
    return {**report, "seconds": round(time.monotonic() - started_s, 3), "peak_memory_bytes": peak_memory_bytes()}
