"""The step that drops frames not worth their label."""

from kfp import dsl

from components.declare import step


@step
def filter_frames(
    snapshot: str,
    signals: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
    gallery: dsl.Output[dsl.HTML],
) -> str:
    """Drop the training frames that any filter rejects, and say why.

    Args:
        snapshot: The merged frames.
        signals: What their pixels measured.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
        gallery: Pictures of what was decided.
    """
    from components.runtime import run
    from components.work.filter_frames import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot, "signals": signals}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary, "gallery": gallery})
    return str(outputs["snapshot"])
