"""What the four numbers of a box may mean, told by which way keeps boxes inside of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from driveflow.formats.box_shapes import LEAST, MEANT, Shape, looked_at, meant_shape, misfits
from validation.inputs.given import Given
from validation.model.raw import RawBoxes
from validation.model.scene import Correction, Floats, Ints

_MANY: Final = 25
_SHARE_AWAY: Final = 0.2  # of the boxes
_NEAR, _FAR = 0.75, 0.9  # of the sides of pictures: so far no detection reaches, and so far an object does
_SHOWN: Final = 3


def doubtful_shapes(truth: Given, boxes: RawBoxes, what: str) -> list[Correction]:
    """Doubt that boxes are what they are given as: many leave their pictures, or none comes near the end of any.

    `what` is "truth" or "detection". Where nobody says how large pictures are, the truth's boxes tell it. Of very many
    boxes only some are looked at.
    """
    looked = _look(truth, boxes, what)
    if not len(looked.rows) or not np.isfinite(boxes.corners[looked.rows]).all():  # refused later, with its place
        return []
    known = looked.of_known_size()
    if len(known.rows):
        found = _doubts(known, LEAST) if boxes.size is not None else []
        found = found or _away(known)
        return found or (_small(known, _look(truth, truth.boxes, "").of_known_size()) if what == "detection" else [])
    extent = truth.boxes.corners[:, 2:].max(axis=0, initial=0.0)
    if what != "detection" or boxes.size is None or not (extent > 0).all():
        return []
    limits = np.broadcast_to(extent, looked.limits.shape)
    return _doubts(replace(looked, limits=limits), {"xyxy": LEAST["xcycwh"]})


def _look(truth: Given, boxes: RawBoxes, what: str) -> "_Looked":
    rows = np.flatnonzero(boxes.frame < truth.known_frames)
    rows = rows[looked_at(len(rows))]
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

    def of_known_size(self) -> "_Looked":
        """Return those of pictures of which somebody says how large they are."""
        which = (self.limits > 0).all(axis=1)
        return replace(self, rows=self.rows[which], box=self.box[which], limits=self.limits[which])

    def reach(self) -> Floats:
        """Return how far the boxes reach at most, in shares of their pictures' width and height."""
        shares = (self.box[:, :2] + self.box[:, 2:]) / self.limits
        return np.asarray(shares[np.isfinite(shares).all(axis=1)].max(axis=0, initial=0.0))


def _doubts(looked: _Looked, least: Mapping[Shape, int]) -> list[Correction]:
    """Say what boxes may be; a shape is only thought of from so many boxes on."""
    meant = meant_shape(looked.box, looked.limits, least)
    if meant is None:
        return []
    if meant.shape == "shares":
        done = "counted as pixels; no number is over 1: shares of pictures are to be multiplied by the sides of these"
        return [_told(looked, "shares", looked.rows, done)]
    name, words = MEANT[meant.shape]
    done = (
        f"counted as x, y, width and height; {meant.away:,} of {len(looked.rows):,} looked at leave their pictures so, "
        f"and {meant.wrong:,} as {words}: were these written?"
    )
    return [_told(looked, name, looked.rows[meant.outside], done)]


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
