"""Frames as their camera took them, one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driveflow.neighbours.leader_scan import NO_TIME
from filtering.places import Ints, sightings


@dataclass(frozen=True, slots=True)
class Series:
    """For each frame the camera and drive that took it, as a number, when (nanoseconds), and where it stands in order.

    `time_ns` is `NO_TIME` where it is not known; `position_m` is x, y, z from the centre of the Earth, or NaN.
    """

    place: Ints
    time_ns: Ints
    position_m: npt.NDArray[np.float64]
    order: Ints

    def __post_init__(self) -> None:
        if not len(self.place) == len(self.time_ns) == len(self.position_m) == len(self.order):
            raise ValueError("columns of a series differ in length")

    def drives(self) -> Iterator[Ints]:
        """Yield for each camera of each drive the rows of its frames, in order."""
        rows = np.lexsort((self.order, self.place))
        ends = np.flatnonzero(np.diff(self.place[rows])) + 1
        yield from (part for part in np.split(rows, ends) if len(part))

    def take(self, rows: Ints) -> "Series":
        """Return the series of some frames."""
        return Series(self.place[rows], self.time_ns[rows], self.position_m[rows], self.order[rows])


def series(frame_ids: pa.Array | pa.ChunkedArray, sources: pa.Table) -> Series:
    """Return the series of `frame_ids`; a frame with several sources stands where the first of them does."""
    seen = sightings(frame_ids, sources)
    frames, first = np.unique(seen.frame, return_index=True)
    row = np.full(len(frame_ids), -1, np.int64)
    row[frames] = first
    known = row >= 0
    place, time_ns = np.full(len(row), -1, np.int64), np.full(len(row), NO_TIME, np.int64)
    position_m = np.full((len(row), 3), np.nan)
    place[known], time_ns[known] = seen.place[row[known]], seen.time_ns[row[known]]
    position_m[known] = seen.position_m[row[known]]
    return Series(place, time_ns, position_m, seen.order)
