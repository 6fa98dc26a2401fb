"""The boxes that a picture of a frame shows."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from validation.model.evaluation import Evaluation
from validation.model.frame_rows import FrameRows
from validation.model.scene import Floats, Ints

Corners: TypeAlias = tuple[float, float, float, float]

_NO_ROWS: Ints = np.zeros(0, np.int64)


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


class BoxRows:
    """Rows of the truth and of the detections over their class's operating score, by frame; and which are wrong."""

    def __init__(self, evaluation: Evaluation) -> None:
        """Sort both once, for many frames."""
        scene, mistakes = evaluation.scene, evaluation.mistakes
        self.truth = FrameRows(scene.truth.frame, len(scene.frame_ids))
        self.missed, self.false = np.zeros(len(scene.truth.frame), bool), np.zeros(len(scene.detected.frame), bool)
        self.missed[mistakes.missed] = True
        self.false[mistakes.false] = True
        self._shown_rows = np.flatnonzero(mistakes.shown)
        self._shown = FrameRows(scene.detected.frame[self._shown_rows], len(scene.frame_ids))

    def detected(self, row: int) -> Ints:
        """Return the rows of the detections of one frame."""
        return self._shown_rows[self._shown.of(row)]


def drawn_boxes(evaluation: Evaluation, rows: BoxRows, row: int, changed: Ints = _NO_ROWS) -> tuple[DrawnBox, ...]:
    """Return what a picture of one frame shows: all objects, and the detections over their class's operating score.

    `changed` are rows of the truth that a comparison is about.
    """
    scene = evaluation.scene
    objects = rows.truth.of(row)
    missed, turned = rows.missed[objects], np.isin(objects, changed)
    drawn = []
    for one, lost, new in zip(objects.tolist(), missed.tolist(), turned.tolist(), strict=True):
        name, region = scene.classes[scene.truth.label[one]], bool(scene.truth.ignore[one])
        drawn.append(DrawnBox(corners_of(scene.truth.corners[one]), name, None, not lost, region, changed=new))
    detections = rows.detected(row)
    for one, false in zip(detections.tolist(), rows.false[detections].tolist(), strict=True):
        name, score = scene.classes[scene.detected.label[one]], float(scene.detected.score[one])
        drawn.append(DrawnBox(corners_of(scene.detected.corners[one]), name, score, not false))
    return tuple(drawn)


def corners_of(values: Floats) -> Corners:
    """Return one row of corners as plain numbers."""
    x1, y1, x2, y2 = (float(value) for value in values)
    return x1, y1, x2, y2
