"""The step that takes labels back."""

from kfp import dsl

from components.declare import step


@step
def collect_labels(
    snapshot: str,
    campaign: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Put the labels that annotators returned onto their frames.

    Args:
        snapshot: The kept frames.
        campaign: The campaign handed off before, to wait for; may be empty.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.collect_labels import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot, "campaign": campaign}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["snapshot"])
