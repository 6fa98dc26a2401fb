"""Run a merge for a command, and tell what it cost."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cli.data.progress import shown_progress
from cli.output import place_from
from cli.snapshot_argument import find_snapshot
from driveflow.canonical import Json
from driveflow.flow.part import RulesFile, load_rules
from driveflow.processes import peak_memory_bytes
from ingestion.merge_named import MergeRequest, merge_named, merge_report, part_names


def run_merge(texts: Sequence[str], name: str, rules: Path | None, workspace: Path, profile: str) -> dict[str, Json]:
    """Merge the snapshots that `texts` name, and return the report with the seconds and the memory that it took."""
    started_s = time.monotonic()
    parts = part_names(texts, [find_snapshot(text, workspace, profile) for text in texts])
    stated = RulesFile() if rules is None else load_rules(rules, list(parts))
    with shown_progress(f"merge {name}"):
        made = merge_named(MergeRequest(name, parts, stated, place_from(workspace, profile).store), datetime.now(UTC))
        report = merge_report(made)
    return {**report, "seconds": round(time.monotonic() - started_s, 3), "peak_memory_bytes": peak_memory_bytes()}
