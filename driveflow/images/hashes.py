"""Perceptual hashes: near pictures have near hashes."""

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


def _cosines() -> npt.NDArray[np.float64]:
    """Return the rows of the cosine transform for the kept frequencies."""
    frequency, place = np.arange(_KEPT)[:, None], np.arange(_GRID)[None, :]
    return np.cos(np.pi * (2 * place + 1) * frequency / (2 * _GRID))


def _averages(gray: Pixels) -> npt.NDArray[np.float64]:
    """Average `gray` over a 32 x 32 grid; cells of a smaller picture share pixels."""
    import cv2

    sums = cv2.integral(gray).astype(np.int64)
    (top, bottom), (left, right) = _edges(gray.shape[0]), _edges(gray.shape[1])
    cells = (
        sums[np.ix_(bottom, right)] - sums[np.ix_(top, right)] - sums[np.ix_(bottom, left)] + sums[np.ix_(top, left)]
    )
    areas = np.outer(bottom - top, right - left)
    return np.asarray(cells / areas, dtype=np.float64)


def _edges(length: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    start = np.arange(_GRID) * length // _GRID
    stop = np.maximum((np.arange(_GRID) + 1) * length // _GRID, start + 1)
    return start, stop
