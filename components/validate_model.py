"""The step that measures and judges a model."""

from typing import NamedTuple

from kfp import dsl

from components.declare import step


@step
def validate_model(
    model: str,
    training: str,
    holdout: str,
    signals: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
    report: dsl.Output[dsl.HTML],
    confusion: dsl.Output[dsl.ClassificationMetrics],
) -> NamedTuple("Outputs", [("passed", bool), ("verdict", str)]):  # type: ignore[valid-type]
    """Measure the model and the champion on the hold-out, and say PASS, BLOCK or NEEDS DATA.

    Args:
        model: The challenger.
        training: What it was trained on.
        holdout: What judges it.
        signals: What the pixels measured.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
        report: The validation report, one page.
        confusion: Which class was taken for which.
    """
    from components.runtime import run
    from components.work.validate_model import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"model": model, "training": training, "holdout": holdout, "signals": signals}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary, "report": report, "confusion": confusion})
    return tuple(outputs[name] for name in ["passed", "verdict"])
