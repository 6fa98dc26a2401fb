"""Cosine distances in compiled code: summed in doubles in one fixed order, in steps of 1e-6."""

from typing import Any, Final, NamedTuple

import numba
import numpy as np

from driveflow.neighbours.cosine import STEPS, Floats, Ints, Vectors
from driveflow.neighbours.leader_rows import Mask, Pairs

compiled: Any = numba.njit(cache=True, nogil=True)
_in_any_order: Any = numba.njit(cache=True, nogil=True, fastmath=True)  # for bounds only: they have room to err
_FARTHEST: Final = 2.0
STAGE: Final = 16


class Space(NamedTuple):
    """Rows, their first coordinates in steps of `STAGE`, and how long what is left out of a row is after each step."""

    vectors: Vectors
    coordinates: Vectors
    left_out: Vectors
    spare: float


class Followed(NamedTuple):
    """Whom each item follows, itself where it leads, how far apart they are, and whether it leads."""

    leader: Ints
    distance: Floats
    leads: Mask


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


@_in_any_order
def _product(left: Any, right: Any) -> float:  # noqa: ANN401
    total = np.float32(0)
    for at in range(len(left)):
        total += left[at] * right[at]
    return total


@compiled
def distances(vectors: Vectors, left: Ints, right: Ints, limit: float, spare: float) -> Floats:
    """Return the cosine distance of each pair of rows, and infinity where it is over `limit`."""
    found = np.full(len(left), np.inf)
    for pair in range(len(left)):
        one, other = vectors[left[pair]], vectors[right[pair]]
        if 1.0 - _product(one, other) - spare <= limit:
            apart = distance(one, other)
            if apart <= limit:
                found[pair] = apart
    return found


@compiled
def decide(first: int, named: Pairs, spared: Mask, found: Followed) -> None:
    """Let each item from `first` on lead or follow the nearest leader that is named to it, of several the first."""
    for asked in range(len(named.starts) - 1):
        item, best, nearest = first + asked, -1, np.inf
        for at in range(named.starts[asked], named.starts[asked + 1]):
            other, apart = named.items[at], named.distance[at]
            if found.leads[other] and (apart < nearest or (apart == nearest and other < best)):
                best, nearest = other, apart
        found.leads[item] = spared[item] or best < 0
        if not found.leads[item]:
            found.leader[item], found.distance[item] = best, nearest


@compiled
def come_closer(asking: Vectors, others: Vectors, bounds: Vectors, spare: float, nearest: Floats) -> None:
    """Put the distances of each of `asking` to `others` into its row of `nearest`, which holds the least, sorted."""
    last = nearest.shape[1] - 1
    for item in range(len(asking)):
        for other in range(len(others)):
            if 1.0 - bounds[item, other] - spare >= nearest[item, last]:
                continue
            if 1.0 - _product(asking[item], others[other]) - spare >= nearest[item, last]:
                continue
            apart, at = distance(asking[item], others[other]), last
            if apart < nearest[item, last]:
                while at > 0 and nearest[item, at - 1] > apart:
                    nearest[item, at] = nearest[item, at - 1]
                    at -= 1
                nearest[item, at] = apart


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
        if _may_be_nearer(row, centre, space, nearest[row]):
            nearest[row] = min(nearest[row], distance(space.vectors[row], space.vectors[centre]))
        compared[row] += 1


@compiled
def _may_be_nearer(row: int, other: int, space: Space, nearest: float) -> bool:
    """Return False as soon as no rest of the two rows could bring them nearer than `nearest`."""
    total = 0.0
    for stage in range(space.left_out.shape[1]):
        begin = stage * STAGE
        total += _product(
            space.coordinates[row, begin : begin + STAGE], space.coordinates[other, begin : begin + STAGE]
        )
        rest = np.float64(space.left_out[row, stage]) * space.left_out[other, stage]
        if 1.0 - total - rest - space.spare >= nearest:
            return False
    return 1.0 - _product(space.vectors[row], space.vectors[other]) - space.spare < nearest
