"""Frames that show nothing, whatever they are: black, white, of one colour, drowned in green."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames


@dataclass(frozen=True, slots=True)
class NoContrast:
    """Drops frames of one colour: a covered lens, a dead sensor."""

    rule: ClassVar[str] = "exposure.no_contrast"
    reason: ClassVar[str] = "no_contrast"
    unit: ClassVar[str] = "grey levels of contrast"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the standard deviation of the grey picture."""
        return frames.column("contrast")

    def keep(self, scores: Column) -> Mask:
        """Keep from the limit on."""
        return np.asarray(scores >= self.limit)


@dataclass(frozen=True, slots=True)
class Black:
    """Drops frames that are black nearly everywhere; a night with a single lamp is not."""

    rule: ClassVar[str] = "exposure.black"
    reason: ClassVar[str] = "under_exposed"
    unit: ClassVar[str] = "dark share"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the share of pixels under grey level 10."""
        return frames.column("dark_share")

    def keep(self, scores: Column) -> Mask:
        """Keep under the limit."""
        return np.asarray(scores < self.limit)


@dataclass(frozen=True, slots=True)
class White:
    """Drops frames that are white nearly everywhere."""

    rule: ClassVar[str] = "exposure.white"
    reason: ClassVar[str] = "over_exposed"
    unit: ClassVar[str] = "bright share"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the share of pixels over grey level 245."""
        return frames.column("bright_share")

    def keep(self, scores: Column) -> Mask:
        """Keep under the limit."""
        return np.asarray(scores < self.limit)


@dataclass(frozen=True, slots=True)
class GreenCast:
    """Drops frames drowned in green: what is left where a camera lost the colours."""

    rule: ClassVar[str] = "exposure.green_cast"
    reason: ClassVar[str] = "green_cast"
    unit: ClassVar[str] = "levels of green over red and blue"
    spares_rare: ClassVar[bool] = False
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the mean of green minus the mean of red and blue."""
        return frames.column("green_cast")

    def keep(self, scores: Column) -> Mask:
        """Keep under the limit."""
        return np.asarray(scores < self.limit)
