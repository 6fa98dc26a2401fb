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


class Cells(NamedTuple):
    """The cell of each object, and the stated part of that of each detection; -1: it is in none.

    A cell is one value of each of several dimensions: `unsaid` cells of one stated part follow one another. What was
    given nothing is in all of them, because no model says more of it.
    """

    of_truth: Any
    of_detected: Any
    unsaid: int


class CellSums(NamedTuple):
    """Thresholds x cells x classes, and limits before that for recall; NaN where there is no object."""

    mean: Any
    recall: Any


class _Slots(NamedTuple):
    """The hits of one class, cell by cell: those of cell c stand at first[c] up to first[c + 1]."""

    first: Any
    precision: Any
    hits: Any  # so far, by cell
    wrong: Any  # so far, by stated part
    pending: Any  # slots and cells of the hits of one score
    pending_cell: Any
    within: Any  # limits x cells: hits within each limit


@compiled
def sums_by_cell(found: Sorted, cells: Cells, asked: Asked) -> CellSums:
    """Return what the detections are worth in each cell at each threshold; `asked.objects` is cells x classes."""
    count, classes = asked.objects.shape
    mean = np.full((len(found.given), count, classes), np.nan)
    recall = np.full((len(asked.limits), len(found.given), count, classes), np.nan)
    for threshold in range(len(found.given)):
        for label in range(classes):
            if asked.objects[:, label].any():
                slots = _slots(found, cells, (threshold, label), count, len(asked.limits))
                _fill_slots(found, cells, (threshold, label), asked.limits, slots)
                for cell in range(count):
                    objects = asked.objects[cell, label]
                    if objects > 0:
                        best = slots.precision[slots.first[cell] : slots.first[cell + 1]]
                        mean[threshold, cell, label] = _mean_of_hits(best, objects, asked.recalls)
                        for limit in range(len(asked.limits)):
                            recall[limit, threshold, cell, label] = slots.within[limit, cell] / objects
    return CellSums(mean, recall)


@compiled
def _slots(found: Sorted, cells: Cells, place: Any, count: int, limits: int) -> _Slots:  # noqa: ANN401 two numbers
    threshold, label = place
    given, first = found.given[threshold], np.zeros(count + 1, np.int64)
    for at in range(found.start[label], found.start[label + 1]):
        object_row = given[found.rows[at]]
        if object_row >= 0 and cells.of_truth[object_row] >= 0:
            first[cells.of_truth[object_row] + 1] += 1
    first = np.cumsum(first)
    total = first[-1]
    hits, wrong = np.zeros(count, np.int64), np.zeros(count // cells.unsaid, np.int64)
    pending, pending_cell = np.empty(total, np.int64), np.empty(total, np.int64)
    return _Slots(first, np.empty(total), hits, wrong, pending, pending_cell, np.zeros((limits, count), np.int64))


@compiled
def _fill_slots(found: Sorted, cells: Cells, place: Any, limits: Any, slots: _Slots) -> None:  # noqa: ANN401
    """Write the precision at each hit; those of one score come in together, with all that is wrong at it."""
    threshold, label = place
    given, waiting, last = found.given[threshold], 0, found.start[label + 1]
    for at in range(found.start[label], last):
        row = found.rows[at]
        if given[row] < 0:
            if cells.of_detected[row] >= 0:
                slots.wrong[cells.of_detected[row]] += 1
        elif cells.of_truth[given[row]] >= 0:
            cell = cells.of_truth[given[row]]
            slots.pending[waiting], slots.pending_cell[waiting] = slots.first[cell] + slots.hits[cell], cell
            slots.hits[cell] += 1
            waiting += 1
            for limit in range(len(limits)):
                slots.within[limit, cell] += found.rank[row] < limits[limit]
        if waiting and (at + 1 == last or found.score[found.rows[at + 1]] != found.score[row]):
            for number in range(waiting):
                cell = slots.pending_cell[number]
                seen = slots.hits[cell] + slots.wrong[cell // cells.unsaid]
                slots.precision[slots.pending[number]] = slots.hits[cell] / (seen + _LEAST)
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
