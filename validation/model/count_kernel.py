"""Average precision and recall of every class, size and threshold, from matches; compiled."""

from typing import Any, NamedTuple

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, nogil=True)
_LEAST = 2.220446049250313e-16


class ByScore(NamedTuple):
    """Rows of detections by class and falling score: those of class k are at start[k] up to start[k + 1].

    `counts` tells by frame whether it counts; `as_group`: detections of one score come in together.
    """

    rows: Any
    start: Any
    frame: Any
    score: Any
    rank: Any
    counts: Any
    as_group: bool


class Sums(NamedTuple):
    """Sizes x classes x thresholds; NaN where there is no object. `early` is limits x classes x thresholds."""

    precision: Any
    recall: Any
    early: Any


@compiled
def count_all(found: ByScore, right: Any, void: Any, objects: Any, asked: Any) -> Sums:  # noqa: ANN401 arrays
    """Return what the detections are worth; `objects` is sizes x classes, `asked` thresholds, recalls and limits."""
    thresholds, recalls, limits = asked
    sizes, classes = objects.shape
    precision, recall = np.full((sizes, classes, thresholds), np.nan), np.full((sizes, classes, thresholds), np.nan)
    early = np.full((len(limits), classes, thresholds), np.nan)
    most = len(found.rows)
    rows, hit, out = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    best = np.empty(most + 1)
    for label in range(classes):
        count = _counted(found, label, rows)
        for size in range(sizes):
            total = objects[size, label]
            if total > 0:
                for at in range(count):
                    hit[at], out[at] = right[size, rows[at]], void[size, rows[at]]
                for threshold in range(thresholds):
                    hits = _precisions(found, rows[:count], hit, out, threshold, best)
                    precision[size, label, threshold] = _mean(best, hits, total, recalls)
                    recall[size, label, threshold] = hits / total
                if size == 0:
                    _early(found.rank, rows[:count], hit, limits, early[:, label], total)
    return Sums(precision, recall, early)


@compiled
def _counted(found: ByScore, label: int, rows: Any) -> int:  # noqa: ANN401 an array
    """Write the rows of a class that lie in frames that count, by falling score; return how many there are."""
    count = 0
    for at in range(found.start[label], found.start[label + 1]):
        row = found.rows[at]
        if found.counts[found.frame[row]]:
            rows[count] = row
            count += 1
    return count


@compiled
def _precisions(found: ByScore, rows: Any, hit: Any, out: Any, threshold: int, best: Any) -> int:  # noqa: ANN401
    """Write the best precision from each hit on into `best`; return how many hits there are."""
    hits, seen, before = 0, 0, 0
    for at in range(len(rows)):
        seen += 1 - ((out[at] >> threshold) & 1)
        if (hit[at] >> threshold) & 1:
            hits += 1
            if not found.as_group:
                best[hits - 1] = hits / (seen + _LEAST)
        if found.as_group and hits > before and _is_last(found.score, rows, at):
            best[before:hits] = hits / (seen + _LEAST)
            before = hits
    for at in range(hits - 2, -1, -1):
        best[at] = max(best[at], best[at + 1])
    return hits


@compiled
def _is_last(score: Any, rows: Any, at: int) -> bool:  # noqa: ANN401 arrays
    return at + 1 == len(rows) or score[rows[at + 1]] != score[rows[at]]


@compiled
def _mean(best: Any, hits: int, total: int, recalls: Any) -> float:  # noqa: ANN401 arrays
    total_precision, at = 0.0, 0
    for wanted in recalls:
        while at < hits and (at + 1) / total < wanted:
            at += 1
        if at == hits:
            break
        total_precision += best[at]
    return total_precision / len(recalls)


@compiled
def _early(rank: Any, rows: Any, hit: Any, limits: Any, early: Any, total: int) -> None:  # noqa: ANN401
    """Write the recall by the first few detections of each frame: limits x thresholds."""
    for number in range(len(limits)):
        for threshold in range(early.shape[1]):
            hits = 0
            for at in range(len(rows)):
                if rank[rows[at]] < limits[number]:
                    hits += (hit[at] >> threshold) & 1
            early[number, threshold] = hits / total
