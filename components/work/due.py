"""Decide whether a new model is due, and say why."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from components.work.world import World
from driveflow.flow.sections import Flow
from driveflow.snapshots import open_snapshot
from driveflow.steps import StepContext

_Pair: TypeAlias = tuple[str, str]  # a frame, and a class that somebody looked for in it


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
    new = len({frame_id for frame_id, _ in _labeled_now(context, world) - _labeled_then(context, flow)})
    needed = flow.retrain.min_new_labeled_frames
    if new >= needed:
        return Due(due=True, why=f"{new} newly labeled frames, {needed} needed")
    return Due(due=False, why=f"only {new} newly labeled frames, {needed} needed, and no model is too old")


def _labeled_now(context: StepContext, world: World) -> set[_Pair]:
    """Return what has labels, and what answers will give some: not where a filter dropped the frame since."""
    from labeling.collect import answered_classes

    snapshot = open_snapshot(world.base_snapshot)
    frames = snapshot.frames().select(["frame_id", "split"]).to_pylist()
    asked = {row["frame_id"] for row in frames if row["split"] != "holdout"}
    answered = answered_classes(context.place.store, world.campaigns, "train")
    taken = {(frame_id, name) for frame_id in asked & answered.keys() for name in answered[frame_id]}
    return _labeled(world.base_snapshot) | {pair for pair in taken if pair[1] in snapshot.classes}


def _labeled_then(context: StepContext, flow: Flow) -> set[_Pair]:
    """Return what had labels when a model was trained last: not all runs that collect labels train one."""
    promoted = context.ledger.latest_step(flow.name, ("retrain", "flow"), "promote_model")
    steps = context.ledger.steps(promoted.run_id) if promoted is not None else []
    uri: Any = next((step.outputs.get("snapshot") for step in steps if step.step == "collect_labels"), None)
    return _labeled(uri) if uri else set()


def _labeled(uri: str) -> set[_Pair]:
    """Return each frame with each class that somebody looked for in it."""
    import pyarrow.compute as pc

    frames = open_snapshot(uri).frames().combine_chunks()
    lists = frames["annotated_classes"].combine_chunks()
    ids = frames["frame_id"].take(pc.list_parent_indices(lists))
    return set(zip(ids.to_pylist(), pc.list_flatten(lists).to_pylist(), strict=True))
