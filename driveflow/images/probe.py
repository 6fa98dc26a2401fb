"""Say whether bytes are a usable picture, and what it is."""

import io
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from PIL import Image, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from driveflow.errors import BrokenDataError
from driveflow.images.foreign import foreign_picture, what_else
from driveflow.images.jpeg_stream import check_stream
from driveflow.images.quiet import quiet

MAX_PIXELS: Final = 100_000_000  # decoding stays under 1 GiB
MAX_PIXELS_BY_FORMAT: Final = {"WEBP": 50_000_000, "AVIF": 50_000_000, "JPEG2000": 25_000_000, "GIF": 50_000_000}
MIN_SIDE_PX: Final = 2  # a line or a point is no camera picture
_BOMB_PIXELS, _BOMB_PIXELS_PER_BYTE = 25_000_000, 2_000  # even a black frame takes more bytes than that
_MEDIA_TYPES: Final = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "PPM": "image/x-portable-anymap",
    "AVIF": "image/avif",
    "JPEG2000": "image/jp2",
}
_NEW_SUBFILE, _SUBFILE, _DNG_VERSION, _PREVIEW = 254, 255, 50706, 2  # tags of TIFF, and a value of the second
_LFS = b"version https://git-lfs.github.com/spec/"
_HEIF_BRANDS = frozenset([b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"])
_AVIF_BRANDS = frozenset([b"avif", b"avis"])
_PICTURE_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a picture is; width and height are those of the upright picture, `frames` counts pages."""

    width: int
    height: int
    media_type: str
    frames: int


def probe(data: bytes) -> Probe:
    """Check every coded bit of the picture in `data` and say what it is; of several pages the first is the frame.

    The size is judged from the header, before anything is decoded: at most 100 megapixels (50 for WebP, AVIF
    and GIF, 25 for JPEG 2000, whose decoders need several copies), and above 25 megapixels no more than 2,000 pixels
    a byte.

    Raises:
        BrokenDataError: empty, not_an_image, lfs_pointer, truncated, too_large, too_small, unsupported or corrupt.
    """
    if not data:
        raise BrokenDataError("empty", "the file has no bytes")
    with quiet():
        try:
            return _probe(data)
        except BrokenDataError:
            raise
        except UnidentifiedImageError as error:
            raise _unidentified(data) from error
        except Image.DecompressionBombError as error:
            raise BrokenDataError("too_large", _bomb(str(error))) from error
        except MemoryError as error:
            raise BrokenDataError("too_large", "the picture does not fit into memory") from error
        except Exception as error:  # Pillow raises nearly any type on broken bytes
            raise _undecodable(error) from error


def orientation(image: Image.Image) -> int:
    """Return the EXIF orientation of `image`, 1 to 8; whatever is unreadable or not legal counts as 1."""
    try:
        value = image.getexif().get(0x0112, 1)
    except Exception:  # noqa: BLE001 a broken EXIF block must not cost the picture
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def open_picture(data: bytes) -> Image.Image:
    """Open `data` lazily as one of the formats that a frame may have (MPO opens as JPEG); call inside `quiet()`."""
    return Image.open(io.BytesIO(data), formats=[kind for kind in _MEDIA_TYPES if kind != "MPO"])


def _probe(data: bytes) -> Probe:
    with open_picture(data) as image:
        kind = image.format or ""
        _check_size(image.width, image.height, kind, len(data))
        if isinstance(image, TiffImageFile):
            _check_no_preview(image, data)
        if kind in {"JPEG", "MPO"}:
            check_stream(data)
        else:
            if kind == "PNG":
                _check_png_chunks(data)
            image.load()
        turned = orientation(image) >= 5
        width, height = (image.height, image.width) if turned else image.size
        return Probe(width, height, _MEDIA_TYPES[kind], _pages(image))


def _check_size(width: int, height: int, kind: str, byte_count: int) -> None:
    limit = MAX_PIXELS_BY_FORMAT.get(kind, MAX_PIXELS)
    pixels = width * height
    if pixels > limit:
        detail = f"the header says {width}x{height}, {pixels / 1e6:,.0f} megapixels; at most {limit // 1_000_000}"
        raise BrokenDataError("too_large", detail)
    if pixels > _BOMB_PIXELS and pixels > _BOMB_PIXELS_PER_BYTE * byte_count:
        raise BrokenDataError("too_large", f"{pixels / 1e6:,.0f} megapixels from {byte_count:,} bytes: a bomb")
    if min(width, height) < MIN_SIDE_PX:
        raise BrokenDataError("too_small", f"{width}x{height} pixels; each side needs {MIN_SIDE_PX} or more")


def _check_no_preview(image: TiffImageFile, data: bytes) -> None:
    """Refuse raw photos that are TIFF: their first page is a picture for a menu, and the photo is not read."""
    tags = image.tag_v2
    is_raw = _DNG_VERSION in tags or data[8:10] == b"CR"
    new = tags.get(_NEW_SUBFILE)
    if is_raw or (isinstance(new, int) and new & 1) or tags.get(_SUBFILE) == _PREVIEW:
        what = "a raw photo" if is_raw else "a raw photo (NEF, ARW, DNG), or another TIFF,"
        detail = (
            f"{what} of which only a preview of {image.width}x{image.height} can be read; convert it to JPEG or PNG"
        )
        raise BrokenDataError("unsupported", detail)


def _bomb(message: str) -> str:
    """Say in our words what Pillow refused to open."""
    pixels = re.search(r"\d+", message)
    said = f"the header says {int(pixels[0]) / 1e6:,.0f} megapixels" if pixels else message
    return f"{said}; at most {MAX_PIXELS // 1_000_000}"


def _check_png_chunks(data: bytes) -> None:
    """Check the checksums of the chunks that make the picture; Pillow does not check those of the picture data."""
    at = 8
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 8 + length
        critical = kind in {b"IHDR", b"PLTE", b"IDAT"}
        if critical and zlib.crc32(data[at + 4 : end]).to_bytes(4, "big") != data[end : end + 4]:
            code = "truncated" if end + 4 > len(data) else "corrupt"
            raise BrokenDataError(code, f"PNG chunk {kind.decode()} at byte {at:,} does not match its checksum")
        if kind == b"IEND":
            return
        at = end + 4


def _pages(image: Image.Image) -> int:
    try:
        return int(getattr(image, "n_frames", 1))
    except Exception:  # noqa: BLE001 the first page is whole; what follows it does not matter
        return 1


def _unidentified(data: bytes) -> BrokenDataError:
    if data.startswith(_LFS):
        detail = "a Git LFS pointer, not the picture; fetch the real files with 'git lfs pull'"
        return BrokenDataError("lfs_pointer", detail)
    if data[4:8] == b"ftyp":
        return _unidentified_heif(data[8:12])
    if foreign := foreign_picture(data):
        return BrokenDataError("unsupported", f"{foreign}; convert it to JPEG or PNG")
    if data.startswith(_PICTURE_MAGIC):
        return _unreadable_header(data)
    return BrokenDataError("not_an_image", what_else(data))


def _unidentified_heif(brand: bytes) -> BrokenDataError:
    if brand in _HEIF_BRANDS:
        return BrokenDataError("unsupported", "a HEIC/HEIF picture; convert it to JPEG, PNG or AVIF")
    if brand in _AVIF_BRANDS:
        return BrokenDataError("corrupt", "an AVIF picture with a broken header")
    if brand == b"crx ":
        return BrokenDataError("unsupported", "a raw photo (CR3); convert it to JPEG or PNG")
    video = "not a picture; a video is read where its name ends in .mp4 or .mov"
    return BrokenDataError("not_an_image", f"a media file of brand {brand.decode('latin-1')!r}, {video}")


def _unreadable_header(data: bytes) -> BrokenDataError:
    if data.startswith(b"\xff\xd8"):
        try:
            check_stream(data)
        except BrokenDataError as error:
            return error
    return BrokenDataError("corrupt", "the header of the picture cannot be read")


def _undecodable(error: Exception) -> BrokenDataError:
    text = str(error) or type(error).__name__
    if "truncated" in text.lower():
        return BrokenDataError("truncated", text)
    unsupported = isinstance(error, NotImplementedError) or "unsupported" in text.lower()
    return BrokenDataError("unsupported" if unsupported else "corrupt", text)
