"""Frames without sharp edges: out of focus, smeared by motion, or behind a wet lens."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames, robust_z

# Sharpness is a variance: it goes by factors, so it is compared as a logarithm; 0.25 is a factor of 1.3.
_LOG_FLOOR = 0.25


@dataclass(frozen=True, slots=True)
class DeadBlur:
    """Drops frames whose sharpness is under an absolute limit."""

    rule: ClassVar[str] = "blur.dead"
    reason: ClassVar[str] = "blur"
    unit: ClassVar[str] = "sharpness"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the variance of the Laplacian at a long side of 512 px."""
        return frames.column("sharpness")

    def keep(self, scores: Column) -> Mask:
        """Keep from the limit on."""
        return np.asarray(scores >= self.limit)


@dataclass(frozen=True, slots=True)
class RelativeBlur:
    """Drops frames far less sharp than others of their camera and time of day."""

    rule: ClassVar[str] = "blur.relative"
    reason: ClassVar[str] = "blur"
    unit: ClassVar[str] = "robust z of log sharpness"
    spares_rare: ClassVar[bool] = True
    max_robust_z: float

    @property
    def limit(self) -> float:
        """What a score is compared with."""
        return -self.max_robust_z

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the robust z of the logarithm of the sharpness; NaN in small populations."""
        return robust_z(np.log1p(frames.column("sharpness")), frames.populations, _LOG_FLOOR)

    def keep(self, scores: Column) -> Mask:
        """Keep what lies no more than the limit below its population, and what has no population."""
        return np.asarray(~(scores < self.limit))
