"""A metric of one class when each drive group has a weight, exactly as if it were there so many times."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driveflow.flow.sections import Metric
from validation.model.curves import hits_for_recalls, interpolated_precision
from validation.model.match import Matches
from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Floats, Ints, Scene

_IOU50, _IOU75 = 0, 5


@dataclass(frozen=True, slots=True)
class ClassMetric:
    """The metric of one class as a function of weights, rows x groups; `columns` numbers a row of weights becomes."""

    columns: int
    compute: Callable[[Floats], Floats]

    def __call__(self, weight: Floats) -> Floats:
        """Return the metric per row of weights; NaN where a row has no object."""
        return self.compute(weight)


@dataclass(frozen=True, slots=True)
class _Detections:
    """The detections of one class in order of falling score: group, and per threshold right or wrong."""

    group: Ints
    right: Bools
    counted: Bools  # right or wrong; the others lie in ignore regions
    groups: int
    ends: Ints  # the last detection that comes in together with each: those of one score do


def class_metric(scene: Scene, matches: Matches, metric: Metric, label: int, group_of_frame: Ints) -> ClassMetric:
    """Return `metric` of the class `label` over the frames that have a group; `group_of_frame` is -1 for others."""
    groups = int(group_of_frame.max(initial=-1)) + 1
    truth = group_of_frame[scene.truth.frame[(scene.truth.label == label) & ~scene.truth.ignore]]
    objects_of = np.bincount(truth[truth >= 0], minlength=groups).astype(float)
    rows = np.flatnonzero((scene.detected.label == label) & (group_of_frame[scene.detected.frame] >= 0))
    rows = rows[np.argsort(-scene.detected.score[rows], kind="stable")]
    right = matches.right()[:, rows]
    counted = right | matches.wrong()[:, rows]
    ends = _ends(scene.detected.score[rows]) if scene.mode == "strict" else np.arange(len(rows))
    found = _Detections(group_of_frame[scene.detected.frame[rows]], right, counted, groups, ends)
    if metric == "AR100":
        return _recall(found, objects_of, scene.detected.rank[rows] < COCO_DETECTION_LIMIT)
    chosen = {"AP": tuple(range(len(right))), "AP50": (_IOU50,), "AP75": (_IOU75,)}[metric]
    return _average_precision(found, objects_of, chosen)


def _recall(found: _Detections, objects_of: Floats, within_limit: Bools) -> ClassMetric:
    hits_of = np.zeros(found.groups)
    right = found.right & within_limit
    np.add.at(hits_of, np.broadcast_to(found.group, right.shape)[right], 1.0 / len(right))

    def compute(weight: Floats) -> Floats:
        objects = weight @ objects_of
        shares: Floats = np.divide(weight @ hits_of, objects, out=np.full(len(weight), np.nan), where=objects > 0)
        return shares

    return ClassMetric(found.groups, compute)


def _average_precision(found: _Detections, objects_of: Floats, chosen: tuple[int, ...]) -> ClassMetric:
    def compute(weight: Floats) -> Floats:
        objects = weight @ objects_of
        wanted = hits_for_recalls(objects)
        running = _RunningCounts(weight, found.group)
        total = np.zeros(len(weight))
        for threshold in chosen:
            at = np.flatnonzero(found.right[threshold])
            last = np.flatnonzero(np.diff(found.ends[at], append=len(found.ends)))
            hits = np.cumsum(weight[:, found.group[at]], axis=1)[:, last]
            seen = running.of(found.counted[threshold])[:, found.ends[at[last]]]
            total += interpolated_precision(hits, seen, wanted).mean(axis=1)
        return np.where(objects > 0, total / len(chosen), np.nan)

    return ClassMetric(max(len(found.group), found.groups, 101), compute)


def _ends(falling: Floats) -> Ints:
    """Return, for each score, where the last equal one stands."""
    last = np.flatnonzero(np.diff(falling, append=np.nan) != 0)
    ends: Ints = last[np.searchsorted(last, np.arange(len(falling)))]
    return ends


class _RunningCounts:
    """Weighted running counts of detections; keeps the last one, because thresholds mostly count the same ones."""

    def __init__(self, weight: Floats, group: Ints) -> None:
        self._weight = weight
        self._group = group
        self._mask: Bools = np.zeros(0, bool)
        self._sums: Floats = np.zeros((0, 0))

    def of(self, mask: Bools) -> Floats:
        """Return, rows x detections, the weighted count of the detections in `mask` up to and with each."""
        if not np.array_equal(mask, self._mask):
            self._mask, self._sums = mask, np.cumsum(self._weight[:, self._group] * mask, axis=1)
        return self._sums
