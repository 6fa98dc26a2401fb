"""Near pairs between two sets of 64-bit hashes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driveflow.neighbours.hamming import Codes, HammingIndex


@dataclass(frozen=True, slots=True)
class NearPairs:
    """For some rows of the left side the nearest row of the right side, and in how many bits the two differ."""

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    distance_bits: npt.NDArray[np.int64]


def nearest_pairs(left: Codes, right: Codes, radius_bits: int) -> NearPairs:
    """Return for each code of `left` the nearest of `right` within the radius; of equals the one that stands first.

    >>> nearest_pairs(np.array([0, 255], np.uint64), np.array([1], np.uint64), 2).left.tolist()
    [0]
    """
    index = HammingIndex(radius_bits)
    for position, code in enumerate(right.tolist()):
        index.add(code, position)
    different, where = np.unique(left, return_inverse=True)
    found = [index.nearest(code) for code in different.tolist()]
    label = np.array([near.label if near else -1 for near in found], dtype=np.int64)
    bits = np.array([near.distance_bits if near else -1 for near in found], dtype=np.int64)
    rows = np.flatnonzero(label[where] >= 0) if len(left) else np.array([], np.int64)
    return NearPairs(rows, label[where[rows]], bits[where[rows]])
