"""Frames without sharp edges: out of focus, smeared by motion, or behind a wet lens."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames, robust_z
from filtering.relative_limit import FarBelow

# A ratio goes by factors, so it is compared as a logarithm; 0.15 is a factor of 1.16.
_LOG_FLOOR = 0.15
_LEAST_RATIO = 0.01


@dataclass(frozen=True, slots=True)
class DeadBlur:
    """Drops frames whose sharpness is under an absolute limit."""

    rule: ClassVar[str] = "blur.dead"
    reason: ClassVar[str] = "blur"
    unit: ClassVar[str] = "sharpness"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the variance of the Laplacian at a long side of 120 px."""
        return frames.column("sharpness")

    def keep(self, scores: Column) -> Mask:
        """Keep from the limit on."""
        return np.asarray(scores >= self.limit)


@dataclass(frozen=True, slots=True)
class Smeared:
    """Drops frames out of focus or smeared along one direction, whatever their light and contrast."""

    rule: ClassVar[str] = "blur.smeared"
    reason: ClassVar[str] = "blur"
    unit: ClassVar[str] = "edge ratio"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the energy of second over first differences at a long side of 120 px, the less of across and down."""
        return frames.column("edge_ratio")

    def keep(self, scores: Column) -> Mask:
        """Keep from the limit on."""
        return np.asarray(scores >= self.limit)


@dataclass(frozen=True, slots=True)
class RelativeBlur(FarBelow):
    """Drops frames far more blurred than others of their camera and time of day."""

    rule: ClassVar[str] = "blur.relative"
    reason: ClassVar[str] = "blur"
    unit: ClassVar[str] = "robust z of log edge ratio"

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the robust z of the logarithm of the edge ratio; NaN in small populations."""
        return robust_z(np.log(np.maximum(frames.column("edge_ratio"), _LEAST_RATIO)), frames.populations, _LOG_FLOOR)
