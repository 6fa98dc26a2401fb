"""The step that says whether a new model is due."""

from kfp import dsl

from components.declare import step


@step
def decide_training(due: bool, why: str, run_id: str, summary: dsl.Output[dsl.Markdown]) -> bool:
    """Say whether a new model is due, and why: what follows on the page hangs on it.

    Args:
        due: What the plan decided.
        why: Its reason.
        run_id: The run this step belongs to.
        summary: The decision, for the KFP page.
    """
    from components.runtime import run
    from components.work.decide_training import SPEC, work
    from driveflow.steps import StepCall

    outputs = run(SPEC, work, StepCall({"due": due, "why": why}, "", run_id), {"summary": summary})
    return bool(outputs["due"])
