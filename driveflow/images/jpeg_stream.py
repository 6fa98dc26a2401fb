"""Tell whether the coded stream of a JPEG holds the whole picture."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from driveflow.errors import BrokenDataError

END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")  # stuffed bytes, fill bytes and restart markers belong to the scan
_STANDALONE = frozenset([0x01, *range(0xD0, 0xD9)])
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset([0xC2, 0xC6, 0xCA, 0xCE])
_ARITHMETIC = frozenset([0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF])
_TABLES, _SCAN, _END = 0xC4, 0xDA, 0xD9

_EXTRANEOUS = re.compile(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})")
_HARMLESS = re.compile(r"adobe|jfif|icc profile|sos parameters for sequential|inconsistent progression", re.IGNORECASE)
_MAX_SCAN_PIXELS = 2_000_000_000  # scans times pixels: a small file with thousands of scans would decode for hours
_PADDING_SLACK_BYTES = 8  # what a decoder holds in its bit buffer when it counts padding
_HOLE = bytes(64)  # so many zero bytes are no code words, see `_may_be_zeros`
_DATA_ZEROS = 2  # so many zero bytes at the end of a cut stream may be coded data


@dataclass(frozen=True, slots=True)
class JpegStream:
    """The outline of one JPEG stream.

    `exclusive_end` is None where no end marker was found. `may_hold_zeros` says whether a run of zero bits can be
    coded data: where the code word of zeros ends every block, a flat picture is nothing else.
    """

    width: int
    height: int
    precision_bits: int
    progressive: bool
    scans: int
    first_scan: int
    may_hold_zeros: bool
    exclusive_end: int | None


def outline(data: bytes) -> JpegStream:
    """Walk the markers of `data` without decoding anything.

    Raises:
        BrokenDataError: truncated, where the file ends before the first scan.
    """
    size, precision, kind = (0, 0), 0, 0
    zeros, scans, first_scan, end = True, 0, 0, None
    for code, at in _markers(data):
        if code in _FRAME_HEADERS and not kind:
            kind, precision = code, data[at + 2] if at + 2 < len(data) else 0
            size = (int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 3 : at + 5], "big"))
        elif code == _TABLES:
            zeros = zeros and _may_be_zeros(data[at + 2 : at + int.from_bytes(data[at : at + 2], "big")])
        elif code == _SCAN:
            scans, first_scan = scans + 1, first_scan or at
        elif code == _END:
            end = at
    if scans == 0 or not all(size):
        raise BrokenDataError("truncated", f"a JPEG of {len(data):,} bytes that ends before its picture data")
    progressive = kind in _PROGRESSIVE
    zeros = zeros or progressive or kind in _ARITHMETIC
    return JpegStream(*size, precision, progressive, scans, first_scan, zeros, end)


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
        _check_whole(data[: stream.exclusive_end], stream)


def _markers(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the code of each marker and where its segment begins, up to the end marker."""
    at = 2
    while (found := _MARKER.search(data, at)) is not None:
        code, at = data[found.end() - 1], found.end()
        yield code, at
        if code == _END:
            return
        if code not in _STANDALONE:
            at += max(int.from_bytes(data[at : at + 2], "big"), 2)


def _may_be_zeros(tables: bytes) -> bool:
    """Return whether in every AC table of a DHT segment the code word of zeros ends a block.

    The first symbol of a table has the code word of zeros. Where that is no end of block, 64 zero bytes would be some
    170 coefficients of -1 in a row.
    """
    at = 0
    while at + 17 <= len(tables):
        is_ac, count = tables[at] >> 4, sum(tables[at + 1 : at + 17])
        if is_ac and tables[at + 17 : at + 18] != b"\0":
            return False
        at += 17 + count
    return True


def _check_cut(data: bytes, stream: JpegStream) -> None:
    """Judge a stream without end marker; a hole of zeros at its end is no picture data."""
    if stream.progressive or stream.scans > 1:
        raise BrokenDataError("truncated", "the file ends before the last scan: its end marker is missing")
    body = data.rstrip(b"\0")
    zeros = len(data) - len(body)
    body += b"\0" if body.endswith(b"\xff") else b""  # the zero that stuffs a coded 0xff
    complaint = _complaint(body + END)
    if complaint and 0 < zeros <= _DATA_ZEROS:
        complaint = _complaint(data + END)
    if complaint:
        hole = f", after it {zeros:,} zero bytes" if zeros > _DATA_ZEROS else ""
        detail = f"the picture data stops after {len(body):,} bytes{hole} ({complaint})"
        raise BrokenDataError("truncated", detail)


def _check_whole(data: bytes, stream: JpegStream) -> None:
    """Judge a stream that has its end marker; padding and odd headers are no damage."""
    hole = -1 if stream.may_hold_zeros else data.find(_HOLE, stream.first_scan)
    if hole >= 0 and data[hole:].strip(b"\0") != END:
        raise BrokenDataError("corrupt", f"the picture data has a hole of zero bytes from byte {hole:,} on")
    complaint = _complaint(data)
    if not complaint or (_HARMLESS.search(complaint) and _decodes(data)):
        return
    if "premature end" in complaint.lower():
        raise BrokenDataError("truncated", f"part of the picture is missing ({complaint})")
    found = _EXTRANEOUS.search(complaint)
    if found is None or not _is_padding(data, int(found[1]), int(found[2], 16)):
        raise BrokenDataError("corrupt", f"the picture data is damaged ({complaint})")


def _complaint(data: bytes) -> str:
    """Return the first warning of libjpeg-turbo, empty where it has none; the smallest scale still reads every bit."""
    try:
        _decode(data, strict=True)
    except (ValueError, RuntimeError) as error:
        return str(error) or "it cannot be decoded"
    return ""


def _decodes(data: bytes) -> bool:
    try:
        _decode(data, strict=False)
    except (ValueError, RuntimeError):
        return False
    return True


def _decode(data: bytes, *, strict: bool) -> None:
    import simplejpeg

    kind = simplejpeg.decode_jpeg_header(data, strict=strict)[2]
    wanted = "CMYK" if kind in {"CMYK", "YCCK"} else "GRAY"
    simplejpeg.decode_jpeg(data, colorspace=wanted, min_height=1, min_width=1, min_factor=1, strict=strict)


def _is_padding(data: bytes, count: int, marker: int) -> bool:
    """Return whether `count` unneeded bytes before `marker` are harmless: junk between headers, or fill at the end.

    Fill is one run of zeros or ones as long as what was not needed; the run of a hole is longer, damage is no run.
    """
    if marker != _END:
        return not 0xD0 <= marker <= 0xD7
    body = data.removesuffix(END)
    run = len(body) - len(body.rstrip(body[-1:])) if body[-1:] in {b"\0", b"\xff"} else 0
    return count - 1 <= run <= count + _PADDING_SLACK_BYTES
