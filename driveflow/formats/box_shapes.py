"""What the four numbers of a box may mean, told by which way keeps boxes inside of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Shape: TypeAlias = Literal["xywh", "xyxy", "xcycwh"]
SHAPES: Final[tuple[Shape, ...]] = ("xywh", "xyxy", "xcycwh")
SLACK: Final = 0.02  # of the picture's sides; boxes may reach out so far
MEANT: Final[Mapping[Shape, tuple[str, str]]] = {
    "xyxy": ("corners", "x1, y1, x2, y2"),
    "xcycwh": ("centres", "centre, width and height"),
}
LEAST: Final[Mapping[Shape, int]] = {"xyxy": 3, "xcycwh": 20}
"""From how many boxes on a shape is thought of."""
_LOOKED_AT: Final = 5_000  # boxes
_FEWEST: Final = 3  # boxes that leave their pictures
_SHARE: Final = 0.05  # of the boxes
_SMALLEST_PICTURE: Final = 10  # pixels


@dataclass(frozen=True, slots=True)
class Meant:
    """What boxes seem to be: which of them leave their pictures as x, y, width and height, and how many as `shape`."""

    shape: Shape | Literal["shares"]
    outside: Bools
    wrong: int

    @property
    def away(self) -> int:
        """How many boxes leave their pictures."""
        return int(self.outside.sum())


def looked_at(count: int) -> Ints:
    """Return which of so many boxes tell how all are meant: of very many some, spread over all.

    >>> looked_at(3).tolist(), len(looked_at(1_000_000))
    ([0, 1, 2], 5000)
    """
    return np.arange(0, count, max(1, -(-count // _LOOKED_AT)))


def corners_of(box: Floats, shape: Shape) -> tuple[Floats, Floats | None]:
    """Return corners of boxes (n x 4 numbers of one shape), and their sizes where these are given."""
    if shape == "xyxy":
        return np.ascontiguousarray(box), None
    size = box[:, 2:].copy()
    start = box[:, :2] - size / 2 if shape == "xcycwh" else box[:, :2]
    return np.column_stack([start, start + size]), size


def misfits(box: Floats, shape: Shape, limits: Floats) -> Bools:
    """Return which boxes end before they begin or leave their pictures; `limits` are width and height, inf: unknown."""
    corners, _ = corners_of(box, shape)
    turned = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
    room = limits * SLACK + np.where(limits > 1 + SLACK, 1.0, 0.0)
    outside = ((corners[:, 2:] > limits + room) | (corners[:, :2] < -np.where(np.isfinite(room), room, 0))).any(axis=1)
    return np.asarray(turned | outside)


def meant_shape(box: Floats, limits: Floats, least: Mapping[Shape, int] = LEAST) -> Meant | None:
    """Return what boxes (n x 4 numbers) seem to be that are given as x, y, width and height; None: that, or unknown.

    `limits` are width and height of the picture of each, in pixels.
    """
    count = len(box)
    outside = misfits(box, "xywh", limits)
    if count >= LEAST["xyxy"] and (box <= 1 + SLACK).all() and (limits > _SMALLEST_PICTURE).all():
        return Meant("shares", outside, 0)
    away = int(outside.sum())
    for shape, fewest in least.items():
        wrong = int(misfits(box, shape, limits).sum())
        if count >= fewest and away >= max(_FEWEST, count * _SHARE) and wrong <= away * _SHARE:
            return Meant(shape, outside, wrong)
    return None
