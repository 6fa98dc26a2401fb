"""What the four numbers of a box may mean, told by which way keeps boxes inside of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from validation.inputs.given import Given
from validation.model.raw import RawBoxes
from validation.model.scene import Bools, Correction, Floats, Ints

Shape: TypeAlias = Literal["xywh", "xyxy", "xcycwh"]
SHAPES: Final[tuple[Shape, ...]] = ("xywh", "xyxy", "xcycwh")
SLACK: Final = 0.02  # of the picture's sides; boxes may reach out so far
_MEANT: Final[Mapping[Shape, tuple[str, str]]] = {
    "xyxy": ("corners", "x1, y1, x2, y2"),
    "xcycwh": ("centres", "centre, width and height"),
}
_LEAST: Final[Mapping[Shape, int]] = {"xyxy": 3, "xcycwh": 20}  # boxes that tell how they are meant
_FEWEST: Final = 3  # boxes that leave their pictures
_SHARE: Final = 0.05  # of the boxes
_SMALLEST_PICTURE: Final = 10  # pixels
_LOOKED_AT: Final = 5_000
_SHOWN: Final = 3


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


def doubtful_shapes(truth: Given, boxes: RawBoxes, what: str) -> list[Correction]:
    """Doubt that boxes given as x, y, width and height are that: many leave their pictures, and read otherwise few do.

    `what` is "truth" or "detection". Where nobody says how large pictures are, the truth's boxes tell it. Of very many
    boxes only some are looked at.
    """
    rows = np.flatnonzero(boxes.frame < truth.known_frames)
    rows = rows[:: max(1, -(-len(rows) // _LOOKED_AT))]
    if boxes.size is None or not len(rows):
        return []
    box = np.column_stack([boxes.corners[rows, :2], boxes.size[rows]])
    if not np.isfinite(boxes.corners[rows]).all():  # refused later, with its place
        return []
    limits = truth.frames.select("width", "height").to_numpy()[boxes.frame[rows]]
    known = (limits > 0).all(axis=1)
    if known.any():
        return _doubts(_Looked(boxes, what, rows[known], box[known], limits[known]), _LEAST)
    extent = truth.boxes.corners[:, 2:].max(axis=0, initial=0.0)
    looked = _Looked(boxes, what, rows, box, np.broadcast_to(extent, limits.shape))
    return _doubts(looked, {"xyxy": _LEAST["xcycwh"]}) if what == "detection" and (extent > 0).all() else []


@dataclass(frozen=True, slots=True)
class _Looked:
    """Boxes that are looked at, by row, as x, y, width and height, and how large their pictures are."""

    boxes: RawBoxes
    what: str
    rows: Ints
    box: Floats
    limits: Floats


def _doubts(looked: _Looked, least: Mapping[Shape, int]) -> list[Correction]:
    """Say what boxes may be; a shape is only thought of from so many boxes on."""
    count = len(looked.rows)
    if count >= _LEAST["xyxy"] and (looked.box <= 1 + SLACK).all() and (looked.limits > _SMALLEST_PICTURE).all():
        done = "counted as pixels; no number is over 1: shares of pictures are to be multiplied by the sides of these"
        return [_told(looked, "shares", looked.rows, done)]
    outside = misfits(looked.box, "xywh", looked.limits)
    away = int(outside.sum())
    for shape, fewest in least.items():
        wrong = misfits(looked.box, shape, looked.limits).sum()
        if count >= fewest and away >= max(_FEWEST, count * _SHARE) and wrong <= away * _SHARE:
            name, words = _MEANT[shape]
            done = (
                f"counted as x, y, width and height; {away:,} of {count:,} looked at leave their pictures so, "
                f"and {wrong:,} as {words}: were these written?"
            )
            return [_told(looked, name, looked.rows[outside], done)]
    return []


def _told(looked: _Looked, name: str, rows: Ints, done: str) -> Correction:
    examples = tuple(looked.boxes.where(int(row)) for row in rows[:_SHOWN])
    return Correction(f"{looked.what}_boxes_may_be_{name}", len(rows), examples, done)
