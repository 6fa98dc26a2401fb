"""Merge the imported batches of a flow."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.pages import counts_page, markdown_table
from driveflow.code_digest import code_digest
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    from driveflow.flow.sections import HoldoutSection
    from driveflow.snapshots import SnapshotTables

_SHOWN = 500
SPEC = StepSpec("merge_batches", ("components.work", "ingestion"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the one snapshot of all batches."""
    from components.work.settings import read_section
    from components.work.table_objects import read_withdrawn
    from driveflow.flow.merge_section import MergeSection
    from driveflow.flow.sections import HoldoutSection, SplitSection
    from driveflow.snapshots import open_snapshot, write_snapshot
    from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots

    settings: Any = context.settings
    rules = MergeRules(
        merge=read_section(MergeSection, settings["merge"]),
        holdout=read_section(HoldoutSection, settings["holdout"]),
        splits=read_section(SplitSection, settings["splits"]),
        fixed_splits=settings["fixed_splits"],
        as_of=settings["as_of"],
        withdrawn=read_withdrawn(settings["withdrawn"]),
    )
    opened = [(entry["name"], open_snapshot(entry["snapshot"])) for entry in json.loads(str(inputs["batches"]))]
    merged = merge_snapshots([NamedSnapshot(name, found.tables(), found.beside()) for name, found in opened], rules)
    made_by = {
        "step": SPEC.name,
        "code": code_digest(*SPEC.trades),
        "parents": [found.uri.rpartition("/")[2] for _, found in opened],
    }
    snapshot = write_snapshot(context.place.store, merged.tables, merged.beside, made_by)
    told = ("kind", "where", "left", "right", "rule", "winner")
    shown = merged.beside.conflicts.slice(0, _SHOWN)
    rows = [(*(row[name] for name in told), row["frame_id"][:12]) for row in shown.to_pylist()]
    conflicts = markdown_table((*told, "frame"), rows) if rows else "No conflicts.\n"
    if merged.counts["conflicts"] > _SHOWN:
        conflicts += f"\nThe first {_SHOWN} of {merged.counts['conflicts']:,}; the snapshot holds all.\n"
    return StepResult(
        outputs={"snapshot": snapshot.uri},
        counts=merged.counts,
        pages={"summary": counts_page("Merge", merged.counts, conflicts)},
        objects=(snapshot.uri,),
        notes=_no_holdout(merged.tables, rules.holdout),
    )


def _no_holdout(tables: "SnapshotTables", holdout: "HoldoutSection") -> tuple[str, ...]:
    """Say that nothing will judge a model, long before one is trained."""
    frames = tables.frames
    if not frames.num_rows or "holdout" in frames["split"].unique().to_pylist():
        return ()
    groups = len(frames["drive_group"].unique())
    drew = f"holdout.fraction {holdout.fraction:g} drew none (drive groups: {groups})"
    why = drew if holdout.fraction else "no batch has what the flow names"
    do = "name some under holdout.drives or holdout.source_splits, or state split: holdout for a batch"
    return (f"No frame is hold-out, so nothing will judge a model: {why}; {do}.",)
