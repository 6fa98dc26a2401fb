"""Hand the plan's decision on as the one boolean that KFP's condition reads, and record it."""

from collections.abc import Mapping

from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("decide_training", (), touches_world=True)


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the decision; a run with nothing to do is over here."""
    due, why = bool(inputs["due"]), str(inputs["why"])
    if not due:
        context.ledger.finish_run(context.run_id, "SUCCEEDED", {"why": why})
    words = "A new model is due" if due else "No new model is due"
    return StepResult(
        outputs={"due": due, "why": why},
        counts={"due": int(due)},
        pages={"summary": f"# {words}\n\n{why}\n"},
    )
