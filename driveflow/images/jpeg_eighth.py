"""Read a JPEG at an eighth of its size, faster than its decoder can, and level by level the same."""

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from driveflow.images.eighth_kernel import Codes, Plan

_Quants: TypeAlias = dict[int, list[int]]

_QUANT, _CODES, _FRAME, _SCAN, _JFIF, _INTERVAL = 0xDB, 0xC4, 0xC0, 0xDA, 0xE0, 0xDD
_PLAIN = frozenset([*range(0xE1, 0xEE), 0xEF, 0xFE])  # what changes no level: notes, but not Adobe's
_SAMPLING = [0x22, 0x11, 0x11]  # colour at half the width and height
_WHOLE_BLOCKS = bytes([0, 63, 0])
_MOST_TABLES = 4


def decode_eighth(data: bytes) -> npt.NDArray[np.uint8] | None:
    """Return the picture as red, green and blue; None where it is no plain baseline JPEG with colour at half size."""
    from driveflow.images import eighth_kernel as kernel

    header, start = _header(data)
    plan = _plan(header) if header else None
    if plan is None or data.rfind(b"\xff\xd9") < start:
        return None
    height, width = plan.size.tolist()
    planes = np.empty((3, -(-height // 16) * 2, -(-width // 16) * 2), np.uint8)
    padded = np.frombuffer(
        data + b"\0\0", np.uint8
    )  # four bytes are looked at together, the last from the end marker on
    if not kernel.read(padded, start, plan, planes):
        return None
    rgb: npt.NDArray[np.uint8] = kernel.colours(planes, -(-height // 8), -(-width // 8))
    return rgb


def _header(data: bytes) -> tuple[bytes, int]:
    """Return the segments that change levels, and where the coded picture starts; nothing where one is not known."""
    at, parts = 2, []
    while at + 4 <= len(data) and data[at] == 0xFF:
        kind, end = data[at + 1], at + 2 + (data[at + 2] << 8) + data[at + 3]
        if kind in {_QUANT, _CODES, _FRAME, _SCAN, _INTERVAL} or (kind == _JFIF and data[at + 4 : at + 9] == b"JFIF\0"):
            parts.append(data[at:end])
        elif kind not in _PLAIN and kind != _JFIF:
            break
        if kind == _SCAN:
            return b"".join(parts), end
        at = end
    return b"", 0


@functools.lru_cache(maxsize=64)
def _plan(header: bytes) -> "Plan | None":
    """Return what the segments of `header` say, which frames of a camera share; None where it is left to others."""
    from driveflow.images import eighth_kernel as kernel

    direct, one, many = (np.zeros((kernel.TABLES, 1 << kernel.LOOK), np.int32) for _ in range(3))
    last, offset = (np.zeros((kernel.TABLES, 17), np.int32) for _ in range(2))
    codes = kernel.Codes(direct, one, many, last, offset, np.zeros((kernel.TABLES, 256), np.uint8))
    quants: _Quants = {}
    known: set[int] = set()
    frame = scan = b""
    has_jfif = False
    for kind, body in _segments(header):
        if kind == _QUANT and not _add_quants(body, quants):
            return None
        if kind == _CODES and not _add_codes(body, codes, known):
            return None
        if kind == _INTERVAL and any(body):
            return None
        frame = body if kind == _FRAME else frame
        scan = body if kind == _SCAN else scan
        has_jfif |= kind == _JFIF
    return _checked(frame, scan, has_jfif, quants, known, codes)


def _segments(header: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(header):
        end = at + 2 + (header[at + 2] << 8) + header[at + 3]
        yield header[at + 1], header[at + 4 : end]
        at = end


def _add_quants(body: bytes, quants: _Quants) -> bool:
    while body:
        if body[0] >= _MOST_TABLES or len(body) < 65:  # of 16 bits, or cut off
            return False
        quants[body[0]], body = list(body[1:65]), body[65:]
    return True


def _add_codes(body: bytes, codes: "Codes", known: set[int]) -> bool:
    from driveflow.images import eighth_kernel as kernel

    while body:
        kind, table, total = body[0] >> 4, body[0] & 15, sum(body[1:17])
        if kind > 1 or table >= _MOST_TABLES or total > 256 or len(body) < 17 + total:
            return False
        lengths, symbols = (np.frombuffer(part, np.uint8) for part in (body[1:17], body[17 : 17 + total]))
        place = _MOST_TABLES * kind + table
        codes.one[place] = codes.direct[place] = 0
        if not kernel.add_table(lengths, symbols, place, codes):
            return False
        if kind:
            kernel.join_symbols(place, codes)
        known.add(place)
        body = body[17 + total :]
    return True


def _checked(
    frame: bytes, scan: bytes, has_jfif: bool, quants: _Quants, known: set[int], codes: "Codes"
) -> "Plan | None":
    """Return the plan where all three parts are coded together, in 8 bits, as brightness and colour."""
    from driveflow.images import eighth_kernel as kernel

    if len(frame) != 15 or frame[0] != 8 or frame[5] != 3 or len(scan) != 10 or scan[0] != 3:
        return None
    names, sampling, used = (list(frame[6 + part : 15 : 3]) for part in range(3))
    means, others = [value >> 4 for value in scan[2:7:2]], [_MOST_TABLES + (value & 15) for value in scan[2:7:2]]
    size = [(frame[1] << 8) + frame[2], (frame[3] << 8) + frame[4]]
    is_plain = (
        sampling == _SAMPLING
        and list(scan[1:7:2]) == names
        and scan[7:] == _WHOLE_BLOCKS
        and (has_jfif or names == [1, 2, 3])
        and all(size)
        and set(used) <= quants.keys()
        and {*means, *others} <= known
        and max(means) < _MOST_TABLES
    )
    if not is_plain:
        return None
    quant = np.array([quants[part] for part in used], np.int64)
    return kernel.Plan(np.array(size), quant, np.array(means), np.array(others), codes)
