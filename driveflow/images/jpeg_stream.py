"""Tell whether the coded stream of a JPEG holds the whole picture."""

import re
from dataclasses import dataclass

from driveflow.errors import BrokenDataError

END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")  # stuffed bytes, fill bytes and restart markers belong to the scan
_STANDALONE = frozenset([0x01, *range(0xD0, 0xD9)])
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset([0xC2, 0xC6, 0xCA, 0xCE])
_EXTRANEOUS = re.compile(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})")
_MAX_SCAN_PIXELS = 2_000_000_000  # scans times pixels: a small file with thousands of scans would decode for hours
_PADDING_SLACK_BYTES = 8  # what a decoder holds in its bit buffer when it counts padding


@dataclass(frozen=True, slots=True)
class JpegStream:
    """The outline of one JPEG stream; `exclusive_end` is None where no end marker was found."""

    width: int
    height: int
    precision_bits: int
    progressive: bool
    scans: int
    exclusive_end: int | None


def outline(data: bytes) -> JpegStream:
    """Walk the markers of `data` without decoding anything.

    Raises:
        BrokenDataError: truncated, where the file ends before the first scan.
    """
    at, scans = 2, 0
    width = height = precision = 0
    progressive = False
    while (found := _MARKER.search(data, at)) is not None:
        code, at = data[found.end() - 1], found.end()
        if code == 0xD9:
            break
        if code in _STANDALONE:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        if code in _FRAME_HEADERS and not width:
            precision = data[at + 2] if at + 2 < len(data) else 0
            height = int.from_bytes(data[at + 3 : at + 5], "big")
            width = int.from_bytes(data[at + 5 : at + 7], "big")
            progressive = code in _PROGRESSIVE
        scans += code == 0xDA
        at += max(length, 2)
    if scans == 0 or not width:
        raise BrokenDataError("truncated", f"a JPEG of {len(data):,} bytes that ends before its picture data")
    return JpegStream(width, height, precision, progressive, scans, at if found is not None else None)


def check_stream(data: bytes) -> None:
    """Raise where any part of the picture in `data` is missing or damaged.

    A stream whose only fault is a missing end marker holds the full picture and passes.

    Raises:
        BrokenDataError: truncated, corrupt, unsupported or too_large.
    """
    stream = outline(data)
    if stream.precision_bits != 8:
        raise BrokenDataError("unsupported", f"a {stream.precision_bits}-bit JPEG; convert it to 8 bits or to PNG")
    if stream.scans * stream.width * stream.height > _MAX_SCAN_PIXELS:
        raise BrokenDataError("too_large", f"{stream.scans} scans of {stream.width}x{stream.height} pixels to decode")
    if stream.exclusive_end is None:
        _check_cut(data, stream)
    else:
        _raise_for(_complaint(data[: stream.exclusive_end]), data[: stream.exclusive_end])


def _check_cut(data: bytes, stream: JpegStream) -> None:
    """Judge a stream without end marker; a hole of zeros at its end is no picture data."""
    if stream.progressive or stream.scans > 1:
        raise BrokenDataError("truncated", "the file ends before the last scan: its end marker is missing")
    body = data.rstrip(b"\0")
    zeros = len(data) - len(body)
    body += b"\0" if body.endswith(b"\xff") else b""  # the zero that stuffs a coded 0xff
    complaint = _complaint(body + END)
    if complaint and zeros:  # one or two coded bytes may have been zeros themselves
        padded = _complaint(body + b"\0\0" + END)
        complaint = "" if 0 <= _extraneous(padded)[0] <= 2 else complaint
    if not complaint:
        return
    hole = f", after it {zeros:,} zero bytes" if zeros > 2 else ""
    raise BrokenDataError("truncated", f"the picture data stops after {len(body):,} bytes{hole} ({complaint})")


def _complaint(data: bytes) -> str:
    """Return the first warning of libjpeg-turbo, empty where it has none; the smallest scale still reads every bit."""
    import simplejpeg

    try:
        colorspace = simplejpeg.decode_jpeg_header(data)[2]
        wanted = "CMYK" if colorspace in {"CMYK", "YCCK"} else "GRAY"
        simplejpeg.decode_jpeg(data, colorspace=wanted, min_height=1, min_width=1, min_factor=1, strict=True)
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


def _raise_for(complaint: str, data: bytes) -> None:
    """Raise for what means missing or damaged picture data; padding and odd headers do not."""
    lower = complaint.lower()
    if "premature end" in lower:
        raise BrokenDataError("truncated", f"part of the picture is missing ({complaint})")
    count, marker = _extraneous(complaint)
    if count < 0 and ("corrupt jpeg data" in lower or "unsupported" in lower or "bogus" in lower):
        raise BrokenDataError("corrupt", f"the picture data is damaged ({complaint})")
    in_scan = marker == 0xD9 or 0xD0 <= marker <= 0xD7
    if count > 2 and in_scan and not _is_padding(data, count):
        raise BrokenDataError("corrupt", f"the picture data is damaged ({complaint})")


def _extraneous(complaint: str) -> tuple[int, int]:
    """Return how many bytes nobody needed and the marker after them; (0, 0) without complaint, (-1, -1) for another."""
    if not complaint:
        return 0, 0
    found = _EXTRANEOUS.search(complaint)
    return (int(found[1]), int(found[2], 16)) if found else (-1, -1)


def _is_padding(data: bytes, count: int) -> bool:
    """Return whether the `count` unneeded bytes are one run of fill: a hole's run is longer, damage is no run."""
    body = data.removesuffix(END)
    run = len(body) - len(body.rstrip(body[-1:]))
    return abs(run - count) <= _PADDING_SLACK_BYTES
