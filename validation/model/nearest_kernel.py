"""Which box of the truth each detection overlaps most, in compiled code and in the matching's order of operations."""

from typing import Any, NamedTuple

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, nogil=True)


class Boxes(NamedTuple):
    """Boxes as columns; of the truth, those of one frame lie together and `start` tells where, frame by frame."""

    frame: Any
    label: Any
    corners: Any
    size: Any  # width and height
    ignore: Any  # of detections: empty
    start: Any  # of detections: empty


class Found(NamedTuple):
    """Per detection: the row of the box it overlaps most and by how much; -1 and 0 where it overlaps none."""

    own: Any  # an object of its class
    own_overlap: Any
    other: Any  # an object of another class
    other_overlap: Any
    region_overlap: Any  # the greatest share of it inside an ignore region of its class


@compiled
def find(detected: Boxes, truth: Boxes, preferred: Any) -> Found:  # noqa: ANN401 an array
    """Return what each detection overlaps; of equally overlapped objects a `preferred` one, then the first row."""
    rows = len(detected.frame)
    own, other = np.full(rows, -1, np.int32), np.full(rows, -1, np.int32)
    own_overlap, other_overlap, region_overlap = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for row in range(rows):
        frame, label = detected.frame[row], detected.label[row]
        for at in range(truth.start[frame], truth.start[frame + 1]):
            same, region = truth.label[at] == label, truth.ignore[at]
            if region and not same:
                continue
            overlap = _overlap(detected.corners[row], detected.size[row], truth.corners[at], truth.size[at], region)
            if overlap <= 0.0:
                continue
            if region:
                region_overlap[row] = max(region_overlap[row], overlap)
            elif same and _is_better(overlap, own_overlap[row], at, own[row], preferred):
                own[row], own_overlap[row] = at, overlap
            elif not same and _is_better(overlap, other_overlap[row], at, other[row], preferred):
                other[row], other_overlap[row] = at, overlap
    return Found(own, own_overlap, other, other_overlap, region_overlap)


@compiled
def _is_better(overlap: float, most: float, at: int, best: int, preferred: Any) -> bool:  # noqa: ANN401 an array
    return overlap > most or (overlap == most and preferred[at] and not preferred[best])


@compiled
def _overlap(left: Any, size_l: Any, right: Any, size_r: Any, region: bool) -> float:  # noqa: ANN401 rows
    across = min(left[0] + size_l[0], right[0] + size_r[0]) - max(left[0], right[0])
    if across <= 0.0:
        return 0.0
    down = min(left[1] + size_l[1], right[1] + size_r[1]) - max(left[1], right[1])
    if down <= 0.0:
        return 0.0
    both, area_l = across * down, size_l[0] * size_l[1]
    whole = area_l if region else area_l + size_r[0] * size_r[1] - both
    return both / whole if whole > 0.0 else 0.0
