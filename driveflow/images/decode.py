"""Decode frames into upright pixel arrays."""

from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from driveflow.errors import BrokenDataError
from driveflow.images.jpeg_eighth import decode_eighth
from driveflow.images.probe import open_picture, orientation
from driveflow.images.quiet import quiet

Pixels: TypeAlias = npt.NDArray[np.uint8]
_JPEG = b"\xff\xd8\xff"
_MARK, _APP1, _SCAN, _XMP = 0xFF, 0xE1, 0xDA, b"tiff:Orientation"
_MAX_REDUCTION = 8  # what a JPEG decoder can leave out
_SIXTEEN_BIT_MODES = frozenset(["I", "I;16", "I;16B", "I;16L", "I;16N"])


def decode_rgb(data: bytes) -> Pixels:
    """Return the picture in `data` upright, as height x width x 3 (red, green, blue).

    16-bit pictures keep their upper 8 bits, alpha is left out, of several pages the first counts. Bytes that never
    passed `probe` may come back partly grey.

    Raises:
        BrokenDataError: corrupt, where nothing can be decoded.
    """
    return decode_rgb_reduced(data, 0)


def decode_rgb_reduced(data: bytes, min_side_px: int) -> Pixels:
    """Return the picture as `decode_rgb` does, halved as often as its long side stays `min_side_px` or more.

    A JPEG is halved at most three times, inside its decoder; with 0 a picture comes back as it is.

    Raises:
        BrokenDataError: corrupt, where nothing can be decoded.
    """
    if data.startswith(_JPEG):
        decoded = _decode_jpeg(data, "RGB", min_side_px)
        if decoded is not None:
            return _turn(decoded, jpeg_orientation(data))
    return _decode_other(data, "RGB", min_side_px)


def decode_gray_reduced(data: bytes, min_side_px: int) -> Pixels:
    """Return the picture in `data` upright and grey, halved as often as its long side stays `min_side_px` or more.

    A JPEG is halved at most three times, inside its decoder; a picture that is smaller comes back as it is.

    Raises:
        BrokenDataError: corrupt, where nothing can be decoded.
    """
    if data.startswith(_JPEG):
        decoded = _decode_jpeg(data, "GRAY", min_side_px)
        if decoded is not None:
            return _turn(decoded[:, :, 0], jpeg_orientation(data))
    return _decode_other(data, "L", min_side_px)


def jpeg_orientation(data: bytes) -> int:
    """Return the orientation, 1 to 8, that the metadata of a JPEG asks for; 1 where there is none."""
    if not _may_be_turned(data):
        return 1
    with quiet():
        try:
            with open_picture(data) as image:
                return orientation(image)
        except Exception:  # noqa: BLE001 broken metadata must not cost the picture
            return 1


def _may_be_turned(data: bytes) -> bool:
    """Return whether a segment before the picture data may hold an orientation; only those are looked at."""
    at = 2
    try:
        while data[at] == _MARK and data[at + 1] != _SCAN:
            end = at + 2 + (data[at + 2] << 8) + data[at + 3]
            if data[at + 1] == _APP1 and (data.find(b"Exif\0", at, end) > 0 or data.find(_XMP, at, end) > 0):
                return True
            at = at + 1 if data[at + 1] == _MARK else end  # a fill byte
        return data[at] != _MARK  # lost among damaged segments: whoever reads metadata decides
    except IndexError:
        return False


def _decode_jpeg(data: bytes, colorspace: str, min_side_px: int) -> Pixels | None:
    """Return the pixels, or None where this decoder cannot: CMYK is left to Pillow."""
    import simplejpeg

    try:
        height, width, kind, _ = simplejpeg.decode_jpeg_header(data, strict=False)
        if kind in {"CMYK", "YCCK"}:
            return None
        factor = _reduction(max(height, width), min_side_px, _MAX_REDUCTION)
        found = decode_eighth(data) if factor == _MAX_REDUCTION and colorspace == "RGB" else None
        if found is not None:
            return found
        size = {"min_height": -(-height // factor), "min_width": -(-width // factor)}
        return cast("Pixels", simplejpeg.decode_jpeg(data, colorspace=colorspace, strict=False, **size))
    except (ValueError, RuntimeError, KeyError):  # KeyError: a header that ends before it names its colours
        return None


def _decode_other(data: bytes, mode: str, min_side_px: int) -> Pixels:
    with quiet():
        try:
            with open_picture(data) as image:
                image.load()
                pixels = _to_mode(image, mode)
                factor = _reduction(max(pixels.size), min_side_px, 1 << 16)
                reduced = pixels.reduce(factor) if factor > 1 else pixels
                return _turn(np.asarray(reduced, dtype=np.uint8), orientation(image))
        except Exception as error:  # Pillow raises nearly any type on broken bytes
            raise BrokenDataError("corrupt", f"cannot be decoded: {error or type(error).__name__}") from error


def _to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Convert to 8 bits by hand where Pillow would clip 16-bit values at 255."""
    if image.mode in _SIXTEEN_BIT_MODES:
        values = np.asarray(image).astype(np.int64)
        return Image.fromarray((values >> 8).clip(0, 255).astype(np.uint8)).convert(mode)
    if image.mode == "P" and "transparency" in image.info:
        return image.convert("RGBA").convert(mode)
    return image.convert(mode)


def _reduction(long_side_px: int, min_side_px: int, most: int) -> int:
    """Return the largest power of two, up to `most`, that leaves `min_side_px`; 1 where that is 0."""
    factor = 1
    while min_side_px and factor < most and long_side_px >= 2 * factor * min_side_px:
        factor *= 2
    return factor


def _turn(pixels: Pixels, turn: int) -> Pixels:
    """Bring pixels with EXIF orientation `turn` upright."""
    if turn in {5, 6, 7, 8}:
        pixels = pixels.swapaxes(0, 1)
    if turn in {3, 4, 7, 8}:
        pixels = pixels[::-1]
    if turn in {2, 3, 6, 7}:
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)
