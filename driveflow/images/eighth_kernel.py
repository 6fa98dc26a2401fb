"""Read a baseline JPEG at an eighth of its size in compiled code; `jpeg_eighth` is its face.

Of brightness only the mean of each 8 x 8 block is needed, so its other coefficients are skipped, several at a look;
colour, sampled at half the size, keeps four values a block. Every number is the one that libjpeg computes. Whatever is
out of the ordinary ends the reading, and another decoder has its say.
"""

from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

LOOK: Final = 11  # bits of a code that are looked up at once
TABLES: Final = 8  # four for means, four for the other coefficients
_END: Final = 128  # what the end of a block adds to a place
_MOST_DC_BITS, _MOST_AC_BITS, _MOST_SKIPPED_BITS = 11, 10, 32
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)
_LEAST, _MOST = np.int32(0), np.int32(255)  # levels
_HALF: Final = np.uint64(0xFFFFFFFF)
_REST: Final = np.uint64(64 - LOOK)
_ZIGZAG: Final = np.array(
    [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21,
     28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
     47, 55, 62, 63]
)  # fmt: skip

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

compiled: Any = numba.njit(cache=True, nogil=True)


class Codes(NamedTuple):
    """The Huffman tables; entries of `direct`, `one` and `many` are 0 where a code is longer than `LOOK` bits."""

    direct: npt.NDArray[np.int32]  # table, next bits -> length << 8 | symbol
    one: npt.NDArray[np.int32]  # places that the next symbol takes << 8 | bits of code and value
    many: npt.NDArray[np.int32]  # the same for as many symbols as these bits are sure to hold
    last: npt.NDArray[np.int32]  # table, length -> first code, of 16 bits, that is longer
    offset: npt.NDArray[np.int32]  # table, length -> place of a symbol less its code
    symbols: Bytes  # table, place


class Plan(NamedTuple):
    """What the header says; of the three parts (brightness, blue, red) each has an entry."""

    size: Ints  # height and width
    quant: npt.NDArray[np.int64]  # part, place in the order of the file
    means: Ints  # which table of codes
    others: Ints
    codes: Codes


@compiled
def add_table(lengths: Bytes, symbols: Bytes, table: int, codes: Codes) -> bool:
    """Add a table: how many codes have each length from 1 on, and their symbols; return whether it is one."""
    code, place = 0, 0
    for length in range(1, 17):
        codes.offset[table, length] = place - code
        for _ in range(lengths[length - 1]):
            if code >= 1 << length:
                return False
            symbol = np.int64(symbols[place])
            codes.symbols[table, place] = symbol
            if length <= LOOK:
                first, same = code << (LOOK - length), 1 << (LOOK - length)
                codes.direct[table, first : first + same] = length << 8 | symbol
                codes.one[table, first : first + same] = _skipped(length, symbol)
            code, place = code + 1, place + 1
        codes.last[table, length] = code << (16 - length)
        code <<= 1
    return True


@compiled
def join_symbols(table: int, codes: Codes) -> None:
    """Find for all next bits how many symbols they are sure to hold."""
    for bits in range(1 << LOOK):
        joined, used = codes.one[table, bits], codes.one[table, bits] & 255
        while joined and joined >> 8 < _END // 2 and used < LOOK:
            rest = (bits << used) & ((1 << LOOK) - 1)
            more = codes.one[table, rest]
            is_sure = more and codes.direct[table, rest] >> 8 <= LOOK - used
            if not is_sure or used + (more & 255) > _MOST_SKIPPED_BITS:
                break
            joined, used = joined + more, used + (more & 255)
        codes.many[table, bits] = joined


@compiled
def _skipped(length: Any, symbol: Any) -> Any:  # noqa: ANN401 int64
    """Return how many places and bits a symbol of other coefficients takes; 0 where there is no such symbol."""
    run, size = symbol >> 4, symbol & 15
    if symbol == 0:
        return _END << 8 | length
    if size > _MOST_AC_BITS or (size == 0 and run != 15):
        return 0
    return (run + 1) << 8 | (length + size)


@compiled
def _long(ahead: Any, table: int, codes: Codes) -> Any:  # noqa: ANN401 uint64
    """Return length << 8 | symbol of the next code, however long; 0 where there is none."""
    top = np.int64(ahead >> np.uint64(48))
    for length in range(1, 17):
        if top < codes.last[table, length]:
            place = (top >> (16 - length)) + codes.offset[table, length]
            return length << 8 | np.int64(codes.symbols[table, place])
    return 0


@compiled
def _long_skipped(ahead: Any, table: int, codes: Codes) -> Any:  # noqa: ANN401 uint64
    entry = _long(ahead, table, codes)
    return _skipped(entry >> 8, entry & 255) if entry else 0


@compiled
def _byte_by_byte(data: Bytes, ahead: Any, left: int, at: int) -> Any:  # noqa: ANN401
    """Read up to four bytes, or up to a marker, behind which there are zeros and `at` stays."""
    for _ in range(4):
        value = np.uint64(data[at])
        if value == np.uint64(255):
            if data[at + 1] != 0:
                break
            at += 1
        at += 1
        ahead |= value << np.uint64(56 - left)
        left += 8
    return ahead, left, at


@compiled
def _value(ahead: Any, length: int, size: int) -> Any:  # noqa: ANN401 uint64
    """Return the signed value of `size` bits behind a code."""
    found = np.int64((ahead << np.uint64(length)) >> np.uint64(64 - size)) if size else 0
    return found - (1 << size) + 1 if size and found < 1 << (size - 1) else found


@compiled
def read(data: Bytes, start: int, plan: Plan, planes: Bytes) -> bool:  # noqa: C901, PLR0911, PLR0912, PLR0915 a call with arrays in the inner loops costs more than what it would do
    """Fill `planes` (brightness, blue, red; two rows and columns for each 16 x 16 pixels); False where it is broken.

    `data` ends with a marker and two bytes more.
    """
    ahead: Any = np.uint64(0)  # the bits to come, from the top
    left: Any = 0  # how many of them are known
    at: Any = start  # where bytes go on
    codes, quant, means, others = plan.codes, plan.quant, plan.means, plan.others
    direct = codes.direct
    many, one = codes.many[others[0]], codes.one[others[0]]
    levels, squares, work = np.zeros(3, np.int64), np.zeros(64, np.int64), np.zeros((2, 8), np.int64)
    four = np.zeros(4, np.int64)
    zigzag = _ZIGZAG
    for row in range(planes.shape[1] // 2):
        for column in range(planes.shape[2] // 2):
            for block in range(6):
                part = max(block - 3, 0)
                if left <= 32:
                    here = np.uint64(at)
                    value = np.uint64(data[here]) << np.uint64(24) | np.uint64(data[here + _ONE]) << np.uint64(16)
                    value |= np.uint64(data[here + _TWO]) << np.uint64(8) | np.uint64(data[here + _THREE])
                    if ((value ^ _HALF) - np.uint64(0x01010101)) & value & np.uint64(0x80808080):
                        ahead, left, at = _byte_by_byte(data, ahead, left, at)
                    else:
                        ahead |= value << np.uint64(32 - left)
                        left += 32
                        at += 4
                entry = np.int64(direct[means[part], ahead >> _REST])
                if entry == 0:
                    entry = _long(ahead, means[part], codes)
                length, size = entry >> 8, entry & 255
                if entry == 0 or size > _MOST_DC_BITS:
                    return False
                levels[part] += _value(ahead, length, size) * quant[part, 0]
                ahead <<= np.uint64(length + size)
                left -= length + size
                place: Any = 1
                if part == 0:
                    four[block] = (levels[0] + 4) >> 3
                    while place < 64:
                        if left <= 32:
                            here = np.uint64(at)
                            value = np.uint64(data[here]) << np.uint64(24) | np.uint64(data[here + _ONE]) << np.uint64(
                                16
                            )
                            value |= np.uint64(data[here + _TWO]) << np.uint64(8) | np.uint64(data[here + _THREE])
                            if ((value ^ _HALF) - np.uint64(0x01010101)) & value & np.uint64(0x80808080):
                                ahead, left, at = _byte_by_byte(data, ahead, left, at)
                            else:
                                ahead |= value << np.uint64(32 - left)
                                left += 32
                                at += 4
                        entry = np.int64(many[ahead >> _REST])
                        if place + ((entry >> 8) & 127) > 63:
                            entry = np.int64(one[ahead >> _REST])
                        if entry == 0:
                            entry = _long_skipped(ahead, others[0], codes)
                            if entry == 0:
                                return False
                        place += entry >> 8
                        ahead <<= np.uint64(entry & 255)
                        left -= entry & 255
                else:
                    squares[:] = 0
                    squares[0] = levels[part]
                    while place < 64:
                        if left <= 32:
                            here = np.uint64(at)
                            value = np.uint64(data[here]) << np.uint64(24) | np.uint64(data[here + _ONE]) << np.uint64(
                                16
                            )
                            value |= np.uint64(data[here + _TWO]) << np.uint64(8) | np.uint64(data[here + _THREE])
                            if ((value ^ _HALF) - np.uint64(0x01010101)) & value & np.uint64(0x80808080):
                                ahead, left, at = _byte_by_byte(data, ahead, left, at)
                            else:
                                ahead |= value << np.uint64(32 - left)
                                left += 32
                                at += 4
                        entry = np.int64(direct[others[part], ahead >> _REST])
                        if entry == 0:
                            entry = _long(ahead, others[part], codes)
                        length, run, size = entry >> 8, (entry >> 4) & 15, entry & 15
                        if entry == 0 or size > _MOST_AC_BITS:
                            return False
                        if size:
                            place += run
                            if place > 63:
                                return False
                            squares[zigzag[place]] = _value(ahead, length, size) * quant[part, place]
                            place += 1
                        else:
                            place += 16 if run == 15 else _END
                            if 0 < run < 15:
                                return False
                        ahead <<= np.uint64(length + size)
                        left -= length + size
                    _quarter(squares, work, four)
                if 64 < place < _END:
                    return False
                if part or block == 3:
                    for corner in range(4):
                        level = four[corner]
                        if level >= 512 or level < -512:
                            return False
                        planes[part, 2 * row + (corner >> 1), 2 * column + (corner & 1)] = min(max(level + 128, 0), 255)
            if left < 0:
                return False
    return True


@compiled
def _quarter(squares: Ints, work: Ints, four: Ints) -> None:
    """Transform the coefficients of a block to four levels around 0, as libjpeg does."""
    for column in range(8):
        if column in (2, 4, 6):
            continue
        one, three, five, seven = squares[8 + column], squares[24 + column], squares[40 + column], squares[56 + column]
        even = squares[column] << 15
        odd = -5906 * seven + 6967 * five - 10426 * three + 29692 * one
        work[0, column], work[1, column] = (even + odd + (1 << 12)) >> 13, (even - odd + (1 << 12)) >> 13
    for row in range(2):
        even = work[row, 0] << 15
        odd = -5906 * work[row, 7] + 6967 * work[row, 5] - 10426 * work[row, 3] + 29692 * work[row, 1]
        four[2 * row], four[2 * row + 1] = (even + odd + (1 << 19)) >> 20, (even - odd + (1 << 19)) >> 20


@compiled
def colours(planes: Bytes, height: int, width: int) -> Bytes:
    """Return red, green and blue, by the integers of libjpeg; `planes` become them, plane by plane."""
    flat = planes.reshape((3, planes.shape[1] * planes.shape[2]))
    _to_colours(flat[0], flat[1], flat[2])
    rgb = np.empty((height, width, 3), np.uint8)
    for row in range(height):
        _interleave(planes[0, row], planes[1, row], planes[2, row], rgb[row])
    return rgb


@compiled
def _to_colours(first: Bytes, second: Bytes, third: Bytes) -> None:
    """Turn brightness, blue and red into red, green and blue."""
    for place in range(len(first)):
        light, blue, red = np.int32(first[place]), np.int32(second[place]), np.int32(third[place])
        more_red = np.int32(91881 * red + (32768 - 91881 * 128)) >> np.int32(16)
        more_green = np.int32((32768 + (22554 + 46802) * 128) - 22554 * blue - 46802 * red) >> np.int32(16)
        more_blue = np.int32(116130 * blue + (32768 - 116130 * 128)) >> np.int32(16)
        first[place] = min(max(np.int32(light + more_red), _LEAST), _MOST)
        second[place] = min(max(np.int32(light + more_green), _LEAST), _MOST)
        third[place] = min(max(np.int32(light + more_blue), _LEAST), _MOST)


@compiled
def _interleave(first: Bytes, second: Bytes, third: Bytes, pixels: Bytes) -> None:
    for column in range(len(pixels)):
        pixels[column, 0] = first[column]
        pixels[column, 1] = second[column]
        pixels[column, 2] = third[column]
