"""What the gate is asked about two models: how they measure, what they saw in training, and what they cost."""

import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from driveflow.errors import DriveflowError
from driveflow.steps import StepContext

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.images.pixels import PixelReader
    from driveflow.snapshots import SnapshotTables
    from validation.cost import Cost, Runner
    from validation.gate_world import ChampionAway
    from validation.leak import LeakReport
    from validation.model.evaluation import Evaluation
    from validation.regression import RegressionSet

    Measured: TypeAlias = tuple[SnapshotTables, pa.Table]  # frames, and the signals of them

_TIMED_FRAMES = 5


def champion_or_reason(
    settings: Mapping[str, Any], measure: Callable[[str], "Evaluation"]
) -> "tuple[Evaluation | None, ChampionAway | None]":
    """Return the champion measured, or why it is not compared with; a champion that cannot run fails no run."""
    from validation.gate_world import ChampionAway

    away = settings.get("champion_away")
    if away:
        return None, ChampionAway(**away)
    if not settings["champion"]:
        return None, None
    try:
        return measure(settings["champion"]), None
    except DriveflowError as error:
        return None, ChampionAway(champion=settings["champion"].rpartition("/")[2], reason=_sentence(str(error)))


def leak_of(context: StepContext, training: "Measured", holdout: "Measured") -> "LeakReport":
    """Return the leak check of training data against the hold-out, each with its signals."""
    from validation.leak import LeakRequest, check_leak

    settings: Any = context.settings
    limit = settings["validation"]["leak_max_bits"]
    return check_leak(LeakRequest(training[0], holdout[0], training[1], holdout[1], limit))


def champion_leak(context: StepContext, holdout: "Measured") -> "LeakReport | None":
    """Return the leak check of what the champion was trained on; None where that is not known or gone."""
    from driveflow.signal_store import SignalStore
    from driveflow.snapshots import open_snapshot

    settings: Any = context.settings
    if not settings["champion"] or not settings.get("champion_training"):
        return None
    try:
        training = open_snapshot(settings["champion_training"]).tables()
    except DriveflowError:
        return None
    signals = SignalStore(context.place.store).load(training.frames["frame_id"])
    return leak_of(context, (training, signals), holdout)


def regression_sets(context: StepContext) -> "tuple[RegressionSet, ...]":
    """Return the sets of past failures that must stay right."""
    from validation.regression import load_regressions

    settings: Any = context.settings
    return tuple(load_regressions(name, context.place.store) for name in settings["gate"].get("regressions", ()))


def cost_of(
    context: StepContext, models: tuple[str, str], pixels: "PixelReader", frame_ids: list[str]
) -> "Cost | None":
    """Return what a frame costs the challenger, and the champion where there is one, on this machine.

    None where frames or models cannot be read or run here: numbers from kept predictions need neither.
    """
    from driveflow.images.decode import decode_rgb
    from validation.cost import measure_cost

    step = max(1, len(frame_ids) // _TIMED_FRAMES)
    try:
        frames = [decode_rgb(pixels.read(frame_id)) for frame_id in frame_ids[::step][:_TIMED_FRAMES]]
        own = _runner(context, models[0])
        champion = _runner(context, models[1]) if models[1] else None
        return measure_cost(own, champion, frames, f"{platform.machine()}, {platform.system()}")
    except DriveflowError:
        return None


def _runner(context: StepContext, model_uri: str) -> "Runner":
    from driveflow.detectors.catalog import load_detector
    from driveflow.detectors.model_folder import open_model
    from validation.cost import Runner

    detector = load_detector(model_uri, Path(context.place.scratch))
    size = sum(file.bytes for file in open_model(model_uri).files)
    return Runner(lambda frame: detector.predict([frame]), size)  # type: ignore[list-item]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
