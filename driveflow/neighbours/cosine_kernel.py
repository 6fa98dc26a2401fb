"""Cosine distances in compiled code: summed in doubles in one fixed order, in steps of 1e-6."""

from typing import Any, Final, NamedTuple

import numba
import numpy as np

from driveflow.neighbours.cosine import STEPS, Floats, Ints, Vectors

compiled: Any = numba.njit(cache=True, nogil=True)
_in_any_order: Any = numba.njit(cache=True, nogil=True, fastmath=True)  # for bounds only: they have room to err
_FARTHEST: Final = 2.0


class Space(NamedTuple):
    """Rows, and the coordinates whose products bound their cosines, but for `spare`."""

    vectors: Vectors
    coordinates: Vectors
    spare: float


class Choice(NamedTuple):
    """The centres so far; of each row how many of them it was compared with and how far the nearest of those is."""

    centres: Ints
    compared: Ints
    nearest: Floats


@compiled
def distance(left: Any, right: Any) -> float:  # noqa: ANN401 rows
    """Return 1 - cosine of two rows of length 1, from 0 to 2; it is 1 where either is all zeros."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    whole = len(left) // 4 * 4
    for at in range(0, whole, 4):  # four sums, because a processor adds four at a time
        one += np.float64(left[at]) * np.float64(right[at])
        two += np.float64(left[at + 1]) * np.float64(right[at + 1])
        three += np.float64(left[at + 2]) * np.float64(right[at + 2])
        four += np.float64(left[at + 3]) * np.float64(right[at + 3])
    for at in range(whole, len(left)):
        one += np.float64(left[at]) * np.float64(right[at])
    steps = np.floor((1.0 - ((one + two) + (three + four))) * STEPS + 0.5)
    return min(max(steps / STEPS, 0.0), _FARTHEST)


@compiled
def distances(vectors: Vectors, left: Ints, right: Ints) -> Floats:
    """Return the cosine distance of each pair of rows."""
    found = np.empty(len(left), np.float64)
    for pair in range(len(left)):
        found[pair] = distance(vectors[left[pair]], vectors[right[pair]])
    return found


@compiled
def come_closer(asking: Vectors, others: Vectors, bounds: Vectors, spare: float, nearest: Floats) -> None:
    """Put the distances of each of `asking` to `others` into its row of `nearest`, which holds the least, sorted."""
    last = nearest.shape[1] - 1
    for item in range(len(asking)):
        for other in range(len(others)):
            if 1.0 - bounds[item, other] - spare < nearest[item, last]:
                apart, at = distance(asking[item], others[other]), last
                if apart < nearest[item, last]:
                    while at > 0 and nearest[item, at - 1] > apart:
                        nearest[item, at] = nearest[item, at - 1]
                        at -= 1
                    nearest[item, at] = apart


@_in_any_order
def _product(left: Any, right: Any) -> float:  # noqa: ANN401
    total = np.float32(0)
    for at in range(len(left)):
        total += left[at] * right[at]
    return total


@compiled
def choose(space: Space, choice: Choice, given: int) -> Floats:
    """Fill the centres from `given` on with the row farthest from all before it each time; return how far it was.

    A row is compared with further centres only while it may be the farthest.
    """
    centres, nearest = choice.centres, choice.nearest
    radius = np.empty(len(centres), np.float64)
    for step in range(given, len(centres)):
        best, farthest = -1, -1.0
        for row in range(len(nearest)):
            if nearest[row] > farthest:
                best, farthest = row, nearest[row]
        _compare(best, -1.0, step, space, choice)
        farthest = nearest[best]
        for row in range(len(nearest)):
            if nearest[row] > farthest or (nearest[row] == farthest and row < best):
                _compare(row, farthest, step, space, choice)
                if nearest[row] > farthest or (nearest[row] == farthest and row < best):
                    best, farthest = row, nearest[row]
        centres[step], radius[step], nearest[best] = best, farthest, -1.0
    return radius


@compiled
def _compare(row: int, farthest: float, step: int, space: Space, choice: Choice) -> None:
    """Compare a row with the centres it has not seen, until it cannot be the farthest."""
    compared, nearest = choice.compared, choice.nearest
    while compared[row] < step and nearest[row] >= farthest:
        centre = choice.centres[compared[row]]
        bound = 1.0 - _product(space.coordinates[row], space.coordinates[centre]) - space.spare
        if bound < nearest[row]:
            nearest[row] = min(nearest[row], distance(space.vectors[row], space.vectors[centre]))
        compared[row] += 1
