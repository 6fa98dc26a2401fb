"""The step that remembers and promotes."""

from kfp import dsl

from components.declare import step


@step
def promote_model(
    model: str,
    training: str,
    verdict: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Record the model; register and promote it where the verdict is PASS.

    Args:
        model: The challenger.
        training: What it was trained on.
        verdict: What validation said.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.promote_model import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"model": model, "training": training, "verdict": verdict}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["version"])
