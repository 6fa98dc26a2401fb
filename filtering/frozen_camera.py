"""Frames that a camera sent again and again while the car went on."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driveflow.neighbours.leader_scan import NO_TIME
from filtering.measured import Column, Mask, MeasuredFrames
from filtering.places import Ints
from filtering.series import Series


@dataclass(frozen=True, slots=True)
class FrozenCamera:
    """Drops all but the first of equal pictures that follow each other in the drive of a camera.

    No sensor sends the same picture twice, however still the world; the first one may be real.
    """

    rule: ClassVar[str] = "frozen_camera"
    reason: ClassVar[str] = "frozen_camera"
    unit: ClassVar[str] = "equal pictures before it"
    spares_rare: ClassVar[bool] = False
    limit: ClassVar[float] = 1.0
    min_frames: int

    def score(self, frames: MeasuredFrames) -> Column:
        """Return how many equal pictures came directly before a frame; 0 in runs of fewer than `min_frames`.

        Equal is every pixel of the picture at an eighth of its size. A picture that has neither another time nor
        another position than the one before it is no repetition.
        """
        prints = frames.signals["thumbnail_print"].to_numpy()
        scores = np.zeros(len(prints))
        for rows in frames.series.drives():
            repeats = np.append(False, prints[rows[1:]] == prints[rows[:-1]]) & _moved(frames.series, rows)
            starts = np.flatnonzero(~repeats)
            run = np.cumsum(~repeats) - 1
            long = np.diff(np.append(starts, len(rows))) >= self.min_frames
            scores[rows] = np.where(long[run], np.arange(len(rows)) - starts[run], 0)
        return scores

    def keep(self, scores: Column) -> Mask:
        """Keep the first."""
        return np.asarray(scores < self.limit)


def _moved(series: Series, rows: Ints) -> Mask:
    """Return whether time or position went on since the frame before; where neither is known, the order says so."""
    time_ns, position_m = series.time_ns[rows], series.position_m[rows]
    timed = (time_ns[1:] != NO_TIME) & (time_ns[:-1] != NO_TIME)
    placed = ~np.isnan(position_m[1:, 0]) & ~np.isnan(position_m[:-1, 0])
    later = timed & (time_ns[1:] != time_ns[:-1])
    elsewhere = placed & (position_m[1:] != position_m[:-1]).any(axis=1)
    return np.append(True, later | elsewhere | ~(timed | placed))
