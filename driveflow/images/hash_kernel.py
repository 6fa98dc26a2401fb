"""Hash a grey picture in compiled code; `hashes` is its face.

Averages are whole sums divided once, and the transform adds in one fixed order, so that every processor finds the same.
"""

from typing import Any, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from driveflow.images.decode import Pixels
from driveflow.images.scales import HASH_GRID, SHORT_HASH

Fractions: TypeAlias = npt.NDArray[np.float64]

compiled: Any = numba.njit(cache=True, nogil=True)


@compiled
def cell_averages(gray: Pixels) -> Fractions:
    """Return `gray`, no side of which is shorter, averaged over the grid of the hashes."""
    height, width = gray.shape
    averages = np.empty((HASH_GRID, HASH_GRID))
    columns = np.empty(width, np.int32)
    for cell_row in range(HASH_GRID):
        top, bottom = cell_row * height // HASH_GRID, (cell_row + 1) * height // HASH_GRID
        columns[:] = 0
        for row in range(top, bottom):
            line = gray[row]
            for column in range(width):
                columns[column] += line[column]
        for cell in range(HASH_GRID):
            left, right = cell * width // HASH_GRID, (cell + 1) * width // HASH_GRID
            total = 0
            for column in range(left, right):
                total += columns[column]
            averages[cell_row, cell] = total / ((bottom - top) * (right - left))
    return averages


@compiled
def hashed(gray: Pixels, waves: Fractions) -> tuple[Pixels, Pixels]:
    """Return the bits of both hashes of `gray`, no side of which is shorter than the grid."""
    return hash_bits(cell_averages(gray), waves)


@compiled
def hash_bits(averages: Fractions, waves: Fractions) -> tuple[Pixels, Pixels]:
    """Return the bits of both hashes of the transform by `waves`, a row a frequency."""
    found = _transformed(_transformed(averages, waves).T.copy(), waves).T.copy()
    return _packed(found[:SHORT_HASH, :SHORT_HASH].copy()), _packed(found)


@compiled
def _packed(values: Fractions) -> Pixels:
    """Return for each value, row by row from the highest bit of a byte, whether it is over the median of all."""
    steps = np.rint(values.ravel() * 1e6)  # what is equal by mathematics differs behind this digit
    half = len(steps) // 2 - 1  # of an even number: what is over this one is over the median, and the other way round
    middle = np.partition(steps, half)[half]
    packed = np.zeros(len(steps) // 8, np.uint8)
    for place in range(len(steps)):
        if steps[place] > middle:
            packed[place // 8] |= 1 << (7 - place % 8)
    return packed


@compiled
def _transformed(values: Fractions, waves: Fractions) -> Fractions:
    """Return `waves` times `values`: a row a frequency."""
    found = np.zeros((waves.shape[0], values.shape[1]))
    for frequency in range(waves.shape[0]):
        line = found[frequency]
        for row in range(values.shape[0]):
            added, weight = values[row], waves[frequency, row]
            for column in range(len(line)):
                line[column] += weight * added[column]
    return found
