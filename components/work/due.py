"""Decide whether a new model is due, and say why."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from components.work.world import World
from driveflow.flow.sections import Flow
from driveflow.snapshots import open_snapshot
from driveflow.steps import StepContext


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a model is due, and the reason a person reads."""

    due: bool
    why: str


def decide(context: StepContext, flow: Flow, world: World, pipeline: str, *, force: bool) -> Due:
    """Return whether `pipeline` has a model to train."""
    if pipeline != "retrain":
        return Due(due=True, why=f"the pipeline {pipeline} always runs")
    if force:
        return Due(due=True, why="it was forced")
    newest = context.ledger.newest_trained(flow.registry.model or flow.name)
    if newest is None:
        return Due(due=True, why="there is no model yet")
    age = datetime.now(UTC) - datetime.fromisoformat(newest.created_at)
    if age > timedelta(days=flow.retrain.max_age_days):
        return Due(due=True, why=f"the newest model is {age.days} days old, the limit is {flow.retrain.max_age_days}")
    new = len(_labeled_now(context, world) - _labeled_then(context, flow))
    needed = flow.retrain.min_new_labeled_frames
    if new >= needed:
        return Due(due=True, why=f"{new} newly labeled frames, {needed} needed")
    return Due(due=False, why=f"only {new} newly labeled frames, {needed} needed, and no model is too old")


def _labeled_now(context: StepContext, world: World) -> set[str]:
    """Return the frames with labels, and those whose answers give them some, without what was dropped since."""
    from labeling.collect import returned_frames

    frames = open_snapshot(world.base_snapshot).frames()
    asked = {row["frame_id"] for row in frames.select(["frame_id", "split"]).to_pylist() if row["split"] != "holdout"}
    return _labeled(world.base_snapshot) | (returned_frames(context.place.store, world.campaigns) & asked)


def _labeled_then(context: StepContext, flow: Flow) -> set[str]:
    """Return the frames that had labels when a model was trained last: not all runs that collect labels train one."""
    promoted = context.ledger.latest_step(flow.name, ("retrain", "flow"), "promote_model")
    steps = context.ledger.steps(promoted.run_id) if promoted is not None else []
    uri: Any = next((step.outputs.get("snapshot") for step in steps if step.step == "collect_labels"), None)
    return _labeled(uri) if uri else set()


def _labeled(uri: str) -> set[str]:
    import pyarrow.compute as pc

    frames = open_snapshot(uri).frames()
    return set(frames.filter(pc.greater(pc.list_value_length(frames["annotated_classes"]), 0))["frame_id"].to_pylist())
