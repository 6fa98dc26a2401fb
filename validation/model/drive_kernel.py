"""Average precision of one class under the weights of many resamples at once, in compiled code.

Resamples stand side by side, LANES of them, so that the processor's wide instructions add up a detection for all of
them at once. The sweep goes from the lowest score up: counts shrink, and the best precision so far is COCO's envelope.
"""

from typing import Any, Final

import numba
import numpy as np

LANES: Final = 64
MOST_WEIGHT: Final = 32  # of a group in a resample; sums of SWEEP rows stay within 16 bits
_ROWS_AT_ONCE: Final = 1000
_LANES: Final = np.uint64(LANES)
_NEAR: Final = np.float32(1e-3)  # a recall that misses one of the 101 by rounding reaches it
_LEAST: Final = 2.220446049250313e-16  # as COCO has it below each precision
_VOID, _HITS, _BEST, _REACHED, _SUM, _ROW = (number * LANES for number in range(6))

compiled: Any = numba.njit(cache=True, nogil=True, fastmath={"nsz", "arcp", "contract", "reassoc"})


exactly: Any = numba.njit(cache=True, nogil=True)


@exactly
def exact_precision(part: Any, total: int, recalls: Any) -> float:  # noqa: ANN401 arrays
    """Return the mean over thresholds of AP of one class as it is, in double precision."""
    right, counted, last, thresholds = part
    best = np.empty(len(right) + 1)
    found = 0.0
    for threshold in range(thresholds):
        hits, seen, before = 0, 0, 0
        for row in range(len(right)):
            hits += (right[row] >> threshold) & 1
            seen += (counted[row] >> threshold) & 1
            if last[row] and hits > before:
                best[before:hits] = hits / (seen + _LEAST)
                before = hits
        for at in range(hits - 2, -1, -1):
            best[at] = max(best[at], best[at + 1])
        at = 0
        for wanted in recalls:
            while at < hits and (at + 1) / total < wanted:
                at += 1
            if at == hits:
                break
            found += best[at]
    return found / len(recalls) / thresholds


@compiled
def average_precisions(part: Any, objects: Any, weight: Any, out: Any) -> None:  # noqa: ANN401 arrays
    """Write the mean over thresholds of AP, a number a resample, into `out`; NaN where a resample has no object.

    `part`: group, right, counted and last of a `ClassSweep`, and the number of thresholds; `objects`: how many by
    group. `weight`: blocks of LANES resamples x groups x LANES, int16.
    """
    group, right, counted, last, thresholds = part
    every = (1 << thresholds) - 1
    alone = _alone(counted, last, every)
    counts = _counts((group, right, counted), objects, thresholds)
    totals = np.empty((len(counts), LANES), np.float32)
    state = np.zeros((thresholds, _ROW), np.float32)
    shared = np.zeros(2 * LANES, np.float32)
    pending = np.zeros(LANES, np.int16)
    for block in range(len(weight)):
        for row in range(len(counts)):
            _add_up(counts[row], weight[block], totals[row])
        _start(totals, state, shared, thresholds)
        _sweep(alone, (group, right, counted, last), weight[block], (state, shared, pending))
        for lane in range(LANES):
            total = np.float32(0.0)
            for threshold in range(thresholds):
                total += state[threshold, _SUM + lane] + state[threshold, _BEST + lane]
            out[block, lane] = total / np.float32(101 * thresholds) if totals[0, lane] > 0 else np.nan


@compiled
def _counts(rows: Any, objects: Any, thresholds: int) -> Any:  # noqa: ANN401 arrays
    """Return, by group: objects, what counts at every threshold, and of each threshold hits and what else counts."""
    group, right, counted = rows
    every = (1 << thresholds) - 1
    counts = np.zeros((2 + 2 * thresholds, len(objects)), np.float32)
    counts[0] = objects
    for row in range(len(group)):
        own = group[row]
        if counted[row] == every:
            counts[1, own] += 1
        for threshold in range(thresholds):
            counts[2 + 2 * threshold, own] += (right[row] >> threshold) & 1
            if counted[row] != every:
                counts[3 + 2 * threshold, own] += (counted[row] >> threshold) & 1
    return counts


@compiled
def _add_up(count: Any, weight: Any, total: Any) -> None:  # noqa: ANN401 arrays
    """Write the sum of a count by group, under the weights, into `total`."""
    total[:] = 0.0
    for group in range(len(count)):
        if count[group]:
            for lane in range(LANES):
                total[lane] += count[group] * np.float32(weight[group, lane])


@compiled
def _start(totals: Any, state: Any, shared: Any, thresholds: int) -> None:  # noqa: ANN401 arrays
    for lane in range(LANES):
        shared[lane] = totals[1, lane]
        shared[LANES + lane] = np.float32(100.0) / max(totals[0, lane], np.float32(1.0))
        for threshold in range(thresholds):
            hits = totals[2 + 2 * threshold, lane]
            state[threshold, _HITS + lane] = hits
            state[threshold, _VOID + lane] = totals[3 + 2 * threshold, lane]
            state[threshold, _BEST + lane] = 0.0
            state[threshold, _SUM + lane] = 0.0
            state[threshold, _REACHED + lane] = np.floor(shared[LANES + lane] * hits + _NEAR)


@compiled
def _sweep(alone: Any, rows: Any, weight: Any, at: Any) -> None:  # noqa: ANN401 arrays
    group, right, _counted, last = rows
    state, shared, pending = at
    row = len(group)
    while row > 0:
        row = _take_singles(alone, group, right, weight.ravel(), state, shared, pending, row)
        if row > 0:
            end = row
            row -= 1
            while row > 0 and not last[row - 1]:
                row -= 1
            _take_tied(rows, (row, end), weight, (state, shared))


@compiled
def _take_singles(  # noqa: C901, PLR0913, PLR0917 arrays in a tuple cost more than the sums
    alone: Any,  # noqa: ANN401
    group: Any,  # noqa: ANN401
    right: Any,  # noqa: ANN401
    weight: Any,  # noqa: ANN401
    state: Any,  # noqa: ANN401
    shared: Any,  # noqa: ANN401
    pending: Any,  # noqa: ANN401
    end: int,
) -> int:
    """Take away the detections before `end` that are alone with their score, and return where others come."""
    row = end - 1
    seen = shared[0:LANES]
    while row >= 0 and alone[row]:
        least, found = max(-1, row - _ROWS_AT_ONCE), right[row]
        for lane in range(LANES):
            pending[lane] = 0
        while row > least and alone[row] and right[row] == found:
            at = np.uint64(group[row]) * _LANES
            for lane in range(_LANES):
                pending[lane] += weight[at + lane]
            row -= 1
        if found:
            for threshold in range(len(state)):
                if (found >> threshold) & 1:
                    _take_hits(state[threshold], shared, pending)
        for lane in range(LANES):
            seen[lane] -= np.float32(pending[lane])
    return row + 1


@compiled
def _alone(counted: Any, last: Any, every: int) -> Any:  # noqa: ANN401 arrays
    """Return which detections are alone with their score, and count at every threshold."""
    alone = np.zeros(len(counted), np.bool_)
    for row in range(len(counted)):
        alone[row] = last[row] and (row == 0 or last[row - 1]) and counted[row] == every
    return alone


@compiled
def _take_seen(seen: Any, weight: Any) -> None:  # noqa: ANN401 arrays
    for lane in range(LANES):
        seen[lane] -= np.float32(weight[lane])


@compiled
def _take_void(state: Any, counted: int, weight: Any) -> None:  # noqa: ANN401 arrays
    """Take away a detection that only counts at some thresholds."""
    for threshold in range(len(state)):
        if (counted >> threshold) & 1:
            _take_seen(state[threshold, _VOID : _VOID + LANES], weight)


@compiled
def _take_hits(row: Any, shared: Any, weight: Any) -> None:  # noqa: ANN401 arrays
    """Look at the precision with hits that follow one another, where it is best at their end; then take them away."""
    for lane in range(LANES):
        hits = row[_HITS + lane]
        best = max(row[_BEST + lane], hits / max(shared[lane] + row[_VOID + lane], np.float32(1.0)))
        hits -= np.float32(weight[lane])
        reached = np.floor(shared[LANES + lane] * hits + _NEAR)
        row[_SUM + lane] += best * (row[_REACHED + lane] - reached)
        row[_HITS + lane] = hits
        row[_BEST + lane] = best
        row[_REACHED + lane] = reached


@compiled
def _take_tied(rows: Any, turn: Any, weight: Any, at: Any) -> None:  # noqa: ANN401 arrays
    """Look at the precision with all detections of one score, then take them away together."""
    group, right, counted, _last = rows
    begin, end = turn
    state, shared = at
    every = (1 << len(state)) - 1
    for threshold in range(len(state)):
        row, hits = state[threshold], 0
        for one in range(begin, end):
            hits += (right[one] >> threshold) & 1
        if hits:
            _look(row, shared)
            for one in range(begin, end):
                if (right[one] >> threshold) & 1:
                    _take_seen(row[_HITS : _HITS + LANES], weight[group[one]])
            _reach(row, shared)
    for one in range(begin, end):
        if counted[one] == every:
            _take_seen(shared[0:LANES], weight[group[one]])
        else:
            _take_void(state, int(counted[one]), weight[group[one]])


@compiled
def _look(row: Any, shared: Any) -> None:  # noqa: ANN401 arrays
    for lane in range(LANES):
        seen = max(shared[lane] + row[_VOID + lane], np.float32(1.0))
        row[_BEST + lane] = max(row[_BEST + lane], row[_HITS + lane] / seen)


@compiled
def _reach(row: Any, shared: Any) -> None:  # noqa: ANN401 arrays
    for lane in range(LANES):
        reached = np.floor(shared[LANES + lane] * row[_HITS + lane] + _NEAR)
        row[_SUM + lane] += row[_BEST + lane] * (row[_REACHED + lane] - reached)
        row[_REACHED + lane] = reached
