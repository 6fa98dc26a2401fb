"""The step that reads the outside world once and freezes it."""

from typing import NamedTuple

from kfp import dsl

from components.declare import step


@step
def plan_run(
    flow: str,
    pipeline: str,
    data_root: str,
    force: bool,
    seed: int,
    epochs: int,
    budget_frames: int,
    run_id: str,
    metrics: dsl.Output[dsl.Metrics],
    summary: dsl.Output[dsl.Markdown],
) -> NamedTuple(  # type: ignore[valid-type]
    "Outputs",
    [
        ("due", bool),
        ("why", str),
        ("base_snapshot", str),
        ("import_settings", str),
        ("merge_settings", str),
        ("filter_settings", str),
        ("corner_case_settings", str),
        ("hand_off_settings", str),
        ("collect_settings", str),
        ("training_set_settings", str),
        ("validate_data_settings", str),
        ("train_settings", str),
        ("validate_settings", str),
        ("promote_settings", str),
    ],
):
    """Read batches, labels, hold-out and champion as they are now, and decide whether there is anything to do.

    Args:
        flow: The flow file's text, YAML or JSON.
        pipeline: Which pipeline this is: curate, retrain or flow.
        data_root: Where the batches lie: relative paths of the flow are below it.
        force: Train even where the retrain policy sees no reason.
        seed: Training seed; -1 as the flow file says.
        epochs: Training epochs; -1 as the flow file says.
        budget_frames: Labeling budget; -1 as the flow file says.
        run_id: The run this step belongs to.
        metrics: Counts and figures.
        summary: What happened, for the KFP page.
    """
    from components.runtime import run
    from components.work.plan_run import SPEC, work
    from driveflow.steps import StepCall

    call = StepCall(
        {
            "flow": flow,
            "pipeline": pipeline,
            "data_root": data_root,
            "force": force,
            "seed": seed,
            "epochs": epochs,
            "budget_frames": budget_frames,
        },
        "",
        run_id,
    )
    outputs = run(SPEC, work, call, {"metrics": metrics, "summary": summary})
    return tuple(
        outputs[name]
        for name in [
            "due",
            "why",
            "base_snapshot",
            "import_settings",
            "merge_settings",
            "filter_settings",
            "corner_case_settings",
            "hand_off_settings",
            "collect_settings",
            "training_set_settings",
            "validate_data_settings",
            "train_settings",
            "validate_settings",
            "promote_settings",
        ]
    )
