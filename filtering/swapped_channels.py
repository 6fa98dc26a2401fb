"""Frames whose red and blue changed places."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from filtering.measured import Cells, Column, Mask, MeasuredFrames, members

_MOST_CORRELATION = -0.3  # lamps of a tunnel tint all cells alike: that is no mirror image of the usual colours


@dataclass(frozen=True, slots=True)
class SwappedChannels:
    """Drops frames that would be far nearer the others of their camera and time of day with red and blue swapped.

    Where a camera sends more swapped frames than right ones, or pictures without colour, nothing can be seen by this.
    """

    rule: ClassVar[str] = "swapped_channels"
    reason: ClassVar[str] = "swapped_channels"
    unit: ClassVar[str] = "levels nearer the population if swapped"
    spares_rare: ClassVar[bool] = True
    limit: float

    def score(self, frames: MeasuredFrames) -> Column:
        """Return how many levels of red minus blue a frame would be nearer its population's median if swapped.

        It is the mean over 32 cells; 0 where cells do not go against the median (correlation over -0.3); NaN in small
        populations.
        """
        red_blue = 2 * (frames.grid("red_blue_grid") - 128)
        scores = np.full(len(red_blue), np.nan)
        for rows in members(frames.populations):
            usual = np.median(red_blue[rows], axis=0)
            gain = np.abs(red_blue[rows] - usual).mean(axis=1) - np.abs(-red_blue[rows] - usual).mean(axis=1)
            scores[rows] = np.where(_correlation(red_blue[rows], usual) < _MOST_CORRELATION, gain.round(2), 0.0)
        return scores

    def keep(self, scores: Column) -> Mask:
        """Keep up to the limit, and what has no population."""
        return np.asarray(~(scores > self.limit))


def _correlation(cells: Cells, usual: Column) -> Column:
    offsets, expected = cells - cells.mean(axis=1, keepdims=True), usual - usual.mean()
    scale = np.sqrt((offsets**2).sum(axis=1) * (expected**2).sum())
    return np.asarray((offsets @ expected) / np.maximum(scale, 1e-9))
