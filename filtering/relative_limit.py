"""Limits in robust standard deviations: how far a frame may lie below or above the others of its population."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask


@dataclass(frozen=True, slots=True)
class FarBelow:
    """Drops what lies too far below its population; frames of a corner case are exempt."""

    spares_rare: ClassVar[bool] = True
    max_robust_z: float

    @property
    def limit(self) -> float:
        """What a score is compared with."""
        return -self.max_robust_z

    def keep(self, scores: Column) -> Mask:
        """Keep what lies no more than the limit below its population, and what has no population."""
        return np.asarray(~(scores < self.limit))


@dataclass(frozen=True, slots=True)
class FarAbove:
    """Drops what lies too far above its population; frames of a corner case are exempt."""

    spares_rare: ClassVar[bool] = True
    max_robust_z: float

    @property
    def limit(self) -> float:
        """What a score is compared with."""
        return self.max_robust_z

    def keep(self, scores: Column) -> Mask:
        """Keep what lies no more than the limit above its population, and what has no population."""
        return np.asarray(~(scores > self.limit))
