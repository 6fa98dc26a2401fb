"""Sort boxes by class and frame without comparing them, compiled."""

from typing import Any

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, nogil=True)


@compiled
def stable_order(codes: Any, size: int, rows: Any) -> Any:  # noqa: ANN401 arrays
    """Return `rows` sorted by their code, from 0 to under `size`; rows of one code stay in the order they have."""
    start = np.zeros(size + 1, np.int64)
    for code in codes:
        start[code + 1] += 1
    for code in range(size):
        start[code + 1] += start[code]
    order = np.empty(len(rows), np.int64)
    for row in rows:
        order[start[codes[row]]] = row
        start[codes[row]] += 1
    return order


@compiled
def starts(codes: Any, size: int) -> Any:  # noqa: ANN401 arrays
    """Return where each code begins in sorted rows, and at last how many rows there are."""
    start = np.zeros(size + 1, np.int64)
    for code in codes:
        start[code + 1] += 1
    for code in range(size):
        start[code + 1] += start[code]
    return start


@compiled
def placed(place: Any, values: Any) -> Any:  # noqa: ANN401 arrays
    """Return the rows of `values` at their places; to read in order and write in many is faster than the reverse."""
    moved = np.empty_like(values)
    for row in range(len(place)):
        moved[place[row]] = values[row]
    return moved


@compiled
def placed_rows(place: Any, values: Any) -> Any:  # noqa: ANN401 arrays
    """Return the rows of `values`, of several columns, at their places."""
    moved = np.empty_like(values)
    for row in range(len(place)):
        for column in range(values.shape[1]):
            moved[place[row], column] = values[row, column]
    return moved


@compiled
def settle(order: Any, first: Any, second: Any, third: Any, values: Any) -> None:  # noqa: ANN401 arrays
    """Sort by `values` (rows x columns), in place, each stretch of `order` that has one first, second and third key."""
    begin = 0
    while begin < len(order):
        one = order[begin]
        end = begin + 1
        while end < len(order):
            other = order[end]
            if first[other] != first[one] or second[other] != second[one] or third[other] != third[one]:
                break
            end += 1
        if end - begin > 1:
            _sort_heap(order, begin, end - begin, values)
        begin = end


@compiled
def _sort_heap(order: Any, begin: int, count: int, values: Any) -> None:  # noqa: ANN401 arrays
    for top in range(count // 2 - 1, -1, -1):
        _sift(order, begin, top, count, values)
    for last in range(count - 1, 0, -1):
        order[begin], order[begin + last] = order[begin + last], order[begin]
        _sift(order, begin, 0, last, values)


@compiled
def _sift(order: Any, begin: int, top: int, count: int, values: Any) -> None:  # noqa: ANN401 arrays
    while 2 * top + 1 < count:
        child = 2 * top + 1
        if child + 1 < count and _less(values, order[begin + child], order[begin + child + 1]):
            child += 1
        if not _less(values, order[begin + top], order[begin + child]):
            return
        order[begin + top], order[begin + child] = order[begin + child], order[begin + top]
        top = child


@compiled
def _less(values: Any, row: int, other: int) -> bool:  # noqa: ANN401 arrays
    for column in range(values.shape[1]):
        if values[row, column] != values[other, column]:
            return bool(values[row, column] < values[other, column])
    return False


@compiled
def ranks(label: Any, frame: Any, score: Any, as_group: bool) -> Any:  # noqa: ANN401 arrays
    """Return how many rows of the same class and frame stand before each; rows of one score have one rank `as_group`.

    Rows are sorted by class, frame and falling score.
    """
    rank = np.zeros(len(label), np.int32)
    first = 0
    for at in range(1, len(label)):
        if label[at] != label[at - 1] or frame[at] != frame[at - 1]:
            first = at
        elif as_group and score[at] == score[at - 1]:
            rank[at] = rank[at - 1]
        else:
            rank[at] = at - first
    return rank
