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
            overlap = _overlap(detected, row, truth, at)
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
def take(detected: Boxes, truth: Boxes, least: float) -> Any:  # noqa: ANN401 an array
    """Let detections, in their order, take the free object of their frame that they overlap most, by `least` or more.

    Return the row of the object, -1 where a detection takes none; of equally overlapped ones it takes the last.
    """
    taken = np.zeros(len(truth.label), np.bool_)
    found = np.full(len(detected.frame), -1, np.int32)
    for row in range(len(found)):
        frame, best, most = detected.frame[row], -1, least
        for at in range(truth.start[frame], truth.start[frame + 1]):
            if not taken[at]:
                overlap = _overlap(detected, row, truth, at)
                if overlap >= most:
                    best, most = at, overlap
        if best >= 0:
            found[row], taken[best] = best, True
    return found


@compiled
def _is_better(overlap: float, most: float, at: int, best: int, preferred: Any) -> bool:  # noqa: ANN401 an array
    return overlap > most or (overlap == most and preferred[at] and not preferred[best])


@compiled
def _overlap(detected: Boxes, row: int, truth: Boxes, at: int) -> float:
    left, width_l = detected.corners[row, 0], detected.size[row, 0]
    right, width_r = truth.corners[at, 0], truth.size[at, 0]
    across = min(left + width_l, right + width_r) - max(left, right)
    if across <= 0.0:
        return 0.0
    up, height_l = detected.corners[row, 1], detected.size[row, 1]
    low, height_r = truth.corners[at, 1], truth.size[at, 1]
    down = min(up + height_l, low + height_r) - max(up, low)
    if down <= 0.0:
        return 0.0
    both, area_l = across * down, width_l * height_l
    whole = area_l if truth.ignore[at] else area_l + width_r * height_r - both
    return both / whole if whole > 0.0 else 0.0


@compiled
def kinds(found: Found, wrong: Any, limits: Any) -> Any:  # noqa: ANN401 arrays
    """Return the kind (0 Cls, 1 Loc, 2 Both, 3 Dupe, 4 Bkg) of each wrong detection, and the object that names it.

    Both are -1 where it is not wrong, the object also where the kind is Bkg. `limits`: of foreground and background.
    """
    kind, about = np.full(len(wrong), -1, np.int8), np.full(len(wrong), -1, np.int32)
    for row in range(len(wrong)):
        if wrong[row]:
            own, other = found.own_overlap[row], found.other_overlap[row]
            if max(own, other) < limits[1]:
                kind[row] = 4
            elif max(own, other) >= limits[0]:
                kind[row] = 3 if own >= other else 0
            else:
                kind[row] = 1 if own >= limits[1] else 2
            if kind[row] in (1, 3):
                about[row] = found.own[row]
            elif kind[row] != 4:
                about[row] = found.other[row]
    return kind, about
