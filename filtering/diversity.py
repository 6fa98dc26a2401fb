"""Choose frames that are far from each other and from what is labeled, spread over groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from filtering.groups import Groups
from filtering.miners.material import Ints, Mask, Material, Scores
from filtering.rarity import shuffled

_PAIRS_AT_ONCE: Final = 4_000_000  # what bounds memory
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Where frames lie: by vector where there are any, else by 64-bit hash; distances are 0 to 2, or 0 to 64 bits."""

    codes: np.ndarray
    vectors: np.ndarray | None
    known: Mask

    @property
    def unit(self) -> str:
        """What a distance counts."""
        return "bits of 64" if self.vectors is None else "cosine distance"

    def distances(self, row: int) -> Scores:
        """Return the distance of each frame to the frame at `row`; infinite where a place is not known."""
        if self.vectors is None:
            apart = np.bitwise_count(self.codes ^ self.codes[row]).astype(np.float64)
        else:
            apart = np.round(1.0 - self.vectors @ self.vectors[row].astype(np.float64), _DECIMALS)
        apart[~self.known] = np.inf
        return apart if self.known[row] else np.full(len(apart), np.inf)


def space_of(material: Material) -> Space:
    """Return where the kept frames lie."""
    codes, known = np.zeros(material.count, np.uint64), np.zeros(material.count, np.bool_)
    if material.vectors is not None:
        rows = material.rows_of(material.vectors.frame_ids)
        vectors = np.zeros((material.count, material.vectors.vectors.shape[1]))
        vectors[rows[rows >= 0]] = material.vectors.vectors[rows >= 0]
        return Space(codes, vectors, np.asarray(vectors.any(axis=1)))
    rows = material.rows_of(material.signals["frame_id"])
    measured = material.signals["phash64"]
    codes[rows[rows >= 0]] = measured.fill_null(0).to_numpy().astype(np.uint64)[rows >= 0]
    known[rows[(rows >= 0) & measured.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)]] = True
    return Space(codes, None, known)


def nearest_chosen(space: Space, chosen: Ints, rows: Ints) -> Scores:
    """Return the distance of each of `rows` to the nearest chosen frame; infinite without any, or without a place."""
    nearest = np.full(len(rows), np.inf)
    chosen = chosen[space.known[chosen]]
    size = max(1, _PAIRS_AT_ONCE // max(len(chosen), 1))
    for start in range(0, len(rows) if len(chosen) else 0, size):
        part = rows[start : start + size]
        if space.vectors is None:
            apart = np.bitwise_count(space.codes[part, None] ^ space.codes[None, chosen]).astype(np.float64)
        else:
            apart = np.round(1.0 - space.vectors[part] @ space.vectors[chosen].T, _DECIMALS)
        nearest[start : start + size] = apart.min(axis=1)
    nearest[~space.known[rows]] = np.inf
    return nearest


@dataclass(frozen=True, slots=True, eq=False)
class Spreader:
    """Takes one frame after the other: of the group that has fewest, the frame farthest from all that are chosen.

    Frames that were chosen before count too. Equal distances go by a hash of the frame, so no order matters; without
    a `space` distance does not matter, and within a group the choice is by that hash.
    """

    frame_ids: Sequence[str]
    groups: Groups
    space: Space | None
    seed: int

    def take(self, free: Mask, chosen: Ints, count: int) -> list[int]:
        """Return up to `count` rows out of `free`, in the order in which they are taken."""
        free, order, turns = free.copy(), self._order(), _Turns(self.groups, self.seed, free, chosen)
        every = np.arange(len(free))
        nearest = np.zeros(len(free)) if self.space is None else nearest_chosen(self.space, chosen, every)
        taken: list[int] = []
        while len(taken) < count and free.any():
            rows = turns.neediest(free)
            row = int(rows[np.lexsort((order[rows], -nearest[rows]))[0]])
            taken.append(row)
            free[row] = False
            turns.note(row)
            if self.space is not None:
                np.minimum(nearest, self.space.distances(row), out=nearest)
        return taken

    def _order(self) -> Ints:
        place = {name: number for number, name in enumerate(shuffled(self.frame_ids, f"budget {self.seed}"))}
        return np.array([place[name] for name in self.frame_ids], np.int64)


class _Turns:
    """Whose turn it is: how many frames each group has, and how many are left in it."""

    def __init__(self, groups: Groups, seed: int, free: Mask, chosen: Ints) -> None:
        place = {name: number for number, name in enumerate(shuffled(groups.names, f"groups {seed}"))}
        number = np.array([place[name] for name in groups.names], np.int64)[groups.group]
        has = np.zeros(len(free), np.bool_)
        has[chosen] = True
        self._have = np.bincount(number[has[groups.frame]], minlength=len(place))
        self._left = np.bincount(number[free[groups.frame]], minlength=len(place))
        self._frames, self._frame_starts = _rows_by(number, groups.frame, len(place))
        self._groups, self._group_starts = _rows_by(groups.frame, number, len(free))

    def neediest(self, free: Mask) -> Ints:
        """Return the free frames of the group with fewest, of equal ones the first; all where no group has any left."""
        if not self._left.any():
            return np.flatnonzero(free)
        group = int(np.where(self._left > 0, self._have, np.iinfo(np.int64).max).argmin())
        rows = self._frames[self._frame_starts[group] : self._frame_starts[group + 1]]
        return np.asarray(rows[free[rows]])

    def note(self, row: int) -> None:
        """Count a frame that was taken."""
        mine = self._groups[self._group_starts[row] : self._group_starts[row + 1]]
        self._have[mine] += 1
        self._left[mine] -= 1


def _rows_by(key: Ints, values: Ints, count: int) -> tuple[Ints, Ints]:
    """Return `values` by `key`, and where those of each of `count` keys begin."""
    by_key = np.argsort(key, kind="stable")
    return values[by_key], np.append(0, np.cumsum(np.bincount(key, minlength=count)))
