"""The step that measures pixels."""

from kfp import dsl

from components.declare import step


@step
def fingerprint_frames(
    snapshot: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Measure every frame once: perceptual hash, brightness, contrast, sharpness.

    Args:
        snapshot: The frames to measure.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.fingerprint_frames import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot}, "", run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["signals"])
