"""Perceptual hashes: near pictures have near hashes."""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from driveflow.images.decode import Pixels

_GRID = 32
_KEPT = 8
_DECIMALS: Final = 6  # matrix products of two processors differ far behind this digit


def phash64(gray: Pixels) -> int:
    """Return the 64-bit perceptual hash of a grey picture, as an unsigned integer.

    The picture is averaged to 32 x 32, its cosine transform taken, and the 8 x 8 lowest frequencies compared with their
    median, row by row from the highest bit. The averages are exact integers divided once, so the hash is the same on
    every processor.

    >>> phash64(np.zeros((40, 40), np.uint8))
    0
    """
    basis = _cosines()
    coefficients = np.round(basis @ _averages(gray) @ basis.T, _DECIMALS).ravel()
    bits = coefficients > np.median(coefficients)
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def hamming_bits(left: int, right: int) -> int:
    """Return in how many bits two hashes differ.

    >>> hamming_bits(0b1100, 0b1010)
    2
    """
    return (left ^ right).bit_count()


@functools.cache
def _cosines() -> npt.NDArray[np.float64]:
    """Return the rows of the cosine transform for the kept frequencies."""
    frequency, place = np.arange(_KEPT)[:, None], np.arange(_GRID)[None, :]
    return np.cos(np.pi * (2 * place + 1) * frequency / (2 * _GRID))


def _averages(gray: Pixels) -> npt.NDArray[np.float64]:
    """Average `gray` over a 32 x 32 grid; a picture with fewer pixels than cells is first repeated."""
    import cv2

    height, width = (-(-_GRID // side) for side in gray.shape)
    if height * width > 1:
        gray = gray.repeat(height, axis=0).repeat(width, axis=1)
    rows, columns = (np.arange(_GRID + 1) * side // _GRID for side in gray.shape)
    sums = cv2.integral(gray)[np.ix_(rows, columns)].astype(np.int64)
    cells = np.diff(np.diff(sums, axis=0), axis=1)
    return np.asarray(cells / np.outer(np.diff(rows), np.diff(columns)), dtype=np.float64)
