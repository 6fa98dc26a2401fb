"""False alarms by frame, of every class: also where there is no object of it, which average precision leaves out."""

from dataclasses import dataclass

import numpy as np

from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.scene import Bools, Floats, Ints, Scene

PER_FRAME: Floats = np.logspace(-2.0, 0.0, 9)
_LEAST_MISSED = 1e-10  # of a logarithm


@dataclass(frozen=True, slots=True)
class ClassAlarms:
    """One class: wrong detections from its operating score on, and of any score, by frame in which it is looked for."""

    class_name: str
    per_frame: float
    per_frame_of_any_score: float
    false: int
    false_of_any_score: int
    frames: int
    objects: int


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """Wrong detections at an overlap (IoU) of 0.5, by frame in which somebody looked for anything.

    `missed_at` holds the share of objects that is missed where all classes are cut at the one score that allows so many
    false alarms a frame (`PER_FRAME`: 0.01 to 1), and `log_average_missed` its mean in the logarithm: Dollar et al.,
    Pedestrian Detection: An Evaluation of the State of the Art, PAMI 2012. None where there is no object.
    """

    per_frame: float
    per_frame_of_any_score: float
    missed_at: tuple[float, ...] | None
    log_average_missed: float | None
    per_class: tuple[ClassAlarms, ...]


def find_false_alarms(scene: Scene, matches: Matches, shown: Bools) -> FalseAlarms:
    """Return the false alarms; `shown` are the detections from their class's operating score on."""
    row = at_threshold(matches, 0.5)
    wrong, right = matches.wrong()[row], matches.right()[row]
    classes = len(scene.classes)
    every = np.bincount(scene.detected.label[wrong], minlength=classes)
    false = np.bincount(scene.detected.label[wrong & shown], minlength=classes)
    frames = scene.annotated.sum(axis=0)
    objects = np.bincount(scene.truth.label[~scene.truth.ignore], minlength=classes)
    total = int(scene.looked_for().sum())
    missed = _missed_at(scene, right, wrong, int(objects.sum()), total) if objects.sum() and total else None
    return FalseAlarms(
        per_frame=_share(int(false.sum()), total),
        per_frame_of_any_score=_share(int(every.sum()), total),
        missed_at=None if missed is None else tuple(missed.tolist()),
        log_average_missed=None if missed is None else float(np.exp(np.log(np.maximum(missed, _LEAST_MISSED)).mean())),
        per_class=tuple(_of_class(scene, label, (false, every, frames, objects)) for label in range(classes)),
    )


def _of_class(scene: Scene, label: int, columns: tuple[Ints, Ints, Ints, Ints]) -> ClassAlarms:
    false, every, frames, objects = (int(column[label]) for column in columns)
    shares = _share(false, frames), _share(every, frames)
    return ClassAlarms(scene.classes[label], *shares, false, every, frames, objects)


def _missed_at(scene: Scene, right: Bools, wrong: Bools, objects: int, frames: int) -> Floats:
    """Return the share missed at the lowest score that makes no more false alarms a frame than PER_FRAME."""
    rows = np.flatnonzero((right | wrong) & (scene.detected.score >= _least_score(scene.detected.score[wrong], frames)))
    rows = rows[np.argsort(-scene.detected.score[rows], kind="stable")]
    score = scene.detected.score[rows]
    last = np.flatnonzero(np.diff(score, append=-np.inf) != 0) if len(rows) else np.zeros(0, np.int64)
    hits, alarms = (np.concatenate([[0], np.cumsum(flags[rows])[last]]) for flags in (right, wrong))
    at = np.searchsorted(alarms / frames, PER_FRAME, "right") - 1
    missed: Floats = 1.0 - hits[at] / objects
    return missed


def _least_score(wrong: Floats, frames: int) -> float:
    """Return a score from which on there is a false alarm a frame: what lies lower is not asked for."""
    most = int(PER_FRAME[-1] * frames)
    return float(-np.partition(-wrong, most)[most]) if most < len(wrong) else -np.inf


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
