"""COCO's twelve numbers from driveflow's own matches, over all frames or some, all classes or each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from validation.model import count_kernel, match_kernel, order_kernel
from validation.model.curves import RECALLS
from validation.model.match import NONE, THRESHOLDS, Matches
from validation.model.precision import mean_of_found, number_or_none
from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Detected, Floats, Ints, Scene, Truth

Numbers: TypeAlias = Mapping[str, float | None]
"""A COCO metric name -> its value from 0 to 1; None where there is no object to find."""

METRICS: Final = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
MOST_THRESHOLDS: Final = 62  # a bit each
_FEW_THRESHOLDS: Final = 15
_LIMITS: Final = (1, 10, COCO_DETECTION_LIMIT)
_LEAST_AREA: Final = np.array([0.0, 0.0, 32.0**2, 96.0**2])
_MOST_AREA: Final = np.array([1e10, 32.0**2, 96.0**2, 1e10])
_ALL, _SMALL, _MEDIUM, _LARGE = range(4)


@dataclass(frozen=True, slots=True)
class CocoNumbers:
    """The twelve numbers over all classes, of each class in order, and AP over all classes at each threshold."""

    overall: Numbers
    per_class: tuple[Numbers, ...]
    by_threshold: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Tally:
    """What each detection of a scene is, at all sizes of object and at each threshold: right, void, or false.

    The size "all" and the three of COCO; `right` and `void` are sizes x detections, a bit a threshold.
    """

    scene: Scene
    thresholds: Floats
    right: NDArray[np.int64]
    void: NDArray[np.int64]

    def numbers(self, frames: Ints | None = None) -> CocoNumbers:
        """Return the twelve numbers over the frames with these row numbers, or over all in which somebody looked."""
        scene = self.scene
        counts = scene.looked_for()
        if frames is not None:
            inside = np.zeros(len(scene.frame_ids), bool)
            inside[frames] = True
            counts = counts & inside
        by_score = count_kernel.ByScore(
            scene.by_score,
            self._starts,
            scene.detected.frame,
            scene.detected.score,
            scene.detected.rank,
            counts,
            scene.mode == "strict",
        )
        asked = (len(self.thresholds), RECALLS, np.array(_LIMITS))
        sums = count_kernel.count_all(by_score, self.right, self.void, self._objects(counts), asked)
        return CocoNumbers(
            self._overall(sums),
            self._per_class(sums),
            tuple(mean_of_found(sums.precision[_ALL, :, number]) for number in range(len(self.thresholds))),
        )

    @cached_property
    def _starts(self) -> Ints:
        starts: Ints = order_kernel.starts(self.scene.detected.label, len(self.scene.classes))
        return starts

    def _objects(self, counts: Bools) -> Ints:
        """Return, sizes x classes, how many objects of the size there are in frames that count."""
        truth = self.scene.truth
        real = ~truth.ignore & counts[truth.frame]
        sized = (truth.area_px >= _LEAST_AREA[:, None]) & (truth.area_px <= _MOST_AREA[:, None])
        classes = len(self.scene.classes)
        return np.stack([np.bincount(truth.label[real & rows], minlength=classes) for rows in sized])

    def _overall(self, sums: count_kernel.Sums) -> Numbers:
        return {name: mean_of_found(values) for name, values in self._values(sums).items()}

    def _per_class(self, sums: count_kernel.Sums) -> tuple[Numbers, ...]:
        """Return the means over thresholds; a class has a number at each of them or at none."""
        columns = {name: values.mean(axis=1).tolist() for name, values in self._values(sums).items() if values.size}
        rows = range(len(self.scene.classes))
        return tuple(
            {name: number_or_none(columns[name][row]) if name in columns else None for name in METRICS} for row in rows
        )

    def _values(self, sums: count_kernel.Sums) -> dict[str, Floats]:
        """Return, classes x thresholds, what each metric is the mean of."""
        precision, recall, early = sums.precision, sums.recall, sums.early
        return {
            "AP": precision[_ALL],
            "AP50": precision[_ALL][:, self._at(0.5)],
            "AP75": precision[_ALL][:, self._at(0.75)],
            "APs": precision[_SMALL],
            "APm": precision[_MEDIUM],
            "APl": precision[_LARGE],
            "AR1": early[0],
            "AR10": early[1],
            "AR100": early[2],
            "ARs": recall[_SMALL],
            "ARm": recall[_MEDIUM],
            "ARl": recall[_LARGE],
        }

    def _at(self, threshold: float) -> Ints:
        return np.flatnonzero(np.isclose(self.thresholds, threshold, rtol=0, atol=1e-9))


def tally(scene: Scene, thresholds: Floats = THRESHOLDS) -> Tally:
    """Return the tally of `scene` alone, without the objects that were found."""
    return _tally(scene, thresholds, np.zeros((0, 0), np.int32))


def tally_and_match(scene: Scene) -> tuple[Tally, Matches]:
    """Return the tally of `scene` at COCO's thresholds, and which detection found which object."""
    truth = np.full((len(THRESHOLDS), len(scene.detected.frame)), NONE, np.int32)
    counted = _tally(scene, THRESHOLDS, truth)
    region = truth != NONE
    void = np.zeros(truth.shape, bool)
    void[region] = scene.truth.ignore[truth[region]]
    return counted, Matches(THRESHOLDS, truth, void)


def _tally(scene: Scene, thresholds: Floats, truth: NDArray[np.int32]) -> Tally:
    bits = np.int16 if len(thresholds) <= _FEW_THRESHOLDS else np.int64
    shape = (len(_LEAST_AREA), len(scene.detected.frame))
    found = match_kernel.Found(np.zeros(shape, bits), np.zeros(shape, bits), truth)
    rule = match_kernel.Rule(thresholds, _LEAST_AREA, _MOST_AREA, scene.mode == "strict")
    match_kernel.match_all(_detections(scene.detected), _objects(scene.truth), rule, found)
    return Tally(scene, thresholds, found.right, found.void)


def _detections(detected: Detected) -> match_kernel.Boxes:
    size = detected.corners[:, 2:] - detected.corners[:, :2] if detected.size is None else detected.size
    nothing = np.zeros(0, bool)
    return match_kernel.Boxes(
        detected.label, detected.frame, detected.corners, size, size[:, 0] * size[:, 1], detected.score, nothing
    )


def _objects(truth: Truth) -> match_kernel.Boxes:
    size = truth.corners[:, 2:] - truth.corners[:, :2] if truth.size is None else truth.size
    return match_kernel.Boxes(truth.label, truth.frame, truth.corners, size, truth.area_px, np.zeros(0), truth.ignore)
