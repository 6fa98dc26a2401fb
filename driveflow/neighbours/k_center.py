"""Rows that are far from each other, and how far rows are from those that were kept."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.neighbours.cosine import Floats, Ints, Vectors, checked, slack
from driveflow.neighbours.cosine_kernel import Choice, Grouped, Space, catch_up, choose, come_closer
from driveflow.neighbours.projection import fit

_BLOCK: Final = 1_024
_AT_ONCE: Final = 64  # centres
_SOON: Final = 0.95  # of the farthest
_TILE: Final = 8_192


@dataclass(frozen=True, slots=True)
class Centres:
    """The rows chosen, in the order of choice, and how far each was from all before it: infinitely where none was."""

    order: Ints
    distance: Floats


def k_center(vectors: Vectors, count: int, start: Ints | None = None) -> Centres:
    """Choose `count` rows one by one, each the farthest from all chosen before and from those of `start`.

    Distances are cosine distances; of rows as far the one that stands first is chosen. Rows of zeros have no vector and
    are never chosen. Fewer come back where there are not so many. The first `n` of a longer choice are the choice of
    `n`.
    """
    rows = checked(vectors)
    given = np.zeros(0, np.int64) if start is None else np.unique(np.asarray(start, np.int64))
    given = given[rows[given].any(axis=1)]
    nearest = np.where(rows.any(axis=1), np.inf, -1.0)
    nearest[given] = -1.0
    chosen = max(0, min(count, int((nearest > 0).sum())))
    space = Space(rows, fit(rows).coordinates(rows), slack(rows.shape[1]))
    choice = Choice(
        centres=np.concatenate([given, np.full(chosen, -1)]),
        radius=np.zeros(len(given) + chosen),
        compared=np.zeros(len(rows), np.int64),
        nearest=nearest,
    )
    _choose(space, choice, len(given))
    return Centres(choice.centres[len(given) :], choice.radius[len(given) :])


def _choose(space: Space, choice: Choice, given: int) -> None:
    """Choose some centres row by row, then compare many rows with those at once, which costs less, and so on."""
    chosen, count = given, len(choice.centres)
    while chosen < count:
        _catch_up(space, choice, chosen)
        end = min(chosen + min(max(chosen, 1), _AT_ONCE), count)
        choose(space, choice, chosen, end)
        chosen = end


def _catch_up(space: Space, choice: Choice, chosen: int) -> None:
    """Compare the rows that may soon be the farthest with the centres that they have not seen."""
    rows = np.flatnonzero(choice.nearest >= _SOON * choice.nearest.max(initial=0.0))
    rows = rows[np.argsort(choice.compared[rows], kind="stable")]
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK]
        for begin in range(int(choice.compared[block[0]]), chosen, _BLOCK):
            centres = choice.centres[begin : min(begin + _BLOCK, chosen)]
            bounds = space.coordinates[block] @ space.coordinates[centres].T
            catch_up(block, bounds, begin, space, choice)


def nearest_kept(vectors: Vectors, kept: Vectors, count: int = 1, groups: tuple[Ints, Ints] | None = None) -> Floats:
    """Return how far each row is from the `count`-th nearest of `kept`, infinitely where there are fewer.

    The distance depends on the row and on what is kept, never on the other rows. With `groups`, those of `vectors` and
    those of `kept`, rows of one's own group are not compared; without, a row that is itself kept is its own nearest. Of
    rows of zeros, which are no vectors, the distance is NaN.
    """
    if count < 1:
        raise ValueError(f"the nearest is number 1, got {count}")
    own, theirs = groups or (np.full(len(vectors), -1), np.arange(len(kept)))
    rows = checked(vectors)
    present = kept.any(axis=1)
    others = Grouped(checked(kept[present]), np.asarray(theirs[present], np.int64))
    nearest = np.full((len(rows), count), np.inf)
    projection = fit(others.vectors)
    for tile in range(0, len(others.groups), _TILE):
        part = Grouped(others.vectors[tile : tile + _TILE], others.groups[tile : tile + _TILE])
        coordinates = projection.coordinates(part.vectors)
        for block in range(0, len(rows), _BLOCK):
            asking = Grouped(rows[block : block + _BLOCK], np.asarray(own[block : block + _BLOCK], np.int64))
            bounds = projection.coordinates(asking.vectors) @ coordinates.T
            come_closer(asking, part, bounds, slack(rows.shape[1]), nearest[block : block + _BLOCK])
    return np.where(rows.any(axis=1), nearest[:, -1], np.nan)
