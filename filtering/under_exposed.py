"""Frames too dark to see anything, for their camera and time of day."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, MeasuredFrames, robust_z
from filtering.relative_limit import FarBelow

# Smallest deviations that count, so that a camera which hardly ever changes does not turn every passing truck into
# a defect: 5 grey levels of brightness, 2.5 of contrast.
_BRIGHTNESS_FLOOR, _CONTRAST_FLOOR = 5.0, 2.5


@dataclass(frozen=True, slots=True)
class UnderExposed(FarBelow):
    """Drops frames both far darker and far flatter than others of their camera and time of day.

    Brightness alone would delete the dark truck that fills the picture, and the tunnel with its lamps.
    """

    rule: ClassVar[str] = "exposure.dark_for_population"
    reason: ClassVar[str] = "under_exposed"
    unit: ClassVar[str] = "robust z of brightness or contrast, the higher"

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the higher of the robust z of brightness and of contrast; NaN in small populations."""
        brightness = robust_z(frames.column("brightness"), frames.populations, _BRIGHTNESS_FLOOR)
        contrast = robust_z(frames.column("contrast"), frames.populations, _CONTRAST_FLOOR)
        return np.asarray(np.maximum(brightness, contrast))
