"""Rows that are far from each other, and how far rows are from those that were kept."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.neighbours.cosine import Floats, Ints, Vectors, checked, slack
from driveflow.neighbours.cosine_kernel import STAGE, Choice, Space, choose, come_closer
from driveflow.neighbours.projection import fit, staged

_BLOCK: Final = 1_024
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
    centres = np.concatenate([given, np.full(chosen, -1)])
    space = Space(rows, *staged(rows, STAGE), slack(rows.shape[1]))
    radius = choose(space, Choice(centres, np.zeros(len(rows), np.int64), nearest), len(given))
    return Centres(centres[len(given) :], radius[len(given) :])


def nearest_kept(vectors: Vectors, kept: Vectors, count: int = 1) -> Floats:
    """Return how far each row is from the `count`-th nearest of `kept`, infinitely where there are fewer.

    The distance depends on the row and on what is kept, never on the other rows. A row that is itself among `kept`
    counts as its own nearest.
    """
    if count < 1:
        raise ValueError(f"the nearest is number 1, got {count}")
    rows, others = checked(vectors), checked(kept)
    others = others[others.any(axis=1)]
    nearest = np.full((len(rows), count), np.inf)
    projection = fit(others)
    for tile in range(0, len(others), _TILE):
        part = others[tile : tile + _TILE]
        coordinates = projection.coordinates(part)
        for block in range(0, len(rows), _BLOCK):
            asking = rows[block : block + _BLOCK]
            bounds = projection.coordinates(asking) @ coordinates.T
            come_closer(asking, part, bounds, slack(rows.shape[1]), nearest[block : block + _BLOCK])
    return np.asarray(nearest[:, -1])
