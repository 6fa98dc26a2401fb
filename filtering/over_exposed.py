"""Frames burnt out, for their camera and time of day."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, MeasuredFrames, robust_z
from filtering.relative_limit import FarAbove

# Smallest deviations that count: 6 grey levels of brightness (the sun in the picture adds 30), 2 % burnt out.
_BRIGHTNESS_FLOOR, _SHARE_FLOOR = 6.0, 0.02


@dataclass(frozen=True, slots=True)
class OverExposed(FarAbove):
    """Drops frames both far brighter and far more burnt out than others of their camera and time of day."""

    rule: ClassVar[str] = "exposure.bright_for_population"
    reason: ClassVar[str] = "over_exposed"
    unit: ClassVar[str] = "robust z of brightness or bright share, the lower"

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the lower of the robust z of brightness and of the bright share; NaN in small populations."""
        brightness = robust_z(frames.column("brightness"), frames.populations, _BRIGHTNESS_FLOOR)
        burnt_out = robust_z(frames.column("bright_share"), frames.populations, _SHARE_FLOOR)
        return np.asarray(np.minimum(brightness, burnt_out))
