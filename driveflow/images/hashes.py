"""Perceptual hashes: near pictures have near hashes."""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driveflow.images.decode import Pixels
from driveflow.images.scales import HASH_GRID, LONG_HASH


@dataclass(frozen=True, slots=True)
class Hashes:
    """The 64-bit hash as an unsigned integer, and the 256-bit hash as 32 bytes."""

    phash64: int
    phash256: bytes


def perceptual_hashes(gray: Pixels) -> Hashes:
    """Return the perceptual hashes of a grey picture.

    The picture is averaged to 32 x 32, its cosine transform taken, and the 8 x 8 (16 x 16) lowest frequencies compared
    with their median, row by row from the highest bit. The averages are exact integers divided once, so a hash is the
    same on every processor.

    >>> perceptual_hashes(np.zeros((40, 40), np.uint8)).phash64
    0
    """
    from driveflow.images.hash_kernel import hashed

    down, across = (-(-HASH_GRID // side) for side in gray.shape)
    if down * across > 1:  # a picture with fewer pixels than cells
        gray = gray.repeat(down, axis=0).repeat(across, axis=1)
    short, long = hashed(np.ascontiguousarray(gray), _waves())
    return Hashes(int.from_bytes(short.tobytes(), "big"), long.tobytes())


def phash64(gray: Pixels) -> int:
    """Return the 64-bit perceptual hash of a grey picture, as an unsigned integer."""
    return perceptual_hashes(gray).phash64


def hamming_bits(left: int, right: int) -> int:
    """Return in how many bits two hashes differ.

    >>> hamming_bits(0b1100, 0b1010)
    2
    """
    return (left ^ right).bit_count()


@functools.cache
def _waves() -> npt.NDArray[np.float64]:
    """Return the rows of the cosine transform for the kept frequencies."""
    frequency, place = np.arange(LONG_HASH)[:, None], np.arange(HASH_GRID)[None, :]
    return np.cos(np.pi * (2 * place + 1) * frequency / (2 * HASH_GRID))
