"""What a vector is, and the steps in which cosine distances are told so that they come out the same everywhere."""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

STEPS: Final = 1_000_000.0  # distances are whole numbers of 1 / STEPS
_OTHER_ERRORS: Final = 1e-5  # half a step, a length that is not quite 1, a rounded basis
_ROUNDING: Final = 3 * 2.0**-24  # of a product, and of the two lengths that may bound a part of it
_OFF_LENGTH: Final = 1e-5


def slack(dimensions: int) -> float:
    """Return by how much the bound of a product of two rows of length 1 may err in single precision.

    It holds for sums in any order. Candidates are chosen with this much to spare, and then measured.
    """
    return dimensions * _ROUNDING + _OTHER_ERRORS


def quantised(limit: float) -> float:
    """Return `limit` in the steps that distances have, so that a distance written down as the limit is within it."""
    return float(np.floor(limit * STEPS + 0.5) / STEPS)


def checked(vectors: Vectors) -> Vectors:
    """Return `vectors` as rows that lie one after another.

    Raises:
        ValueError: a row has neither length 1 nor, where there is no vector, length 0.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    squares = np.einsum("ij,ij->i", rows, rows)
    wrong = np.flatnonzero(~((np.abs(squares - 1) < _OFF_LENGTH) | (squares == 0)))
    if len(wrong):
        raise ValueError(f"vectors have length 1, or 0 where there is none; row {wrong[0]} has {squares[wrong[0]]:g}")
    return rows
