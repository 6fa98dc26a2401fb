"""Frames behind dirt or drops: some regions lost their edges for a while, the others did not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driveflow.images.signals import steepness
from filtering.measured import Cells, Column, Mask, MeasuredFrames, members

_LOST = -1.0  # in natural logarithms: a cell has lost its edges where two thirds of their steepness are gone


@dataclass(frozen=True, slots=True)
class SoiledLens:
    """Drops frames in a stretch of a drive in which many regions are blurred that usually are not.

    Dirt stays where it is: passing trucks do not count, and dirt that was there in most drives is not seen.
    """

    rule: ClassVar[str] = "soiled_lens"
    reason: ClassVar[str] = "soiled_lens"
    unit: ClassVar[str] = "share of regions without their edges"
    spares_rare: ClassVar[bool] = True
    limit: float
    window_frames: int

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the share of 32 cells that, in the median of the window around a frame, lost their edges.

        A cell is compared with its median in the population, and with what all cells of the frame lost. NaN in small
        populations and in drives shorter than the window.
        """
        lost = _lost(frames)
        scores = np.full(len(lost), np.nan)
        for rows in frames.series.drives():
            if len(rows) >= self.window_frames:
                scores[rows] = _shares(lost[rows], self.window_frames)
        return scores

    def keep(self, scores: Column) -> Mask:
        """Keep up to the limit, and what has no population."""
        return np.asarray(~(scores > self.limit))


def _lost(frames: MeasuredFrames) -> Cells:
    """Return for each cell the logarithm of its steepness against the usual one; NaN in small populations."""
    steep = np.log1p(steepness(frames.grid("steepness_grid")))
    lost = np.full(steep.shape, np.nan)
    for rows in members(frames.populations):
        against = steep[rows] - np.median(steep[rows], axis=0)
        lost[rows] = against - np.median(against, axis=1, keepdims=True)
    return lost


def _shares(lost: Cells, window: int) -> Column:
    """Return the share of lost cells in the median of each window; frames at an end share the window there."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(lost, window, axis=0), axis=-1)
    shares = np.where(np.isnan(medians).any(axis=1), np.nan, (medians < _LOST).mean(axis=1))
    return np.asarray(shares[np.clip(np.arange(len(lost)) - window // 2, 0, len(shares) - 1)].round(4))
