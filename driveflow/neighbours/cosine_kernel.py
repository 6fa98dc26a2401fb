"""Cosine distances in compiled code: summed in doubles in one fixed order, in steps of 1e-6."""

from typing import Any, Final, NamedTuple

import numpy as np

from driveflow.neighbours.borrowing import borrowing, borrowing_in_any_order
from driveflow.neighbours.cosine import STEPS, Floats, Ints, Vectors
from driveflow.neighbours.leader_rows import Mask, NamedPairs

_FARTHEST: Final = 2.0


class Grouped(NamedTuple):
    """Rows, and the group of each, within which nothing is compared."""

    vectors: Vectors
    groups: Ints


class PairsOfRows(NamedTuple):
    """Row left[n] of `vectors` beside row right[n] of `others`."""

    vectors: Vectors
    others: Vectors
    left: Ints
    right: Ints


class Space(NamedTuple):
    """Rows, and coordinates whose products are no less than the cosines of the rows, but for `spare`."""

    vectors: Vectors
    coordinates: Vectors
    spare: float


class Followed(NamedTuple):
    """Whom each item follows, itself where it leads, how far apart they are, and whether it leads."""

    leader: Ints
    distance: Floats
    leads: Mask


class Choice(NamedTuple):
    """The centres so far and how far each was from those before; of each row how many it was compared with.

    `nearest` is how far the nearest of those is, and negative for centres and rows that are none.
    """

    centres: Ints
    radius: Floats
    compared: Ints
    nearest: Floats


@borrowing
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


@borrowing_in_any_order  # for bounds only: they have room to err
def _product(left: Any, right: Any) -> float:  # noqa: ANN401
    total = np.float32(0)
    for at in range(len(left)):
        total += left[at] * right[at]
    return total


def distances(pairs: PairsOfRows, limit: float, spare: float) -> Floats:
    """Return the cosine distance of each pair of rows, and infinity where it is over `limit`."""
    found = np.full(len(pairs.left), np.inf)
    _fill(pairs, limit, spare, found)
    return found


@borrowing
def _fill(pairs: PairsOfRows, limit: float, spare: float, found: Floats) -> None:
    left, right = pairs.left, pairs.right
    for pair in range(len(left)):
        one, other = pairs.vectors[left[pair]], pairs.others[right[pair]]
        if 1.0 - _product(one, other) - spare <= limit:
            apart = distance(one, other)
            if apart <= limit:
                found[pair] = apart


@borrowing
def decide(first: int, named: NamedPairs, spared: Mask, found: Followed) -> None:
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


@borrowing
def come_closer(asking: Grouped, others: Grouped, bounds: Vectors, spare: float, nearest: Floats) -> None:
    """Put the distances of each of `asking` to `others` into its row of `nearest`, which holds the least, sorted."""
    last = nearest.shape[1] - 1
    for item in range(len(asking.groups)):
        for other in range(len(others.groups)):
            farthest = nearest[item, last]
            if 1.0 - bounds[item, other] - spare >= farthest or asking.groups[item] == others.groups[other]:
                continue
            if 1.0 - _product(asking.vectors[item], others.vectors[other]) - spare >= farthest:
                continue
            apart, at = distance(asking.vectors[item], others.vectors[other]), last
            if apart < nearest[item, last]:
                while at > 0 and nearest[item, at - 1] > apart:
                    nearest[item, at] = nearest[item, at - 1]
                    at -= 1
                nearest[item, at] = apart


@borrowing
def choose(space: Space, choice: Choice, begin: int, end: int) -> None:
    """Fill the centres from `begin` to `end`, each with the row that is farthest from all before it.

    A row is compared with further centres only while it may be the farthest.
    """
    nearest = choice.nearest
    for step in range(begin, end):
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
        choice.centres[step], choice.radius[step], nearest[best] = best, farthest, -1.0


@borrowing
def catch_up(rows: Ints, bounds: Vectors, begin: int, space: Space, choice: Choice) -> None:
    """Compare `rows` with the centres from `begin` on; `bounds` holds the products of their coordinates."""
    for asked in range(len(rows)):
        row = rows[asked]
        for at in range(max(choice.compared[row] - begin, 0), bounds.shape[1]):
            if 1.0 - bounds[asked, at] - space.spare < choice.nearest[row]:
                _measure(row, choice.centres[begin + at], space, choice)
        choice.compared[row] = max(choice.compared[row], begin + bounds.shape[1])


@borrowing
def _compare(row: int, farthest: float, step: int, space: Space, choice: Choice) -> None:
    """Compare a row with the centres it has not seen, until it cannot be the farthest."""
    while choice.compared[row] < step and choice.nearest[row] >= farthest:
        centre = choice.centres[choice.compared[row]]
        bound = _product(space.coordinates[row], space.coordinates[centre])
        if 1.0 - bound - space.spare < choice.nearest[row]:
            _measure(row, centre, space, choice)
        choice.compared[row] += 1


@borrowing
def _measure(row: int, centre: int, space: Space, choice: Choice) -> None:
    one, other = space.vectors[row], space.vectors[centre]
    if 1.0 - _product(one, other) - space.spare < choice.nearest[row]:
        choice.nearest[row] = min(choice.nearest[row], distance(one, other))
