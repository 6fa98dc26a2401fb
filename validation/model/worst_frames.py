"""The frames where a model is most wrong, and what is wrong in each."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from validation.model.evaluation import Evaluation
from validation.model.match import NONE, overlap_of
from validation.model.scene import Floats, Ints, Scene

Corners: TypeAlias = tuple[float, float, float, float]
Fault: TypeAlias = Literal["missed", "false", "taken", "loose", "twice"]
LOOSE_MIN_OVERLAP = 0.1  # under it a false detection has nothing to do with an object

_NO_ROWS: Ints = np.zeros(0, np.int64)
_FAULTS: tuple[Fault, ...] = ("missed", "taken", "loose", "false", "twice")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in a frame.

    missed: an object that nothing found. false: a detection of nothing. taken: an object of `class_name` that was said
    to be `said`. loose: an object whose box overlaps it too little. twice: a second box on one object.
    """

    fault: Fault
    class_name: str
    said: str = ""
    score: float | None = None
    overlap: float | None = None
    height_px: float | None = None


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A box of a frame as the picture shows it."""

    corners: Corners
    class_name: str
    score: float | None  # None on truth
    right: bool
    ignore: bool = False
    by_champion: bool = False  # a detection of the other model, drawn for comparison
    changed: bool = False  # an object that only one of two models found


@dataclass(frozen=True, slots=True)
class WorstFrame:
    """One frame, what is wrong in it (gravest first), and all boxes to draw."""

    frame_id: str
    drive_group: str
    mistakes: tuple[Mistake, ...]
    boxes: tuple[DrawnBox, ...]


def worst_frames(evaluation: Evaluation, count: int) -> tuple[WorstFrame, ...]:
    """Return up to `count` frames with the most missed objects and false detections, most first.

    Detections count from their class's operating score. Of equally wrong frames those with fewer objects come first.
    """
    scene, mistakes = evaluation.scene, evaluation.mistakes
    frames = len(scene.frame_ids)
    wrong = np.bincount(scene.detected.frame[mistakes.false], minlength=frames)
    wrong += np.bincount(scene.truth.frame[mistakes.missed], minlength=frames)
    objects = np.bincount(scene.truth.frame, minlength=frames)
    order = np.lexsort((np.arange(frames), objects, -wrong))
    return tuple(_frame(evaluation, int(row)) for row in order[:count] if wrong[row])


def _frame(evaluation: Evaluation, row: int) -> WorstFrame:
    scene = evaluation.scene
    found = sorted(_mistakes(evaluation, row), key=_gravity)
    return WorstFrame(
        scene.frame_ids[row], scene.groups[scene.frame_group[row]], tuple(found), drawn_boxes(evaluation, row)
    )


def _gravity(mistake: Mistake) -> tuple[int, float, float]:
    return _FAULTS.index(mistake.fault), -(mistake.height_px or 0.0), -(mistake.score or 0.0)


def _mistakes(evaluation: Evaluation, row: int) -> list[Mistake]:
    scene, mistakes = evaluation.scene, evaluation.mistakes
    places = np.flatnonzero(scene.detected.frame[mistakes.false] == row)
    missed = set(mistakes.missed[scene.truth.frame[mistakes.missed] == row].tolist())
    found = []
    for place in places.tolist():
        detection, taken = int(mistakes.false[place]), int(mistakes.taken_for[place])
        other = taken if taken != NONE else _nearest_object(scene, detection)
        found.append(_of_detection(scene, detection, other, missed))
        missed.discard(other)  # said already, as what it was taken for or found too loosely
    heights = scene.truth.corners[:, 3] - scene.truth.corners[:, 1]
    names = scene.classes
    rest = (Mistake("missed", names[scene.truth.label[one]], height_px=float(heights[one])) for one in sorted(missed))
    return [*found, *rest]


def _of_detection(scene: Scene, detection: int, other: int, missed: set[int]) -> Mistake:
    said, score = scene.classes[scene.detected.label[detection]], float(scene.detected.score[detection])
    if other == NONE:
        return Mistake("false", said, score=score)
    truth = scene.classes[scene.truth.label[other]]
    overlap = _overlap(scene, detection, other)
    if truth != said:
        return Mistake("taken", truth, said, score, overlap)
    if other not in missed:
        return Mistake("twice", said, score=score, overlap=overlap)
    return Mistake("loose", said, score=score, overlap=overlap)


def _nearest_object(scene: Scene, detection: int) -> int:
    """Return the object of the detection's class in its frame that it overlaps most, or NONE."""
    same = (scene.truth.frame == scene.detected.frame[detection]) & ~scene.truth.ignore
    rows = np.flatnonzero(same & (scene.truth.label == scene.detected.label[detection]))
    if not len(rows):
        return NONE
    overlaps = _overlaps(scene, detection, rows)
    best = int(overlaps.argmax())
    return int(rows[best]) if overlaps[best] >= LOOSE_MIN_OVERLAP else NONE


def _overlap(scene: Scene, detection: int, other: int) -> float:
    return float(_overlaps(scene, detection, np.array([other]))[0])


def _overlaps(scene: Scene, detection: int, rows: Ints) -> Floats:
    one = np.broadcast_to(scene.detected.corners[detection], (len(rows), 4))
    return overlap_of(one, scene.truth.corners[rows])


def drawn_boxes(evaluation: Evaluation, row: int, changed: Ints = _NO_ROWS) -> tuple[DrawnBox, ...]:
    """Return what a picture of one frame shows: all objects, and the detections over their class's operating score.

    `changed` are rows of the truth that a comparison is about.
    """
    scene, mistakes = evaluation.scene, evaluation.mistakes
    objects = np.flatnonzero(scene.truth.frame == row)
    missed, turned = np.isin(objects, mistakes.missed), np.isin(objects, changed)
    drawn = []
    for one, lost, new in zip(objects.tolist(), missed.tolist(), turned.tolist(), strict=True):
        name, region = scene.classes[scene.truth.label[one]], bool(scene.truth.ignore[one])
        drawn.append(DrawnBox(corners_of(scene.truth.corners[one]), name, None, not lost, region, changed=new))
    detections = np.flatnonzero((scene.detected.frame == row) & mistakes.shown)
    for one, false in zip(detections.tolist(), np.isin(detections, mistakes.false).tolist(), strict=True):
        name, score = scene.classes[scene.detected.label[one]], float(scene.detected.score[one])
        drawn.append(DrawnBox(corners_of(scene.detected.corners[one]), name, score, not false))
    return tuple(drawn)


def corners_of(values: Floats) -> Corners:
    """Return one row of corners as plain numbers."""
    x1, y1, x2, y2 = (float(value) for value in values)
    return x1, y1, x2, y2
