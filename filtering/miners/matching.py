"""Which boxes are of one object: one to one, the surest detection first, each with what it overlaps most."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes of one frame: corners in pixels, a class and a score each (1 for a label), and whether to ignore it."""

    corners: Floats
    names: npt.NDArray[np.str_]
    scores: Floats
    ignore: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "Boxes":
        """Return some of them."""
        return Boxes(self.corners[rows], self.names[rows], self.scores[rows], self.ignore[rows])


NO_BOXES = Boxes(np.zeros((0, 4)), np.array([], np.str_), np.zeros(0), np.zeros(0, np.bool_))


def boxes_by_frame(table: pa.Table) -> dict[str, Boxes]:
    """Return the boxes of each frame, the surest first, of equal ones those whose id comes first."""
    ordered = table.sort_by([("frame_id", "ascending"), ("score", "descending"), ("box_id", "ascending")])
    ids = ordered["frame_id"].to_pylist()
    every = Boxes(
        np.stack([ordered[name].to_numpy() for name in ("x1", "y1", "x2", "y2")], axis=1).astype(np.float64),
        np.array(ordered["class_name"].to_pylist(), dtype=np.str_),
        ordered["score"].fill_null(1.0).to_numpy().astype(np.float64),
        ordered["ignore"].fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_),
    )
    starts = [row for row, name in enumerate(ids) if row == 0 or name != ids[row - 1]]
    ends = [*starts[1:], len(ids)]
    return {ids[start]: every.only(np.arange(start, end)) for start, end in zip(starts, ends, strict=len(ids) > 0)}


def overlaps(left: Floats, right: Floats) -> Floats:
    """Return the overlap (IoU, 0 to 1) of each box of `left` with each of `right`.

    >>> overlaps(np.array([[0.0, 0, 2, 1]]), np.array([[1.0, 0, 3, 1]])).round(2).tolist()
    [[0.33]]
    """
    both = _common(left, right)
    either = _areas(left)[:, None] + _areas(right)[None, :] - both
    return np.asarray(np.divide(both, either, out=np.zeros_like(both), where=either > 0))


def covered(boxes: Floats, regions: Floats) -> Floats:
    """Return the share of each box that lies in the region that covers most of it; 0 without regions."""
    if not len(regions) or not len(boxes):
        return np.zeros(len(boxes))
    area = _areas(boxes)
    common = _common(boxes, regions).max(axis=1)
    return np.asarray(np.divide(common, area, out=np.zeros_like(area), where=area > 0))


def pairs(left: Boxes, right: Boxes, min_iou: float, *, same_class: bool = True) -> Iterable[tuple[int, int]]:
    """Return which boxes of `left` and `right` are of one object; each takes the free one that it overlaps most."""
    if not len(left) or not len(right):
        return []
    shared = overlaps(left.corners, right.corners)
    if same_class:
        shared[left.names[:, None] != right.names[None, :]] = 0.0
    found = []
    for row in np.argsort(-left.scores, kind="stable").tolist():
        best = int(shared[row].argmax())
        if shared[row, best] >= min_iou and shared[row, best] > 0:
            found.append((row, best))
            shared[:, best] = 0.0
    return found


def _common(left: Floats, right: Floats) -> Floats:
    low = np.maximum(left[:, None, :2], right[None, :, :2])
    high = np.minimum(left[:, None, 2:], right[None, :, 2:])
    return np.asarray(np.clip(high - low, 0.0, None).prod(axis=2))


def _areas(boxes: Floats) -> Floats:
    return np.asarray(np.clip(boxes[:, 2:] - boxes[:, :2], 0.0, None).prod(axis=1))
