"""Average precision and recall of every class and threshold in one pass over sorted detections, compiled."""

from typing import Any, NamedTuple

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, nogil=True)
_LEAST = 2.220446049250313e-16  # COCO adds it to the number of detections


class Sorted(NamedTuple):
    """Detections by class and falling score: `rows` of class k stand at start[k] up to start[k + 1]."""

    rows: Any
    start: Any
    score: Any  # by detection, as are the next three
    rank: Any  # within the class of the frame
    given: Any  # thresholds x detections: the row of the truth, -1: none
    alone: Any  # counts as wrong where it was given nothing
    counts: Any  # by truth: counts as right where it was found


class Asked(NamedTuple):
    """What is wanted: objects of each class, recalls to take precision at, detections that count for recall."""

    objects: Any
    recalls: Any
    limits: Any


class Sums(NamedTuple):
    """Thresholds x classes; NaN where there is no object."""

    mean: Any  # of the best precision at or beyond each of the wanted recalls
    area: Any  # under the best precision at or beyond each recall
    recall: Any  # limits x thresholds x classes


class _Points(NamedTuple):
    """Recall and precision after each score at which something was found; and what was found within each limit."""

    share: Any
    precision: Any
    within: Any


@compiled
def sums(found: Sorted, asked: Asked) -> Sums:
    """Return what the detections are worth. Detections of one score come in together: their order cannot matter."""
    thresholds, classes = len(found.given), len(asked.objects)
    mean, area = np.full((thresholds, classes), np.nan), np.full((thresholds, classes), np.nan)
    recall = np.full((len(asked.limits), thresholds, classes), np.nan)
    longest = 0
    for label in range(classes):
        longest = max(longest, found.start[label + 1] - found.start[label])
    points = _Points(np.empty(longest + 1), np.empty(longest + 1), np.empty(len(asked.limits), np.int64))
    for threshold in range(thresholds):
        for label in range(classes):
            if asked.objects[label] > 0:
                count = _write_points(found, asked, threshold, label, points)
                mean[threshold, label] = _mean(points, count, asked.recalls)
                area[threshold, label] = _area(points, count)
                recall[:, threshold, label] = points.within / asked.objects[label]
    return Sums(mean, area, recall)


@compiled
def _write_points(found: Sorted, asked: Asked, threshold: int, label: int, points: _Points) -> int:
    """Write the points of one class at one threshold; return how many there are."""
    given = found.given[threshold]
    points.within[:] = 0
    count, hits, seen, before, last = 0, 0, 0, 0, found.start[label + 1]
    for at in range(found.start[label], last):
        row = found.rows[at]
        if given[row] < 0:
            seen += found.alone[row]
        elif found.counts[given[row]]:
            seen += 1
            hits += 1
            for number in range(len(asked.limits)):
                points.within[number] += found.rank[row] < asked.limits[number]
        if hits > before and (at + 1 == last or found.score[found.rows[at + 1]] != found.score[row]):
            points.share[count], points.precision[count] = hits / asked.objects[label], hits / (seen + _LEAST)
            count, before = count + 1, hits
    for at in range(count - 2, -1, -1):  # the best from here on
        points.precision[at] = max(points.precision[at], points.precision[at + 1])
    return count


@compiled
def _mean(points: _Points, count: int, recalls: Any) -> float:  # noqa: ANN401 an array
    total, at = 0.0, 0
    for wanted in recalls:
        while at < count and points.share[at] < wanted:
            at += 1
        if at == count:
            break
        total += points.precision[at]
    return total / len(recalls)


@compiled
def _area(points: _Points, count: int) -> float:
    total, before = 0.0, 0.0
    for at in range(count):
        total += (points.share[at] - before) * points.precision[at]
        before = points.share[at]
    return total
