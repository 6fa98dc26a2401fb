"""Frames whose light says nothing: one single colour, black, white, or far off for their camera and time of day."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Column, Mask, MeasuredFrames, robust_z

# Smallest deviations that count, so that a camera which hardly ever changes does not turn every passing truck into
# a defect: 5 grey levels of brightness, 2.5 of contrast, 2 % of the picture burnt out.
_BRIGHTNESS_FLOOR, _CONTRAST_FLOOR, _SHARE_FLOOR = 5.0, 2.5, 0.02


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


@dataclass(frozen=True, slots=True)
class OverExposed:
    """Drops frames both far brighter and far more burnt out than others of their camera and time of day."""

    rule: ClassVar[str] = "exposure.bright_for_population"
    reason: ClassVar[str] = "over_exposed"
    unit: ClassVar[str] = "robust z of brightness or bright share, the lower"
    spares_rare: ClassVar[bool] = True
    max_robust_z: float

    @property
    def limit(self) -> float:
        """What a score is compared with."""
        return self.max_robust_z

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the lower of the robust z of brightness and of the bright share; NaN in small populations."""
        brightness = robust_z(frames.column("brightness"), frames.populations, _BRIGHTNESS_FLOOR)
        burnt_out = robust_z(frames.column("bright_share"), frames.populations, _SHARE_FLOOR)
        return np.asarray(np.minimum(brightness, burnt_out))

    def keep(self, scores: Column) -> Mask:
        """Keep what lies no more than the limit above its population, and what has no population."""
        return np.asarray(~(scores > self.limit))
