"""The step that freezes what a model trains on."""

from typing import NamedTuple

from kfp import dsl

from components.declare import step


@step
def build_training_set(
    snapshot: str,
    signals: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> NamedTuple("Outputs", [("training", str), ("holdout", str)]):  # type: ignore[valid-type]
    """Take the labeled frames, and keep everything out that touches the hold-out.

    Args:
        snapshot: The labeled frames.
        signals: What their pixels measured.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.build_training_set import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"snapshot": snapshot, "signals": signals}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return tuple(outputs[name] for name in ["training", "holdout"])
