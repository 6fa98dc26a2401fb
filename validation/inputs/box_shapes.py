"""What the four numbers of a box may mean, told by which way keeps boxes inside of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
_MANY: Final = 25
_SHARE_AWAY: Final = 0.2  # of the boxes
_NEAR, _FAR = 0.75, 0.9  # of the sides of pictures: so far no detection reaches, and so far an object does
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
    """Doubt that boxes are what they are given as: many leave their pictures, or none comes near the end of any.

    `what` is "truth" or "detection". Where nobody says how large pictures are, the truth's boxes tell it. Of very many
    boxes only some are looked at.
    """
    looked = _look(truth, boxes, what)
    known: Bools = np.asarray((looked.limits > 0).all(axis=1))
    if not len(known) or not np.isfinite(boxes.corners[looked.rows]).all():  # refused later, with its place
        return []
    if known.any():
        looked = looked.some(known)
        found = _doubts(looked, _LEAST) if boxes.size is not None else []
        return found or _away(looked) or (_small(looked, _look(truth, truth.boxes, "")) if what == "detection" else [])
    extent = truth.boxes.corners[:, 2:].max(axis=0, initial=0.0)
    if what != "detection" or boxes.size is None or not (extent > 0).all():
        return []
    limits = np.broadcast_to(extent, looked.limits.shape)
    return _doubts(replace(looked, limits=limits), {"xyxy": _LEAST["xcycwh"]})


def _look(truth: Given, boxes: RawBoxes, what: str) -> "_Looked":
    rows = np.flatnonzero(boxes.frame < truth.known_frames)
    rows = rows[:: max(1, -(-len(rows) // _LOOKED_AT))]
    box = np.column_stack([boxes.corners[rows, :2], boxes.sizes()[rows]])
    limits = truth.frames.select("width", "height").to_numpy()[boxes.frame[rows]]
    return _Looked(boxes, what, rows, box, limits.astype(np.float64))


@dataclass(frozen=True, slots=True)
class _Looked:
    """Boxes that are looked at, by row, as x, y, width and height, and how large their pictures are."""

    boxes: RawBoxes
    what: str
    rows: Ints
    box: Floats
    limits: Floats

    def some(self, which: Bools) -> "_Looked":
        """Return some of them."""
        return replace(self, rows=self.rows[which], box=self.box[which], limits=self.limits[which])

    def reach(self) -> Floats:
        """Return how far the boxes reach at most, in shares of their pictures' width and height."""
        shares = (self.box[:, :2] + self.box[:, 2:]) / self.limits
        return np.asarray(shares[np.isfinite(shares).all(axis=1)].max(axis=0, initial=0.0))


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


def _away(looked: _Looked) -> list[Correction]:
    """Say that many boxes leave their pictures, however they are read."""
    count, outside = len(looked.rows), misfits(looked.box, "xywh", looked.limits) & (looked.box[:, 2:] > 0).all(axis=1)
    away = int(outside.sum())
    if count < _MANY or away < count * _SHARE_AWAY:
        return []
    done = f"counted as they stand; {away:,} of {count:,} looked at: are the pictures of another size, or turned?"
    examples = tuple(looked.boxes.where(int(row)) for row in looked.rows[outside][:_SHOWN])
    return [Correction(f"{looked.what}_boxes_leave_pictures", away, examples, done)]


def _small(looked: _Looked, objects: _Looked) -> list[Correction]:
    """Say that no detection comes near the right and lower ends of pictures, and objects do."""
    reach = looked.reach()
    if len(looked.rows) < 2 * _MANY or (reach > _NEAR).any() or (objects.reach() < _FAR).any():
        return []
    done = (
        f"counted as they stand; none reaches beyond {reach[0]:.0%} of the width and {reach[1]:.0%} of the height of "
        "its picture, and objects do: were pictures made smaller for the model?"
    )
    return [_told(looked, "scaled", looked.rows, done)]


def _told(looked: _Looked, name: str, rows: Ints, done: str) -> Correction:
    examples = tuple(looked.boxes.where(int(row)) for row in rows[:_SHOWN])
    return Correction(f"{looked.what}_boxes_may_be_{name}", len(rows), examples, done)
