"""Read JSON records of numbers and boxes into columns, compiled; what is anything else is left to others."""

from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

# What is kept compiled is told to be stale by the time of this file alone: touch it where `number_kernel` changes.
from validation.inputs.number_kernel import byte, number, number_end, whole_number, word

compiled: Any = numba.njit(cache=True, nogil=True)
WHOLE, NUMBER, FLAG, BOX, EMPTY = range(5)  # kinds of fields
_DEPTH: Final = 60  # of what is skipped
_QUOTE, _COMMA, _COLON, _OPEN, _CLOSE, _BEGIN, _END = 34, 44, 58, 91, 93, 123, 125
_NULL, _TRUE, _FALSE = (np.uint64(int.from_bytes(text, "little")) for text in (b"null", b"true", b"false"))
_FOUR: Final = np.uint64(0xFFFFFFFF)
_FIVE: Final = np.uint64(0xFFFFFFFFFF)


class Fields(NamedTuple):
    """Names with their quotes, and kind and column of each.

    Names are words of eight bytes, fields x words, with masks of what of them counts. The column is that among those of
    the kind. `required`: a bit for each field that every record must have.
    """

    names: Any
    masks: Any
    length: Any
    kind: Any
    column: Any
    required: int


class Columns(NamedTuple):
    """What was read, columns x records (boxes: records x 4 and x 2): NaN and -1 where nothing is said."""

    whole: Any
    numbers: Any
    flags: Any
    corners: Any
    size: Any


@intrinsic
def _pointer(_typing: Any, _address: Any) -> Any:  # noqa: ANN401 as numba asks for it
    def pointer(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return numba.types.voidptr(numba.types.uintp), pointer


@compiled
def _bare(values: Any) -> Any:  # noqa: ANN401 arrays
    """Return the array without a count of its holders: to count at every call costs more than all the reading."""
    return carray(_pointer(values.ctypes.data), values.shape, values.dtype)


@compiled
def read_records(text: Any, comma: bool, fields: Fields, order: Any, out: Columns) -> Any:  # noqa: ANN401
    """Fill `out` with the records at the beginning of `text`; return how many there are, and where the rest begins.

    `text` is as in `number_kernel`: the zeros at its end are no part of any record. `comma`: one stands before the
    first record too. `order`: which field may be the first of a record, the second and so on, and is then.
    """
    length, kind, column = _bare(fields.length), _bare(fields.kind), _bare(fields.column)
    known = Fields(_bare(fields.names), _bare(fields.masks), length, kind, column, fields.required)
    corners, size = _bare(out.corners), _bare(out.size)
    columns = Columns(_bare(out.whole), _bare(out.numbers), _bare(out.flags), corners, size)
    return _read(np.int64(text.ctypes.data), comma, known, columns, _bare(order))


@compiled
def _read(text: int, comma: bool, fields: Fields, out: Columns, order: Any) -> Any:  # noqa: ANN401
    rows, at = 0, 0
    while True:
        here = _space(text, at)
        if rows or comma:
            if byte(text, here) != _COMMA:
                break
            here = _space(text, here + 1)
        here = _record(text, here, fields, out, rows, order) if byte(text, here) == _BEGIN else -1
        if here < 0:
            break
        rows, at = rows + 1, here
    return rows, at


@compiled
def _space(text: int, at: int) -> int:
    while byte(text, at) <= 32:
        if byte(text, at) != 32 and byte(text, at) != 10 and byte(text, at) != 13 and byte(text, at) != 9:
            break
        at += 1
    return at


@compiled
def _record(text: int, at: int, fields: Fields, out: Columns, row: int, order: Any) -> int:  # noqa: ANN401
    """Read the record whose brace is at `at`; return where it ends, or -1 where it is none that is read here."""
    _clear(out, row)
    seen, place = 0, 0
    while True:
        at = _space(text, at + 1)
        field, at = _name(text, at, fields, order[place])
        if at < 0 or (field >= 0 and (seen >> field) & 1):
            return -1
        if field < 0:
            at = _skip(text, at)
        else:
            seen |= 1 << field
            order[place] = field
            place = min(place + 1, len(order) - 1)
            at = _fill(text, at, fields.kind[field], fields.column[field], out, row)
        at = _space(text, at) if at >= 0 else 0
        if not at or byte(text, at) != _COMMA:
            break
    whole = at and byte(text, at) == _END and seen & fields.required == fields.required
    return at + 1 if whole else -1


@compiled
def _clear(out: Columns, row: int) -> None:
    for column in range(len(out.numbers)):
        out.numbers[column, row] = np.nan
    for column in range(len(out.flags)):
        out.flags[column, row] = -1


@compiled
def _name(text: int, at: int, fields: Fields, guess: int) -> Any:  # noqa: ANN401 a pair
    """Return the field whose name is at `at` (-1: another), and where its value begins (-1: there is no name)."""
    field = -1
    if _is_name(text, at, fields, guess):
        field = guess
    else:
        for other in range(len(fields.length)):
            if _is_name(text, at, fields, other):
                field = other
    at = at + fields.length[field] if field >= 0 else _text(text, at)
    at = _space(text, at) if at >= 0 else 0
    return (field, _space(text, at + 1)) if at and byte(text, at) == _COLON else (-1, -1)


@compiled
def _is_name(text: int, at: int, fields: Fields, field: int) -> bool:
    for place in range(fields.names.shape[1]):  # no name has a byte of those that end the text: this stops in time
        if (word(text, at + 8 * place) ^ fields.names[field, place]) & fields.masks[field, place]:
            return False
    return True


@compiled
def _text(text: int, at: int) -> int:
    """Return where the plain text at `at` ends, -1 where there is none."""
    if byte(text, at) != _QUOTE:
        return -1
    at += 1
    while byte(text, at) != _QUOTE:
        if byte(text, at) < 32 or byte(text, at) > 126 or byte(text, at) == 92:
            return -1
        at += 1
    return at + 1


@compiled
def _fill(text: int, at: int, kind: int, column: int, out: Columns, row: int) -> int:
    """Write the value at `at` into its column; return where it ends, or -1."""
    if kind == BOX:
        return _box(text, at, out, row)
    if kind == WHOLE:
        out.whole[column, row], at = whole_number(text, at)
        return at
    if word(text, at) & _FOUR == _NULL:
        return at + 4
    if kind == NUMBER:
        out.numbers[column, row], at = number(text, at)
        return at
    if kind == FLAG:
        out.flags[column, row], at = _flag(text, at)
        return at
    at = _space(text, at + 1) if byte(text, at) == _BEGIN else 0
    return at + 1 if at and byte(text, at) == _END else -1


@compiled
def _flag(text: int, at: int) -> Any:  # noqa: ANN401 a pair
    if word(text, at) & _FOUR == _TRUE:
        return 1, at + 4
    if word(text, at) & _FIVE == _FALSE:
        return 0, at + 5
    value, at = whole_number(text, at)
    return int(value != 0), at


@compiled
def _box(text: int, at: int, out: Columns, row: int) -> int:
    """Write a box that is given as x, y, width and height; return where it ends, or -1."""
    for place in range(4):
        if byte(text, at) != (_COMMA if place else _OPEN):
            return -1
        value, at = number(text, _space(text, at + 1))
        if at < 0:
            return -1
        if place < 2:
            out.corners[row, place] = value
        else:
            out.size[row, place - 2] = value
            out.corners[row, place] = value + out.corners[row, place - 2]
        at = _space(text, at)
    return at + 1 if byte(text, at) == _CLOSE else -1


@compiled
def _skip(text: int, at: int) -> int:  # noqa: C901 a stack in one number
    """Return where the value at `at` ends, -1 where it is none; `objects` has a bit for each level that is open."""
    depth, objects = 0, 0
    while True:
        while byte(text, at) == _OPEN or byte(text, at) == _BEGIN:
            if depth == _DEPTH:
                return -1
            inside = byte(text, at) == _BEGIN
            depth, objects = depth + 1, objects << 1 | inside
            at = _space(text, at + 1)
            if byte(text, at) == (_END if inside else _CLOSE):
                break
            at = _member(text, at) if inside else at
            if at < 0:
                return -1
        else:
            at = _scalar(text, at)
        while at >= 0 and depth:
            at = _space(text, at)
            if byte(text, at) != (_END if objects & 1 else _CLOSE):
                break
            depth, objects, at = depth - 1, objects >> 1, at + 1
        if at < 0 or not depth:
            return at
        at = _space(text, at + 1) if byte(text, at) == _COMMA else -1
        at = _member(text, at) if at >= 0 and objects & 1 else at
        if at < 0:
            return -1


@compiled
def _member(text: int, at: int) -> int:
    """Return where the value of the name at `at` begins, or -1."""
    at = _text(text, at)
    at = _space(text, at) if at >= 0 else 0
    return _space(text, at + 1) if at and byte(text, at) == _COLON else -1


@compiled
def _scalar(text: int, at: int) -> int:
    if byte(text, at) == _QUOTE:
        return _text(text, at)
    if word(text, at) & _FOUR == _NULL or word(text, at) & _FOUR == _TRUE:
        return at + 4
    if word(text, at) & _FIVE == _FALSE:
        return at + 5
    return number_end(text, at)
