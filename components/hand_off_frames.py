"""The step that hands frames to annotators."""

from kfp import dsl

from components.declare import step


@step
def hand_off_frames(
    snapshot: str,
    selection: str,
    predictions: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Write the picked frames as a labeling campaign.

    Args:
        snapshot: The kept frames.
        selection: The frames to label, in order.
        predictions: What the champion sees in them; empty without a champion.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.hand_off_frames import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot, "selection": selection, "predictions": predictions}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["campaign"])
