"""The signals of frames beside the population each frame is judged in."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Column: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Groups: TypeAlias = npt.NDArray[np.int64]

MIN_POPULATION = 50  # under it a median says little, and only dead limits count
_NORMAL_MAD = 1.4826  # the median absolute deviation of a normal distribution, times this, is its standard deviation


@dataclass(frozen=True, slots=True)
class MeasuredFrames:
    """Signals (columns of `tables.SIGNALS`, every row measured) and the number of each frame's population."""

    signals: pa.Table
    populations: Groups

    def __post_init__(self) -> None:
        if len(self.populations) != self.signals.num_rows:
            raise ValueError(f"{self.signals.num_rows} rows of signals, {len(self.populations)} populations")

    def column(self, name: str) -> Column:
        """Return one signal as doubles, rounded back to the decimals it was measured with."""
        return np.asarray(self.signals[name].to_numpy().astype(np.float64).round(4))


def robust_z(values: Column, populations: Groups, floor: float) -> Column:
    """Return how many robust standard deviations each value lies above the median of its population, to two decimals.

    The deviation is 1.4826 times the median absolute deviation, but no less than `floor`, in the unit of the values:
    in a nearly constant population nothing is far. NaN in populations of fewer than 50.

    >>> robust_z(np.array([1.0] * 49 + [11.0]), np.zeros(50, np.int64), floor=2.0)[-1]
    np.float64(5.0)
    """
    scores = np.full(len(values), np.nan)
    order = np.argsort(populations, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(populations[order]) != 0)) if len(order) else np.array([], int)
    for rows in np.split(order, starts[1:]) if len(order) else []:
        if len(rows) >= MIN_POPULATION:
            offsets = values[rows] - np.median(values[rows])
            deviation = max(_NORMAL_MAD * float(np.median(np.abs(offsets))), floor)
            scores[rows] = np.round(offsets / deviation, 2)
    return scores
