"""What one file or folder of truth or predictions says, before it is joined with the other side."""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.errors import InvalidInputError
from validation.model.raw import RawBoxes
from validation.model.scene import Bools, Correction, Ints

GIVEN_FRAMES: Final = pl.Schema(
    {
        "key": pl.String,  # what the format calls the frame: COCO's image id; empty: nothing
        "name": pl.String,  # of the picture's file, empty: not said
        "width": pl.Float64,  # pixels, null: not said
        "height": pl.Float64,
        "drive": pl.String,
        "camera": pl.String,
        "attributes": pl.String,  # JSON object
    }
)
SIZE_UNKNOWN: Final = "picture_size_unknown"
GIVEN_CLASSES: Final = pl.Schema({"key": pl.String, "name": pl.String})


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One side: frames (`GIVEN_FRAMES`) and classes (`GIVEN_CLASSES`) that boxes point at by row.

    The first `known_frames` and `known_classes` are listed, the others only named by boxes. `looked` (listed frames x
    classes) says where somebody looked, None: everywhere; `not_exhaustive` are rows of frame and class of which more
    may be there than has a box. `normalised` boxes are shares of the picture's sides. `uploads`: pictures may be
    called as Label Studio calls what was uploaded to it.
    """

    source: str
    frames: pl.DataFrame
    classes: pl.DataFrame
    boxes: RawBoxes
    known_frames: int
    known_classes: int
    looked: Bools | None = None
    not_exhaustive: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    normalised: Bools | None = None
    corrections: tuple[Correction, ...] = ()
    sources: pa.Table | None = None  # where the frames of a snapshot were found
    uploads: bool = False

    @property
    def has_shares(self) -> bool:
        """Whether any box is given in shares of its picture's sides."""
        return self.normalised is not None and bool(self.normalised.any())

    def with_sizes(self, sizes: pl.DataFrame) -> "Given":
        """Return the same with width and height of frames, a row each, where nothing was said before."""
        filled = {name: self.frames[name].fill_null(sizes[name]) for name in ("width", "height")}
        return replace(self, frames=self.frames.with_columns(**filled))

    def in_pixels(self, *, other_has_shares: bool) -> "Given":
        """Return the same with boxes in pixels; where both sides are shares of pictures of unknown size they stay so.

        Overlaps of shares are those of pixels, so that only the sizes of objects are lost.

        Raises:
            InvalidInputError: the other side has pixels, and nobody says the size of a picture.
        """
        if self.normalised is None or not self.has_shares:
            return self
        known = self.frames.select("width", "height").to_numpy()[self.boxes.frame]
        unknown = self.normalised & ~np.isfinite(known).all(axis=1)
        if unknown.any() and not other_has_shares:
            raise InvalidInputError(
                f"{self.source}: boxes are shares of pictures, and nobody says how large those are, such as that of "
                f"{self.boxes.where(int(np.flatnonzero(unknown)[0]))}; put the pictures beside the labels."
            )
        factor = np.where(self.normalised[:, None] & ~unknown[:, None], np.tile(known, 2), 1.0)
        boxes = replace(self.boxes, corners=self.boxes.corners * factor, size=None)
        done = "boxes stay shares of the picture: APs, APm, APl, ARs, ARm and ARl say nothing"
        lost = [Correction(SIZE_UNKNOWN, int(unknown.sum()), (self.source,), done)] if unknown.any() else []
        return replace(self, boxes=boxes, normalised=None, corrections=(*self.corrections, *lost))
