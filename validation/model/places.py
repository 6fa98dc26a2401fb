"""Where things are in the frames of a hold-out, in a few bytes each: what a regression set is held against later."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.model.match import overlap_of
from validation.model.scene import Bools, Floats, Ints

_TENTHS = 10.0
_FARTHEST = 2.0e9  # tenths of a pixel, within 32 bits


@dataclass(frozen=True, slots=True)
class Places:
    """Boxes of a hold-out: row of the frame, number of the class, and x1, y1, x2, y2 in tenths of a pixel (n x 4)."""

    frame: NDArray[np.int32]
    label: NDArray[np.int32]
    corners: NDArray[np.int32]

    def at(self, frame: int, label: int) -> Ints:
        """Return the rows of one class in one frame."""
        return np.flatnonzero((self.frame == frame) & (self.label == label))


def places(frame: Ints, label: Ints, corners: Floats) -> Places:
    """Return boxes as places; `corners` are in pixels."""
    return Places(frame.astype(np.int32), label.astype(np.int32), tenths(corners))


def no_places() -> Places:
    """Return places of nothing."""
    nothing = np.zeros(0, np.int64)
    return places(nothing, nothing, np.zeros((0, 4)))


def tenths(corners: Floats | Sequence[Sequence[float]]) -> NDArray[np.int32]:
    """Return corners in pixels as whole tenths; what lies farther out than 32 bits say is drawn in."""
    values = np.asarray(corners, np.float64).reshape(-1, 4)
    return np.clip(np.rint(values * _TENTHS), -_FARTHEST, _FARTHEST).astype(np.int32)


def meets(box: NDArray[np.int32], others: NDArray[np.int32], least: float) -> Bools:
    """Return which of `others` overlap `box` by `least`, or are the very same box, which may have no area."""
    one = np.broadcast_to(box, others.shape)
    overlap = overlap_of(one.astype(np.float64), others.astype(np.float64))
    return np.asarray((overlap >= least) | (one == others).all(axis=1))


def frame_key(frame_id: str) -> int:
    """Return the number by which a frame is known where its name would weigh too much."""
    return int.from_bytes(hashlib.sha256(frame_id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
