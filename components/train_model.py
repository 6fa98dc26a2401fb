"""The step that trains."""

from kfp import dsl

from components.declare import step


@step
def train_model(
    training: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Train a model on several workers, resuming where an earlier try stopped.

    Args:
        training: The training snapshot.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.train_model import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"training": training}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["model"])
