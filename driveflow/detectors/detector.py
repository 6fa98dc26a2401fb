"""What a detector is: anything that finds boxes of known classes in upright pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from driveflow.errors import InvalidInputError
from driveflow.images.decode import Pixels

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Detections:
    """What was found in one picture, best score first.

    `boxes` has the shape (n, 4): x1, y1, x2, y2 in upright pixels. `scores` lie in 0..1, one a box, as do the names.
    """

    boxes: Floats
    scores: Floats
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        count = len(self.class_names)
        if self.boxes.shape != (count, 4) or self.scores.shape != (count,):
            raise InvalidInputError(
                f"{count} class names go with boxes ({count}, 4) and scores ({count},), "
                f"got {self.boxes.shape} and {self.scores.shape}"
            )
        if not (np.isfinite(self.boxes).all() and np.isfinite(self.scores).all()):
            raise InvalidInputError("A detection has a coordinate or score that is no number")


class Detector(Protocol):
    """A model that can be run; the same picture always gives the same detections, whatever else is in the call."""

    @property
    def digest(self) -> str:
        """The digest of the model folder."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes it can find."""

    @property
    def batch_frames(self) -> int:
        """How many pictures one call should bring: enough to pay for the call, few enough to hold in memory."""

    def predict(self, images: Sequence[Pixels]) -> list[Detections]:
        """Return what is in each picture (height x width x 3, RGB)."""
