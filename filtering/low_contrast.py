"""Frames flat as behind a veil, for their camera and time of day; dense fog is such a veil too."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, MeasuredFrames, robust_z
from filtering.relative_limit import FarBelow

_LOG_FLOOR = 0.25  # a factor of 1.3


@dataclass(frozen=True, slots=True)
class LowContrast(FarBelow):
    """Drops frames far flatter than others of their camera and time of day."""

    rule: ClassVar[str] = "low_contrast.relative"
    reason: ClassVar[str] = "low_contrast"
    unit: ClassVar[str] = "robust z of log contrast"

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the robust z of the logarithm of the contrast; NaN in small populations."""
        return robust_z(np.log1p(frames.column("contrast")), frames.populations, _LOG_FLOOR)
