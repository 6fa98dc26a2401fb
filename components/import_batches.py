"""The step that reads recorded batches."""

from kfp import dsl

from components.declare import step


@step
def import_batches(
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Read every batch of the flow into a snapshot of its own.

    Args:
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.import_batches import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["batches"])
