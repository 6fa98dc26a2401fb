"""The step that picks frames for labeling."""

from typing import NamedTuple

from kfp import dsl

from components.declare import step


@step
def find_corner_cases(
    snapshot: str,
    signals: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
    gallery: dsl.Output[dsl.HTML],
) -> NamedTuple("Outputs", [("selection", str), ("predictions", str)]):  # type: ignore[valid-type]
    """Find corner cases among the kept frames and spend the labeling budget.

    Args:
        snapshot: The kept frames.
        signals: What their pixels measured.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
        gallery: Pictures of what was decided.
    """
    from components.runtime import run
    from components.work.find_corner_cases import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot, "signals": signals}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary, "gallery": gallery})
    return tuple(outputs[name] for name in ["selection", "predictions"])
