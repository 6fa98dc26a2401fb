"""The frames where a model is most wrong, and what is wrong in each."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from validation.model.drawn_boxes import BoxRows, DrawnBox, drawn_boxes
from validation.model.evaluation import Evaluation
from validation.model.frame_rows import FrameRows, Ranks, first_of_classes, ranked
from validation.model.match import NONE, overlap_of
from validation.model.scene import Floats, Ints, Scene

Fault: TypeAlias = Literal["missed", "false", "taken", "loose", "twice"]
LOOSE_MIN_OVERLAP = 0.1  # under it a false detection has nothing to do with an object

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
class WorstFrame:
    """One frame, what is wrong in it (gravest first), and all boxes to draw."""

    frame_id: str
    drive_group: str
    mistakes: tuple[Mistake, ...]
    boxes: tuple[DrawnBox, ...]
    ranks: Ranks


def worst_frames(evaluation: Evaluation, count: int) -> tuple[WorstFrame, ...]:
    """Return up to `count` frames with the most missed objects and false detections, then so for each class.

    Detections count from their class's operating score. Of equally wrong frames those with fewer objects come first. A
    class is wrong in a frame where an object of it is missed or a detection that says it is false.
    """
    scene, mistakes = evaluation.scene, evaluation.mistakes
    frames = len(scene.frame_ids)
    frame = np.concatenate([scene.detected.frame[mistakes.false], scene.truth.frame[mistakes.missed]])
    label = np.concatenate([scene.detected.label[mistakes.false], scene.truth.label[mistakes.missed]])
    wrong = np.bincount(frame, minlength=frames)
    objects = np.bincount(scene.truth.frame, minlength=frames)
    order = np.lexsort((np.arange(frames), objects, -wrong))
    overall = [int(row) for row in order[:count] if wrong[row]]
    chosen = ranked(overall, first_of_classes(frame, label, objects, count), scene.classes)
    rows = _Rows(evaluation)
    return tuple(_frame(evaluation, rows, row, ranks) for row, ranks in chosen.items())


class _Rows:
    """Rows by frame of objects, detections, and of what is wrong among them."""

    def __init__(self, evaluation: Evaluation) -> None:
        scene, mistakes = evaluation.scene, evaluation.mistakes
        frames = len(scene.frame_ids)
        self.boxes = BoxRows(evaluation)
        self.false = FrameRows(scene.detected.frame[mistakes.false], frames)
        self.missed = FrameRows(scene.truth.frame[mistakes.missed], frames)


def _frame(evaluation: Evaluation, rows: _Rows, row: int, ranks: Ranks) -> WorstFrame:
    scene = evaluation.scene
    found = sorted(_mistakes(evaluation, rows, row), key=_gravity)
    boxes = drawn_boxes(evaluation, rows.boxes, row)
    return WorstFrame(scene.frame_ids[row], scene.groups[scene.frame_group[row]], tuple(found), boxes, ranks)


def _gravity(mistake: Mistake) -> tuple[int, float, float]:
    return _FAULTS.index(mistake.fault), -(mistake.height_px or 0.0), -(mistake.score or 0.0)


def _mistakes(evaluation: Evaluation, rows: _Rows, row: int) -> list[Mistake]:
    scene, mistakes = evaluation.scene, evaluation.mistakes
    missed = set(mistakes.missed[rows.missed.of(row)].tolist())
    found = []
    for place in rows.false.of(row).tolist():
        detection, taken = int(mistakes.false[place]), int(mistakes.taken_for[place])
        other = taken if taken != NONE else _nearest_object(scene, rows.boxes.truth.of(row), detection)
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


def _nearest_object(scene: Scene, in_frame: Ints, detection: int) -> int:
    """Return the object of the detection's class among those of its frame that it overlaps most, or NONE."""
    same = ~scene.truth.ignore[in_frame] & (scene.truth.label[in_frame] == scene.detected.label[detection])
    rows = in_frame[same]
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
