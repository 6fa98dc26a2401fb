"""Everything cheap that one scaled decode of a frame tells."""

import functools
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from driveflow.code_digest import module_digest
from driveflow.images.decode import Pixels, decode_rgb_reduced
from driveflow.images.hashes import perceptual_hashes
from driveflow.images.scales import DECODED_LONG_SIDE_PX, STEEPNESS_STEPS

_MODULES: Final = (
    "decode",
    "eighth_kernel",
    "hash_kernel",
    "hashes",
    "jpeg_eighth",
    "scales",
    "signals",
    "sweep_kernel",
)
_WORD: Final = (1 << 64) - 1


@functools.cache
def extractor_digest() -> str:
    """Return the digest of the code that measures: signals of other code are never mixed in."""
    return module_digest(*(f"driveflow.images.{name}" for name in _MODULES))


@dataclass(frozen=True, slots=True)
class Signals:
    """The measured columns of `tables.SIGNALS`, whole sums divided once, so that processors agree; levels 0..255."""

    phash64: int
    phash256: bytes
    thumbnail_print: int
    brightness: float
    contrast: float
    dark_share: float
    bright_share: float
    sharpness: float
    edge_ratio: float
    saturation: float
    red_blue: float
    green_cast: float
    tail_share: float
    steepness_grid: bytes
    red_blue_grid: bytes


def measure(data: bytes) -> Signals:
    """Measure the signals of the encoded picture `data`.

    Raises:
        BrokenDataError: corrupt, where it cannot be decoded.
    """
    return measure_pixels(decode_rgb_reduced(data, DECODED_LONG_SIDE_PX))


def measure_pixels(rgb: Pixels) -> Signals:
    """Measure the signals of a reduced picture."""
    from driveflow.images import sweep_kernel as kernel

    found = kernel.measured(rgb)
    edges, inner = found.squares.tolist(), _inner(found.small_shape)
    hashes = perceptual_hashes(found.gray)
    total, pixels = found.totals.tolist(), found.gray.size
    mean, red, green, blue = (total[place] / pixels for place in (kernel.GRAY, kernel.RED, kernel.GREEN, kernel.BLUE))
    return Signals(
        phash64=hashes.phash64,
        phash256=hashes.phash256,
        thumbnail_print=found.fingerprint & _WORD,
        brightness=mean,
        contrast=sqrt(max(total[kernel.GRAY_SQUARES] / pixels - mean * mean, 0.0)),
        dark_share=total[kernel.DARK] / pixels,
        bright_share=total[kernel.BRIGHT] / pixels,
        sharpness=_sharpness(edges, inner),
        edge_ratio=_edge_ratio(edges, inner),
        saturation=total[kernel.COLOUR_RANGE] / pixels,
        red_blue=red - blue,
        green_cast=green - (red + blue) / 2,
        tail_share=found.tail_rows / found.gray.shape[0],
        steepness_grid=found.steepness.tobytes(),
        red_blue_grid=found.red_blue.tobytes(),
    )


def steepness(grids: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return grey levels a pixel, from the bytes of `steepness_grid`."""
    return np.asarray(np.square(grids / STEEPNESS_STEPS))


def _edge_ratio(edges: list[int], inner: int) -> float:
    """Return the energy of second over first differences, the less of across and down; without edges 1.

    Blur takes from second differences more than from first ones, along the direction in which it smears; less light and
    less contrast take the same part of both.
    """
    across, down, bent_across, bent_down = edges[:4]
    return min((bent_across + inner) / (across + inner), (bent_down + inner) / (down + inner))


def _sharpness(edges: list[int], inner: int) -> float:
    """Return the variance of the Laplacian."""
    mean, mean_square = edges[4] / inner, edges[5] / inner
    return max(mean_square - mean * mean, 0.0)


def _inner(shape: tuple[int, int]) -> int:
    return max(shape[0] - 2, 1) * max(shape[1] - 2, 1)
