"""The signals of frames beside the population each frame is judged in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from filtering.series import Series

Column: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Cells: TypeAlias = npt.NDArray[np.float64]
Groups: TypeAlias = npt.NDArray[np.int64]

MIN_POPULATION = 50  # under it a median says little, and only dead limits count
_NORMAL_MAD = 1.4826  # the median absolute deviation of a normal distribution, times this, is its standard deviation


@dataclass(frozen=True, slots=True)
class MeasuredFrames:
    """Signals (columns of `tables.SIGNALS`, every row measured), the number of each frame's population, its series."""

    signals: pa.Table
    populations: Groups
    series: Series

    def __post_init__(self) -> None:
        if not len(self.populations) == len(self.series.place) == self.signals.num_rows:
            raise ValueError(f"{self.signals.num_rows} rows of signals, {len(self.populations)} populations")

    def column(self, name: str) -> Column:
        """Return one signal as doubles, rounded back to the decimals it was measured with."""
        return np.asarray(self.signals[name].to_numpy().astype(np.float64).round(4))

    def grid(self, name: str) -> Cells:
        """Return a signal that is measured in cells, a row a frame."""
        column = self.signals[name]
        values = np.frombuffer(b"".join(column.to_pylist()), np.uint8)
        return values.reshape(len(column), column.type.byte_width).astype(np.float64)


def members(populations: Groups) -> Iterator[Groups]:
    """Yield the rows of each population of 50 frames or more."""
    order = np.argsort(populations, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(populations[order])) + 1)
    yield from (part for part in parts if len(part) >= MIN_POPULATION)


def robust_z(values: Column, populations: Groups, floor: float) -> Column:
    """Return how many robust standard deviations each value lies above the median of its population, to two decimals.

    The deviation is 1.4826 times the median absolute deviation, but no less than `floor`, in the unit of the values:
    in a nearly constant population nothing is far. NaN in populations of fewer than 50.

    >>> robust_z(np.array([1.0] * 49 + [11.0]), np.zeros(50, np.int64), floor=2.0)[-1]
    np.float64(5.0)
    """
    scores = np.full(len(values), np.nan)
    for rows in members(populations):
        offsets = values[rows] - np.median(values[rows])
        deviation = max(_NORMAL_MAD * float(np.median(np.abs(offsets))), floor)
        scores[rows] = np.round(offsets / deviation, 2)
    return scores
