"""Average precision of one class under the weights of many resamples at once, in compiled code.

Resamples stand side by side, LANES of them, so that the processor's wide instructions add up a detection for all of
them at once. The sweep goes from the lowest score up: counts shrink, and the best precision so far is COCO's envelope.
"""

from typing import Any, Final

import numba
import numpy as np

LANES: Final = 64
_ROWS_AT_ONCE: Final = 1000  # no group is drawn 33 times in a resample, so that their sums stay within 16 bits
_LANES: Final = np.uint64(LANES)
_NEAR: Final = np.float32(1e-3)  # a recall that misses one of the 101 by rounding reaches it
_LEAST: Final = 2.220446049250313e-16  # as COCO has it below each precision
_HITS, _VOID, _BEST, _SUM, _ROW = (number * LANES for number in range(5))  # of a threshold
_SEEN, _SCALE, _INVERSE = (number * LANES for number in range(3))  # of all thresholds
_AT_VOID, _AT_BEST, _AT_SUM, _AT_SCALE, _AT_INVERSE = (
    np.uint64(place) for place in (_VOID, _BEST, _SUM, _SCALE, _INVERSE)
)
_ONE: Final = np.uint64(1)
_MOST_THRESHOLDS: Final = 10
_ROW_OF: Final = np.array(
    [_ROW * max((bits & -bits).bit_length() - 1, 0) for bits in range(1 << _MOST_THRESHOLDS)], np.uint64
)
"""Where the state of the lowest threshold of some bits begins."""

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


@exactly
def grouped(rows: Any, start: Any, group_of_frame: Any) -> Any:  # noqa: ANN401 arrays
    """Return the rows of a `Sweep` whose frames have a group: group, right, counted and last as in `ClassSweep`.

    `rows`: frame, tied, right and counted. The last array returned is where each class begins, and where the score of
    its last hit ends.
    """
    frame, tied, right, counted = rows
    group, last = np.empty(len(frame), np.int32), np.zeros(len(frame), np.bool_)
    hit, seen = np.empty(len(frame), np.uint16), np.empty(len(frame), np.uint16)
    bounds, count = np.zeros((len(start) - 1, 2), np.int64), 0
    score = 0  # scores are counted, not told
    for label in range(len(start) - 1):
        first, end, before, of_hit = count, count, -1, -1
        for row in range(start[label], start[label + 1]):
            score += not tied[row]
            own = group_of_frame[frame[row]]
            if own >= 0:
                if count > first:
                    last[count - 1] = score != before
                group[count], hit[count], seen[count], before = own, right[row], counted[row], score
                count += 1
                of_hit = score if right[row] else of_hit
                end = count if score == of_hit else end
        if count > first:
            last[count - 1] = True
        bounds[label] = first, end
    return group[:count], hit[:count], seen[:count], last[:count], bounds


@compiled
def average_precisions(part: Any, objects: Any, weight: Any, out: Any) -> None:  # noqa: ANN401 arrays
    """Write the mean over thresholds of AP, a number a resample, into `out`; NaN where a resample has no object.

    `part`: group, right, counted and last of a `ClassSweep`, and the number of thresholds; `objects`: how many by
    group. `weight`: blocks of LANES resamples x groups x LANES, int16.
    """
    group, right, counted, last, thresholds = part
    alone, shared = _kinds(counted, last, (1 << thresholds) - 1)
    counts = _counts((group, right, counted), objects, thresholds)
    totals = np.empty((len(counts), LANES), np.float32)
    room = _aligned(thresholds * _ROW + 3 * LANES)
    state, common = room[: thresholds * _ROW], room[thresholds * _ROW :]
    pending = np.zeros(LANES, np.int16)
    for block in range(len(weight)):
        for row in range(len(counts)):
            _add_up(counts[row], weight[block], totals[row])
        _start(totals, state, common, thresholds)
        _sweep((group, right, counted, last), (alone, shared), weight[block].ravel(), (state, common, pending))
        for lane in range(LANES):
            total = np.float32(0.0)
            for threshold in range(thresholds):
                total += state[threshold * _ROW + _SUM + lane]
            out[block, lane] = total / np.float32(101 * thresholds) if totals[0, lane] > 0 else np.nan


@compiled
def _aligned(count: int) -> Any:  # noqa: ANN401 an array
    """Return room for numbers that wide instructions read without a line of the cache between their parts."""
    room = np.zeros(count + 16, np.float32)
    first = (-room.ctypes.data % 64) // 4
    return room[first : first + count]


@compiled
def _kinds(counted: Any, last: Any, every: int) -> Any:  # noqa: ANN401 arrays, and a pair
    """Return which detections are alone with their score and count at every threshold, and if all count so or never."""
    alone, shared = np.zeros(len(counted), np.bool_), True
    for row in range(len(counted)):
        alone[row] = last[row] and (row == 0 or last[row - 1]) and counted[row] == every
        shared = shared and (counted[row] == every or counted[row] == 0)
    return alone, shared


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
def _start(totals: Any, state: Any, common: Any, thresholds: int) -> None:  # noqa: ANN401 arrays
    for lane in range(LANES):
        common[_SEEN + lane] = totals[1, lane]
        common[_SCALE + lane] = np.float32(100.0) / max(totals[0, lane], np.float32(1.0))
        for threshold in range(thresholds):
            row = threshold * _ROW + lane
            state[row + _HITS] = totals[2 + 2 * threshold, lane]
            state[row + _VOID] = totals[3 + 2 * threshold, lane]
            state[row + _BEST], state[row + _SUM] = 0.0, 0.0


@compiled
def _sweep(rows: Any, kinds: Any, weight: Any, at: Any) -> None:  # noqa: ANN401 arrays
    group, right, _counted, last = rows
    alone, shared = kinds
    state, common, pending = at
    row = len(group)
    while row > 0:
        row = _take_singles(alone, group, right, weight, state, common, pending, row, shared)
        if row > 0:
            end = row
            row -= 1
            while row > 0 and not last[row - 1]:
                row -= 1
            _take_tied(rows, (row, end), weight, state, common)


@compiled
def _take_singles(  # noqa: C901, PLR0913, PLR0917 arrays in a tuple cost more than the sums
    alone: Any,  # noqa: ANN401
    group: Any,  # noqa: ANN401
    right: Any,  # noqa: ANN401
    weight: Any,  # noqa: ANN401
    state: Any,  # noqa: ANN401
    common: Any,  # noqa: ANN401
    pending: Any,  # noqa: ANN401
    end: int,
    shared: bool,
) -> int:
    """Take away the detections before `end` that are alone with their score, and return where others come."""
    row, before = end - 1, np.uint64(0)
    while row >= 0 and alone[row]:
        least, found = max(-1, row - _ROWS_AT_ONCE), right[row]
        for lane in range(LANES):
            pending[lane] = 0
        while row > least and alone[row] and right[row] == found:
            at = np.uint64(group[row]) * _LANES
            for lane in range(_LANES):
                pending[lane] += weight[at + lane]
            row -= 1
        hits = np.uint64(found)
        if hits & ~before and shared:
            for lane in range(LANES):
                common[_INVERSE + lane] = np.float32(1.0) / max(common[lane], np.float32(1.0))
        left = hits
        while left:
            base = _ROW_OF[left]
            lowest = left & (~left + _ONE)
            left ^= lowest
            if lowest & before:  # more hits right after hits: precision was better with those
                _take(state, base, pending, np.uint64(0))
            elif shared:
                _look_shared(state, base, common, pending)
            else:
                _look(state, base, common)
                _take(state, base, pending, np.uint64(0))
        for lane in range(LANES):
            common[lane] -= np.float32(pending[lane])
        before = hits
    return row + 1


@compiled
def _take(state: Any, base: Any, weight: Any, at: Any) -> None:  # noqa: ANN401 arrays and places
    for lane in range(_LANES):
        state[base + lane] -= np.float32(weight[at + lane])


@compiled
def _look_shared(state: Any, base: Any, common: Any, weight: Any) -> None:  # noqa: ANN401 arrays and a place
    """Look at the precision where every threshold has seen the same detections, then take hits away."""
    for lane in range(_LANES):
        hits, best = state[base + lane], state[base + lane + _AT_BEST]
        more = max(hits * common[lane + _AT_INVERSE] - best, np.float32(0.0))
        reached = np.floor(common[lane + _AT_SCALE] * hits + _NEAR) + np.float32(1.0)
        state[base + lane + _AT_SUM] += more * reached
        state[base + lane + _AT_BEST] = best + more
        state[base + lane] = hits - np.float32(weight[lane])


@compiled
def _look(state: Any, base: Any, common: Any) -> None:  # noqa: ANN401 arrays and a place
    """Look at the precision of one threshold."""
    for lane in range(_LANES):
        hits, best = state[base + lane], state[base + lane + _AT_BEST]
        seen = max(common[lane] + state[base + lane + _AT_VOID], np.float32(1.0))
        more = max(hits / seen - best, np.float32(0.0))
        reached = np.floor(common[lane + _AT_SCALE] * hits + _NEAR) + np.float32(1.0)
        state[base + lane + _AT_SUM] += more * reached
        state[base + lane + _AT_BEST] = best + more


@compiled
def _take_tied(rows: Any, turn: Any, weight: Any, state: Any, common: Any) -> None:  # noqa: ANN401 arrays
    """Look at the precision with all detections of one score, then take them away together."""
    group, right, counted, _last = rows
    thresholds = len(state) // _ROW
    every = (1 << thresholds) - 1
    for threshold in range(thresholds):
        base, looked = np.uint64(threshold * _ROW), False
        for one in range(turn[0], turn[1]):
            if (right[one] >> threshold) & 1:
                if not looked:
                    _look(state, base, common)
                    looked = True
                _take(state, base, weight, np.uint64(group[one]) * _LANES)
    for one in range(turn[0], turn[1]):
        at = np.uint64(group[one]) * _LANES
        if counted[one] == every:
            _take(common, np.uint64(0), weight, at)
        elif counted[one]:
            _take_void(state, int(counted[one]), weight, at)


@compiled
def _take_void(state: Any, counted: int, weight: Any, at: Any) -> None:  # noqa: ANN401 arrays and a place
    """Take away a detection that only counts at some thresholds."""
    for threshold in range(len(state) // _ROW):
        if (counted >> threshold) & 1:
            _take(state, np.uint64(threshold * _ROW + _VOID), weight, at)
