"""Record the model, and register and promote it where the verdict is PASS."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from components.work.pages import markdown_table
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    from driveflow.ledger.rows import ModelVersionRow
    from registry.records import Judgement
    from registry.registry import Registry

SPEC = StepSpec("promote_model", ("registry",), touches_world=True, ends=("retrain", "flow"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Remember the model whatever the verdict; a version it becomes only with a PASS."""
    from driveflow.reuse import read_object
    from driveflow.snapshots import open_snapshot
    from registry.records import Judgement, NewModel
    from registry.registry import Registry

    settings: Any = context.settings
    verdict = json.loads(read_object(str(inputs["verdict"])))
    judgement = Judgement(
        outcome=verdict["outcome"],
        digest=verdict["digest"],
        holdout_uri=verdict["holdout"],
        report_uri=verdict["report"],
        detail=verdict["detail"],
    )
    training = open_snapshot(str(inputs["training"]))
    made = NewModel(
        model=settings["model"],
        digest=judgement.digest,
        model_uri=str(inputs["model"]),
        snapshot_uri=training.uri,
        run_id=context.run_id,
        labeled_frames=training.frames().num_rows,
    )
    registry = Registry(context.ledger, context.place.store)
    registry.record_trained(made, judgement)
    version, waits = _register(context, registry, judgement)
    state = version.state if version else "not registered"
    rows = [("verdict", judgement.outcome), ("version", version.version if version else "none"), ("state", state)]
    reason = str(judgement.detail.get("reason", ""))
    return StepResult(
        outputs={"version": f"{version.model}/{version.version}" if version else "", "state": state},
        counts={"registered": int(version is not None), "champion": int(state == "champion")},
        pages={"summary": f"# {settings['model']}\n\n{markdown_table(('what', 'is'), rows)}\n{reason}\n{waits}"},
        notes=(waits,) if waits else (),
    )


def _register(
    context: StepContext, registry: "Registry", judgement: "Judgement"
) -> "tuple[ModelVersionRow | None, str]":
    """Return the version, and why it waits where it was to be promoted and may not be."""
    from driveflow.errors import GateError
    from registry.records import Act

    settings: Any = context.settings
    if judgement.outcome != "PASS":
        return None, ""
    act = Act(who=f"run {context.run_id}", why=f"the gate passed it: {judgement.detail.get('reason', '')}")
    version = registry.register(judgement.digest, judgement.holdout_uri, act, settings["model"])
    if settings["promote"] == "auto" and version.state == "candidate":
        try:
            return registry.promote(version.model, version.version, act, settings.get("beside")), ""
        except GateError as error:
            return version, str(error)
    return version, f"It passed again. {registry.why_retired(version)}" if version.state == "retired" else ""
