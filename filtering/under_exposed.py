"""Frames too dark to see anything, for their camera and time of day."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames, robust_z

# Smallest deviations that count, so that a camera which hardly ever changes does not turn every passing truck into
# a defect: 5 grey levels of brightness, 2.5 of contrast.
_BRIGHTNESS_FLOOR, _CONTRAST_FLOOR = 5.0, 2.5


@dataclass(frozen=True, slots=True)
class UnderExposed:
    """Drops frames both far darker and far flatter than others of their camera and time of day.

    Brightness alone would delete the dark truck that fills the picture, and the tunnel with its lamps.
    """

    rule: ClassVar[str] = "exposure.dark_for_population"
    reason: ClassVar[str] = "under_exposed"
    unit: ClassVar[str] = "robust z of brightness or contrast, the higher"
    spares_rare: ClassVar[bool] = True
    max_robust_z: float

    @property
    def limit(self) -> float:
        """What a score is compared with."""
        return -self.max_robust_z

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the higher of the robust z of brightness and of contrast; NaN in small populations."""
        brightness = robust_z(frames.column("brightness"), frames.populations, _BRIGHTNESS_FLOOR)
        contrast = robust_z(frames.column("contrast"), frames.populations, _CONTRAST_FLOOR)
        return np.asarray(np.maximum(brightness, contrast))

    def keep(self, scores: Column) -> Mask:
        """Keep what lies no more than the limit below its population, and what has no population."""
        return np.asarray(~(scores < self.limit))
