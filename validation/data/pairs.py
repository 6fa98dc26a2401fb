"""Which boxes of one frame lie on each other, for all frames at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Rows of boxes that overlap, each pair once with `first` < `second`; `iou` is from 0 to 1."""

    first: Ints
    second: Ints
    iou: Floats


def areas_px(corners: Floats) -> Floats:
    """Return the area of each box; 0 where it ends before it begins."""
    return np.asarray(np.maximum(corners[:, 2:] - corners[:, :2], 0.0).prod(axis=1))


def overlapping(place: Ints, corners: Floats, least_iou: float) -> Pairs:
    """Return the pairs of boxes in one `place` that overlap by `least_iou`; `corners` has x1, y1, x2, y2 as columns.

    Boxes are sorted by where they begin; each is held against the next one, the one after that, and so on while any
    begins before it ends. Memory is that of the boxes and of the pairs found.
    """
    order = np.lexsort((corners[:, 0], place))
    where, sides = place[order], corners[order]
    live = np.arange(len(order))
    found: list[tuple[Ints, Ints, Floats]] = []
    step = 0
    while len(live):
        step += 1
        live = live[live + step < len(order)]
        other = live + step
        near = (where[live] == where[other]) & (sides[other, 0] < sides[live, 2])
        live, other = live[near], other[near]
        iou = _iou(sides[live], sides[other])
        kept = (iou >= least_iou) & (iou > 0)
        found.append((order[live[kept]], order[other[kept]], iou[kept]))
    return _joined(found)


def _iou(left: Floats, right: Floats) -> Floats:
    inner = np.minimum(left[:, 2:], right[:, 2:]) - np.maximum(left[:, :2], right[:, :2])
    shared = np.maximum(inner, 0.0).prod(axis=1)
    union = areas_px(left) + areas_px(right) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(union), where=union > 0))


def _joined(found: list[tuple[Ints, Ints, Floats]]) -> Pairs:
    one, two = (np.concatenate([np.zeros(0, np.int64), *(part[side] for part in found)]) for side in (0, 1))
    iou = np.concatenate([np.zeros(0), *(part[2] for part in found)])
    first, second = np.minimum(one, two), np.maximum(one, two)
    order = np.lexsort((second, first))
    return Pairs(first[order], second[order], iou[order])
