"""The step that checks what a model would train on."""

from kfp import dsl

from components.declare import step


@step
def validate_data(
    training: str,
    holdout: str,
    signals: str,
    settings: str,
    run_id: str,
    summary: dsl.Output[dsl.Markdown],
    report: dsl.Output[dsl.HTML],
) -> bool:
    """Check training data and hold-out, and say whether a model may be trained: what follows hangs on it.

    Args:
        training: What a model would train on.
        holdout: What would judge it.
        signals: What their pixels measured.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        summary: The verdict and every check, for the KFP page.
        report: All of it with pictures of the suspects, one page.
    """
    from components.runtime import run
    from components.work.validate_data import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"training": training, "holdout": holdout, "signals": signals}, settings, run_id)
    return bool(run(SPEC, work, call, {"summary": summary, "report": report})["sound"])
