"""Frames whose lower part is missing: of one grey or green, as decoders fill what was not sent."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames, robust_z
from filtering.relative_limit import FarAbove

_SHARE_FLOOR = 0.01


@dataclass(frozen=True, slots=True)
class DeadTail:
    """Drops frames of which a large part is missing."""

    rule: ClassVar[str] = "truncated_tail.dead"
    reason: ClassVar[str] = "truncated_tail"
    unit: ClassVar[str] = "share of rows in the tail"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the share of rows, from the bottom up, of one colour that is neither black nor white."""
        return frames.column("tail_share")

    def keep(self, scores: Column) -> Mask:
        """Keep under the limit."""
        return np.asarray(scores < self.limit)


@dataclass(frozen=True, slots=True)
class RelativeTail(FarAbove):
    """Drops frames with a tail that others of their camera and time of day do not have."""

    rule: ClassVar[str] = "truncated_tail.relative"
    reason: ClassVar[str] = "truncated_tail"
    unit: ClassVar[str] = "robust z of the share of rows in the tail"

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the robust z of the share of rows in the tail; NaN in small populations."""
        return robust_z(frames.column("tail_share"), frames.populations, _SHARE_FLOOR)
