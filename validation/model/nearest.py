"""Which object each detection overlaps most, whoever was given it: what mistakes are named by."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation.model.match import NONE, Matches
from validation.model.scene import Bools, Detected, Floats, Ints, Scene, Truth

if TYPE_CHECKING:
    from validation.model.nearest_kernel import Boxes


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
    from validation.model.nearest_kernel import find

    order = np.argsort(scene.truth.frame, kind="stable")
    found = find(_detections(scene, slice(None)), _objects(scene, order), preferred[order])
    row_of = np.append(order, NONE).astype(np.int32)  # -1 stays -1
    return Nearest(row_of[found.own], found.own_overlap, row_of[found.other], found.other_overlap, found.region_overlap)


def take_in_turn(scene: Scene, detections: Ints, objects: Ints, least: float) -> Ints:
    """Let `detections`, in their order, take the free one of `objects` that they overlap most, of whatever class.

    Return the object of each, NONE where it overlaps none by `least`; of equally overlapped ones it takes the last row.
    """
    from validation.model.nearest_kernel import take

    order = objects[np.argsort(scene.truth.frame[objects], kind="stable")]
    found = take(_detections(scene, detections), _objects(scene, order), least)
    row_of = np.append(order, NONE)
    return np.asarray(row_of[found], np.int64)


def _detections(scene: Scene, rows: Ints | slice) -> "Boxes":
    from validation.model.nearest_kernel import Boxes

    found, nothing = scene.detected, np.zeros(0, np.int64)
    return Boxes(found.frame[rows], found.label[rows], found.corners[rows], _size(found)[rows], nothing == 0, nothing)


def _objects(scene: Scene, rows: Ints) -> "Boxes":
    """Return some rows of the truth, which are in the order of their frames."""
    from validation.model.nearest_kernel import Boxes

    truth = scene.truth
    start = np.searchsorted(truth.frame[rows], np.arange(len(scene.frame_ids) + 1))
    return Boxes(
        truth.frame[rows], truth.label[rows], truth.corners[rows], _size(truth)[rows], truth.ignore[rows], start
    )


def _size(boxes: Truth | Detected) -> Floats:
    return boxes.corners[:, 2:] - boxes.corners[:, :2] if boxes.size is None else boxes.size


def at_threshold(matches: Matches, threshold: float) -> int:
    """Return the number of the row of `matches` at `threshold`."""
    return int(np.abs(matches.thresholds - threshold).argmin())
