"""Everything cheap that one scaled decode of a frame tells."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from driveflow.canonical import digest
from driveflow.images.decode import Pixels, decode_gray_reduced
from driveflow.images.hashes import phash64

SHARPNESS_LONG_SIDE_PX: Final = 512
DARK_LEVEL: Final = 10  # grey levels under it are dark
BRIGHT_LEVEL: Final = 245  # grey levels over it are bright
# Halving stops at 3/4 of the fixed scale: what is lost above it costs half the decoding time.
_DECODED_LONG_SIDE_PX: Final = 384
# Raise `version` when the meaning of any signal changes: signals of another extractor are never mixed in.
EXTRACTOR: Final = digest({"name": "signals", "version": 1, "sharpness_long_side_px": SHARPNESS_LONG_SIDE_PX})


@dataclass(frozen=True, slots=True)
class Signals:
    """The measured columns of `tables.SIGNALS`, rounded so that two processors agree; grey levels are 0..255."""

    phash64: int
    brightness: float
    contrast: float
    dark_share: float
    bright_share: float
    sharpness: float


def measure(data: bytes) -> Signals:
    """Measure the signals of the encoded picture `data`.

    Raises:
        BrokenDataError: corrupt, where it cannot be decoded.
    """
    gray = decode_gray_reduced(data, _DECODED_LONG_SIDE_PX)
    mean, variance = _moments(gray)
    return Signals(
        phash64=phash64(gray),
        brightness=round(mean, 2),
        contrast=round(variance**0.5, 2),
        dark_share=round(_share(gray < DARK_LEVEL), 4),
        bright_share=round(_share(gray > BRIGHT_LEVEL), 4),
        sharpness=round(_sharpness(gray), 2),
    )


def _sharpness(gray: Pixels) -> float:
    """Return the variance of the Laplacian with the long side at 512 px, by integer arithmetic."""
    import cv2

    height, width = gray.shape
    scale = SHARPNESS_LONG_SIDE_PX / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    resized = cv2.resize(gray, size, interpolation=cv2.INTER_LINEAR_EXACT)
    return _moments(np.asarray(cv2.Laplacian(resized, cv2.CV_16S), dtype=np.int16))[1]


def _moments(values: Pixels | npt.NDArray[np.int16]) -> tuple[float, float]:
    """Return mean and variance; both sums are whole numbers that a double holds exactly."""
    import cv2

    mean = cv2.sumElems(values)[0] / values.size
    mean_square = cv2.norm(values, cv2.NORM_L2SQR) / values.size
    return mean, max(mean_square - mean * mean, 0.0)


def _share(mask: npt.NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(mask)) / mask.size
