"""Two grids of cells: a fine one that finds small objects, a coarse one that finds large ones."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Level:
    """A grid with cells of `stride_px`, for objects whose longer side is from `least_px` to `most_px`, both counted."""

    stride_px: int
    least_px: float
    most_px: float

    def takes(self, boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        """Return which of the boxes (n, 4) in pixels are of this level's size."""
        longer = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, initial=0.0)
        return np.asarray((longer >= self.least_px) & (longer <= self.most_px), dtype=np.bool_)

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return (rows, columns) for a picture of `size` (width, height)."""
        return size[1] // self.stride_px, size[0] // self.stride_px


# Sizes overlap: what lies in between is learned by both, and the better answer wins.
LEVELS: Final = (Level(4, 0.0, 56.0), Level(16, 40.0, math.inf))
