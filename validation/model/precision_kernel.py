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


class Values(NamedTuple):
    """The number of the value of each box, -1 where it has none; `every`: what was given nothing is of every value."""

    of_truth: Any
    of_detected: Any
    every: bool


class _Slots(NamedTuple):
    """The hits of one class, value by value: those of value v stand at first[v] up to first[v + 1]."""

    first: Any
    precision: Any
    hits: Any  # so far, by value
    wrong: Any
    pending: Any  # slots and values of the hits of one score
    pending_value: Any


@compiled
def mean_by_value(found: Sorted, values: Values, asked: Asked) -> Any:  # noqa: ANN401 an array
    """Return average precision, values x classes, at the first threshold; `asked.objects` is values x classes."""
    count, classes = asked.objects.shape
    mean = np.full((count, classes), np.nan)
    for label in range(classes):
        slots = _slots(found, values, label, count)
        _fill_slots(found, values, label, slots)
        for value in range(count):
            if asked.objects[value, label] > 0:
                best = slots.precision[slots.first[value] : slots.first[value + 1]]
                mean[value, label] = _mean_of_hits(best, asked.objects[value, label], asked.recalls)
    return mean


@compiled
def _slots(found: Sorted, values: Values, label: int, count: int) -> _Slots:
    given, first = found.given[0], np.zeros(count + 1, np.int64)
    for at in range(found.start[label], found.start[label + 1]):
        object_row = given[found.rows[at]]
        if object_row >= 0 and found.counts[object_row] and values.of_truth[object_row] >= 0:
            first[values.of_truth[object_row] + 1] += 1
    first = np.cumsum(first)
    total = first[-1]
    numbers, pending, pending_value = np.zeros(count, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    return _Slots(first, np.empty(total), numbers, np.zeros(count, np.int64), pending, pending_value)


@compiled
def _fill_slots(found: Sorted, values: Values, label: int, slots: _Slots) -> None:
    """Write the precision at each hit; those of one score come in together, with all that is wrong at it."""
    given, everywhere, waiting, last = found.given[0], 0, 0, found.start[label + 1]
    for at in range(found.start[label], last):
        row = found.rows[at]
        if given[row] < 0:
            if values.every:
                everywhere += 1
            elif values.of_detected[row] >= 0:
                slots.wrong[values.of_detected[row]] += 1
        elif found.counts[given[row]] and values.of_truth[given[row]] >= 0:
            value = values.of_truth[given[row]]
            slots.pending[waiting], slots.pending_value[waiting] = slots.first[value] + slots.hits[value], value
            slots.hits[value] += 1
            waiting += 1
        if waiting and (at + 1 == last or found.score[found.rows[at + 1]] != found.score[row]):
            for number in range(waiting):
                value = slots.pending_value[number]
                seen = slots.hits[value] + slots.wrong[value] + everywhere
                slots.precision[slots.pending[number]] = slots.hits[value] / (seen + _LEAST)
            waiting = 0


@compiled
def _mean_of_hits(best: Any, objects: int, recalls: Any) -> float:  # noqa: ANN401 arrays
    for at in range(len(best) - 2, -1, -1):  # the best from here on
        best[at] = max(best[at], best[at + 1])
    total, at = 0.0, 0
    for wanted in recalls:
        while at < len(best) and (at + 1) / objects < wanted:
            at += 1
        if at == len(best):
            break
        total += best[at]
    return total / len(recalls)
