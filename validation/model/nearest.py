"""Which object each detection overlaps most, whoever was given it: what mistakes are named by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.model.match import NONE, Matches
from validation.model.scene import Bools, Detected, Floats, Scene, Truth


@dataclass(frozen=True, slots=True)
class Nearest:
    """Per detection: the object it overlaps most of its own class and of the others, as rows of the truth, or NONE.

    Ignore regions are no objects: `region_overlap` is the greatest share of a detection that lies in one of its class.
    """

    own: NDArray[np.int32]
    own_overlap: Floats
    other: NDArray[np.int32]
    other_overlap: Floats
    region_overlap: Floats


def find_nearest(scene: Scene, preferred: Bools) -> Nearest:
    """Return the nearest object of each detection; of equally overlapped ones a `preferred`, then the first."""
    from validation.model.nearest_kernel import Boxes, find

    detected, truth = scene.detected, scene.truth
    order = np.argsort(truth.frame, kind="stable")
    start = np.searchsorted(truth.frame[order], np.arange(len(scene.frame_ids) + 1))
    columns = (truth.frame, truth.label, truth.corners, _size(truth), truth.ignore)
    frame, label, corners, size, ignore = (np.ascontiguousarray(column[order]) for column in columns)
    right = Boxes(frame, label, corners, size, ignore, start)
    places = (detected.frame, detected.label, detected.corners, _size(detected))
    left = Boxes(*places, ignore=np.zeros(0, bool), start=np.zeros(0, np.int64))
    found = find(left, right, preferred[order])
    row_of = np.append(order, NONE).astype(np.int32)  # -1 stays -1
    return Nearest(row_of[found.own], found.own_overlap, row_of[found.other], found.other_overlap, found.region_overlap)


def _size(boxes: Truth | Detected) -> Floats:
    return boxes.corners[:, 2:] - boxes.corners[:, :2] if boxes.size is None else boxes.size


def at_threshold(matches: Matches, threshold: float) -> int:
    """Return the number of the row of `matches` at `threshold`."""
    return int(np.abs(matches.thresholds - threshold).argmin())
