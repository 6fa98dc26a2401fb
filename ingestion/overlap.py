"""Find boxes that overlap, and pair them one to one, for all frames and classes at once."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.table_digest import rows_of_runs

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

_IOU_DIGITS = 9  # overlaps are compared to so many digits, so that two processors decide alike
_PAIRS_AT_ONCE = 250_000  # looked at together; bounds memory, not the result
_ROUNDS = 8  # of pairing everywhere at once; what is still open then is settled one pair after the other


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two boxes each, by number, and how much they overlap."""

    left: Ints
    right: Ints
    iou: Floats

    def only(self, mask: npt.NDArray[np.bool_]) -> "Pairs":
        """Return the pairs that `mask` names."""
        return Pairs(self.left[mask], self.right[mask], self.iou[mask])


def iou(a: Floats, b: Floats) -> Floats:
    """Return the overlap of each row of `a` with the row of `b` beside it; corners x1, y1, x2, y2."""
    width = np.minimum(a[:, 2], b[:, 2]) - np.maximum(a[:, 0], b[:, 0])
    height = np.minimum(a[:, 3], b[:, 3]) - np.maximum(a[:, 1], b[:, 1])
    both = np.where((width > 0) & (height > 0), width * height, 0.0)
    areas = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    rest = areas - both
    shares: Floats = np.zeros_like(both, np.float64)
    np.divide(both, rest, out=shares, where=(both > 0) & (rest > 0))
    return shares.round(_IOU_DIGITS)


def alike(corners: Floats, groups: Ints, sides: tuple[Ints, Ints], min_iou: float, turns: Ints | None = None) -> Pairs:
    """Return all pairs of a box of the left side and one of the right that are of one group and overlap enough.

    `groups` gives the group of each box; `sides` are numbers of boxes, each side sorted by group. With `turns`, one a
    box, the left one's is the lesser.
    """
    left, right = sides
    starts = np.searchsorted(groups[right], groups[left], side="left")
    counts = np.searchsorted(groups[right], groups[left], side="right") - starts
    least = round(min_iou, _IOU_DIGITS)
    found: list[Pairs] = []
    for part in _parts(counts):
        pairs = _cross(left[part], right, starts[part], counts[part])
        if turns is not None:
            ordered = turns[pairs[0]] < turns[pairs[1]]
            pairs = (pairs[0][ordered], pairs[1][ordered])
        shares = iou(corners[pairs[0]], corners[pairs[1]])
        found.append(Pairs(*pairs, shares).only((shares > 0) & (shares >= least)))
    return Pairs(*(np.concatenate([getattr(part, name) for part in found]) for name in ("left", "right", "iou")))


def pair_off(pairs: Pairs, count: int) -> Pairs:
    """Return the pairs of which no box is in two: the most alike first, ties by the numbers of the boxes.

    `count` is how many boxes there are.
    """
    order = np.lexsort((pairs.right, pairs.left, -pairs.iou))
    left, right = pairs.left[order], pairs.right[order]
    taken = np.zeros(len(order), np.bool_)
    used = np.zeros(2 * count, np.bool_)  # left boxes, then right ones
    open_ = np.arange(len(order))
    for _ in range(_ROUNDS):
        if not len(open_):
            break
        best = np.full(2 * count, len(order))
        np.minimum.at(best, left[open_], open_)
        np.minimum.at(best, right[open_] + count, open_)
        mutual = open_[(best[left[open_]] == open_) & (best[right[open_] + count] == open_)]
        taken[mutual] = True
        used[left[mutual]] = used[right[mutual] + count] = True
        open_ = open_[~(used[left[open_]] | used[right[open_] + count])]
    for pair in open_.tolist():
        if not (used[left[pair]] or used[right[pair] + count]):
            taken[pair] = used[left[pair]] = used[right[pair] + count] = True
    return Pairs(left, right, pairs.iou[order]).only(taken)


def _parts(counts: Ints) -> list[slice]:
    """Return slices of rows with about as many pairs each as are looked at together; at least one slice."""
    total = np.cumsum(counts)
    limits = np.arange(_PAIRS_AT_ONCE, int(total[-1]) if len(total) else 0, _PAIRS_AT_ONCE)
    cuts = np.unique([0, *np.searchsorted(total, limits).tolist(), len(counts)]).tolist()
    return [slice(start, end) for start, end in pairwise(cuts)] or [slice(0, 0)]


def _cross(left: Ints, right: Ints, starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return each left box beside all right boxes from its start on, as many as its count says."""
    return np.repeat(left, counts), right[rows_of_runs(starts, counts)]
