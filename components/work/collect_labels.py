"""Put the labels that came back onto their frames."""

import json
from collections.abc import Mapping
from typing import Any

from components.work.pages import counts_page, markdown_table
from driveflow.code_digest import code_digest
from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("collect_labels", ("labeling",), touches_world=True)


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the snapshot with every label that the plan saw come back."""
    from driveflow.reuse import read_object
    from driveflow.snapshots import Beside, open_snapshot, write_snapshot
    from labeling.collect import collect, load_request

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    wanted = [entry["path"] for entry in json.loads(read_object(settings["returns"]))]
    request = load_request(context.place.store, settings["campaigns"], snapshot.tables(), wanted)
    collected = collect(request, context.progress)
    beside = Beside(locations=snapshot.locations(), quarantine=collected.quarantine, conflicts=collected.conflicts)
    made_by = {"step": SPEC.name, "code": code_digest(*SPEC.trades), "parents": [snapshot.uri.rpartition("/")[2]]}
    labeled = write_snapshot(context.place.store, collected.tables, beside, made_by)
    rows = [(row["path"], row["reason"], row["detail"]) for row in collected.quarantine.to_pylist()]
    held = markdown_table(("file", "reason", "detail"), rows) if rows else "Nothing was quarantined.\n"
    return StepResult(
        outputs={"snapshot": labeled.uri},
        counts=collected.counts,
        pages={"summary": counts_page("Labels", collected.counts, held)},
        notes=collected.notes,
    )
