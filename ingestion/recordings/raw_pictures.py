"""Turn raw camera messages and decoded video frames into pictures that can be stored.

They are stored as JPEG of quality 95 with full colour: a lossless 1080p frame would take 3 MB. The bytes may differ
between machines; so the frame is known by its place in the recording, and its bytes by a digest of their own.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.errors import BrokenDataError
from driveflow.images.probe import MAX_PIXELS

Pixels: TypeAlias = npt.NDArray[np.uint8]

QUALITY: Final = 95
_DEPTHS: Final = (8, 10, 12, 14, 16)  # bits that cameras have


def encode_pixels(pixels: Pixels) -> bytes:
    """Return pixels (height x width x 3, red first, or height x width) as a JPEG."""
    import simplejpeg

    whole = np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[:, :, None])
    if whole.shape[2] == 1:
        return bytes(simplejpeg.encode_jpeg(whole, quality=QUALITY, colorspace="GRAY", colorsubsampling="Gray"))
    return bytes(simplejpeg.encode_jpeg(whole, quality=QUALITY, colorspace="RGB", colorsubsampling="444"))


def check_size(width: int, height: int) -> None:
    """Refuse pictures without pixels and those that are too large.

    Raises:
        BrokenDataError: too_small or too_large.
    """
    if width < 1 or height < 1:
        raise BrokenDataError("too_small", f"{width}x{height} pixels")
    if width * height > MAX_PIXELS:
        raise BrokenDataError("too_large", f"{width}x{height} pixels; at most {MAX_PIXELS // 1_000_000} megapixels")


def pixels_of(decoded: Any) -> Pixels:  # noqa: ANN401 a class that the definition makes
    """Return the pixels of a raw image message of ROS or Foxglove.

    Of more than 8 bits the upper 8 are kept, counted from the fewest bits of a camera that hold the whole picture.

    Raises:
        BrokenDataError: unsupported, too_small, too_large or truncated.
    """
    width, height = int(decoded.width), int(decoded.height)
    check_size(width, height)
    encoding = str(decoded.encoding).lower()
    if encoding not in _LAYOUTS:
        raise BrokenDataError("unsupported", f"pixels written as {encoding!r} are not read")
    channels, item_bytes, convert = _LAYOUTS[encoding]
    data = np.frombuffer(decoded.data, dtype=np.uint8)
    row_bytes = width * channels * item_bytes
    step = int(decoded.step) or row_bytes
    if step < row_bytes or len(data) < step * (height - 1) + row_bytes:
        detail = f"{len(data):,} bytes where {height} rows of {max(step, row_bytes):,} are needed"
        raise BrokenDataError("truncated", detail)
    rows = np.lib.stride_tricks.as_strided(data, (height, row_bytes), (step, 1))
    if item_bytes == 2:
        rows = _eight_bits(np.ascontiguousarray(rows).view(">u2" if getattr(decoded, "is_bigendian", 0) else "<u2"))
    return convert(np.ascontiguousarray(rows).reshape(height, width, channels))


def _eight_bits(values: npt.NDArray[np.uint16]) -> Pixels:
    most = int(values.max(initial=0)).bit_length()
    depth = next(bits for bits in _DEPTHS if bits >= most)
    return (values >> (depth - 8)).astype(np.uint8)


def _plain(pixels: Pixels) -> Pixels:
    return pixels[:, :, :3]


def _swapped(pixels: Pixels) -> Pixels:
    return pixels[:, :, 2::-1]


def _by_opencv(code: str) -> Callable[[Pixels], Pixels]:
    def convert(pixels: Pixels) -> Pixels:
        import cv2

        try:
            return np.asarray(cv2.cvtColor(pixels, getattr(cv2, code)), dtype=np.uint8)
        except cv2.error as error:
            height, width = pixels.shape[:2]
            raise BrokenDataError("unsupported", f"{width}x{height} pixels cannot be converted") from error

    return convert


# OpenCV names a mosaic by its second row and column, everybody else by its first
_MOSAICS: Final = {"rggb": "COLOR_BayerBG2RGB", "bggr": "COLOR_BayerRG2RGB", "gbrg": "COLOR_BayerGR2RGB",
                   "grbg": "COLOR_BayerGB2RGB"}  # fmt: skip
_LAYOUTS: Final[Mapping[str, tuple[int, int, Callable[[Pixels], Pixels]]]] = {
    # encoding: channels, bytes of an item, what makes a picture of it
    "rgb8": (3, 1, _plain),
    "8uc3": (3, 1, _swapped),
    "bgr8": (3, 1, _swapped),
    "rgba8": (4, 1, _plain),
    "bgra8": (4, 1, _swapped),
    "8uc4": (4, 1, _swapped),
    "mono8": (1, 1, _plain),
    "8uc1": (1, 1, _plain),
    "mono16": (1, 2, _plain),
    "16uc1": (1, 2, _plain),
    "rgb16": (3, 2, _plain),
    "bgr16": (3, 2, _swapped),
    "yuv422": (2, 1, _by_opencv("COLOR_YUV2RGB_UYVY")),
    "uyvy": (2, 1, _by_opencv("COLOR_YUV2RGB_UYVY")),
    "yuv422_yuy2": (2, 1, _by_opencv("COLOR_YUV2RGB_YUY2")),
    "yuyv": (2, 1, _by_opencv("COLOR_YUV2RGB_YUY2")),
    **{f"bayer_{name}8": (1, 1, _by_opencv(code)) for name, code in _MOSAICS.items()},
    **{f"bayer_{name}16": (1, 2, _by_opencv(code)) for name, code in _MOSAICS.items()},
}
