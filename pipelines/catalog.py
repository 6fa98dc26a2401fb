"""The pipelines, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from kfp import dsl

from components.decide_training import decide_training
from components.fingerprint_frames import fingerprint_frames
from components.plan_run import plan_run
from pipelines.curate import curate_steps
from pipelines.retrain import collect_step, train_steps
from pipelines.tasks import Prepare

_RUN_ID = dsl.PIPELINE_JOB_ID_PLACEHOLDER


def curate(prepare: Prepare) -> Callable[..., Any]:
    """Return the pipeline that imports, merges, filters, finds corner cases and hands off."""

    def pipeline(flow: str, data_root: str, budget_frames: int = -1) -> None:
        """Import batches, thin them to the frames worth a label, and hand those to annotators.

        Args:
            flow: The flow file's text.
            data_root: Where the batches lie.
            budget_frames: Labeling budget; -1 as the flow file says.
        """
        plan = prepare(
            plan_run(
                flow=flow,
                pipeline="curate",
                data_root=data_root,
                force=False,
                seed=-1,
                epochs=-1,
                budget_frames=budget_frames,
                run_id=_RUN_ID,
            )
        )
        curate_steps(plan, prepare)

    return pipeline


def retrain(prepare: Prepare) -> Callable[..., Any]:
    """Return the pipeline that collects labels, trains, validates and promotes, where that is due."""

    def pipeline(flow: str, data_root: str, force: bool = False, seed: int = -1, epochs: int = -1) -> None:
        """Train on what annotators returned, judge the model on the hold-out, and promote it where it passes.

        Args:
            flow: The flow file's text.
            data_root: Where the batches lie.
            force: Train even where the retrain policy sees no reason.
            seed: Training seed; -1 as the flow file says.
            epochs: Training epochs; -1 as the flow file says.
        """
        plan = prepare(
            plan_run(
                flow=flow,
                pipeline="retrain",
                data_root=data_root,
                force=force,
                seed=seed,
                epochs=epochs,
                budget_frames=-1,
                run_id=_RUN_ID,
            )
        )
        # the local runner reads conditions on a step's only output, not on one of several
        decided = prepare(decide_training(due=plan.outputs["due"], why=plan.outputs["why"], run_id=_RUN_ID))
        with dsl.If(decided.outputs["Output"] == True, name="due"):  # noqa: E712 KFP overloads the comparison
            collected = collect_step(plan, plan.outputs["base_snapshot"], "", prepare)
            signals = prepare(fingerprint_frames(snapshot=collected.outputs["Output"], run_id=_RUN_ID))
            train_steps(plan, collected.outputs["Output"], signals.outputs["Output"], prepare)

    return pipeline


def whole_flow(prepare: Prepare) -> Callable[..., Any]:
    """Return the pipeline that is both in one, for when labels are at hand."""

    def pipeline(
        flow: str,
        data_root: str,
        force: bool = False,
        seed: int = -1,
        epochs: int = -1,
        budget_frames: int = -1,
    ) -> None:
        """Do all of it: import, merge, filter, hand off, take labels back, train, validate, promote.

        Args:
            flow: The flow file's text.
            data_root: Where the batches lie.
            force: Train even where the retrain policy sees no reason.
            seed: Training seed; -1 as the flow file says.
            epochs: Training epochs; -1 as the flow file says.
            budget_frames: Labeling budget; -1 as the flow file says.
        """
        plan = prepare(
            plan_run(
                flow=flow,
                pipeline="flow",
                data_root=data_root,
                force=force,
                seed=seed,
                epochs=epochs,
                budget_frames=budget_frames,
                run_id=_RUN_ID,
            )
        )
        kept, signals, handed_off = curate_steps(plan, prepare)
        collected = collect_step(plan, kept.outputs["Output"], handed_off.outputs["Output"], prepare)
        train_steps(plan, collected.outputs["Output"], signals.outputs["Output"], prepare)

    return pipeline


PIPELINES: Mapping[str, Callable[[Prepare], Callable[..., Any]]] = {
    "curate": curate,
    "retrain": retrain,
    "flow": whole_flow,
}
