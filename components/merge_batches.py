"""The step that merges batches into one snapshot."""

from kfp import dsl

from components.declare import step


@step
def merge_batches(
    batches: str,
    settings: str,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> str:
    """Merge the batches under the flow's rules and assign splits by drive group.

    Args:
        batches: A JSON list of {name, snapshot}, in arrival order.
        settings: The plan's section for this step.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.merge_batches import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall({"batches": batches}, settings, run_id)
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return str(outputs["snapshot"])
