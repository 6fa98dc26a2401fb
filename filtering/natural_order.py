"""Order paths with their numbers as numbers, a million in a moment."""

from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_ZERO, _NINE = 48, 57
_NUMBER, _TEXT = 1, 2  # numbers come before text, and a path before those that go on where it ends
_WIDTH: Final = 6  # decimal digits of how long a number is: longer numbers are larger

_compiled: Any = numba.njit(cache=True, nogil=True)


def natural_ranks(paths: pa.Array | pa.ChunkedArray) -> Ints:
    """Return the rank of each of `paths` where runs of digits count as numbers; equal ones share a rank.

    >>> natural_ranks(pa.array(["f10.jpg", "f9.jpg", "f09.jpg"])).tolist()
    [1, 0, 0]
    """
    return dense_ranks(_natural_keys(paths))


def dense_ranks(texts: pa.Array | pa.ChunkedArray) -> Ints:
    """Return the rank of each of `texts` among the different ones, by its bytes.

    >>> dense_ranks(pa.array(["b", "a", "b"])).tolist()
    [1, 0, 1]
    """
    encoded = _one_array(texts).dictionary_encode()
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
    return np.asarray(ranks[encoded.indices.to_numpy()])


def _natural_keys(paths: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return for each path bytes that sort as it should."""
    array = _one_array(paths).cast(pa.large_binary())
    if not len(array):
        return array
    _, ends, data = array.buffers()
    starts = np.frombuffer(ends, np.int64, len(array) + 1, array.offset * 8)
    text = np.frombuffer(data or b"", np.uint8)
    sizes = np.zeros(len(array) + 1, np.int64)
    _write(text, starts, sizes, np.zeros(0, np.uint8))
    places = np.cumsum(sizes)
    keys = np.zeros(places[-1], np.uint8)
    _write(text, starts, places, keys)
    return pa.Array.from_buffers(pa.large_binary(), len(array), [None, pa.py_buffer(places), pa.py_buffer(keys)])


@_compiled
def _write(text: Bytes, starts: Ints, places: Ints, keys: Bytes) -> None:
    """Write the key of text n at places[n], or where `keys` is empty its size to places[n + 1]."""
    for row in range(len(starts) - 1):
        at, end, to = starts[row], starts[row + 1], places[row] if len(keys) else 0
        while at < end:
            is_number = _ZERO <= text[at] <= _NINE
            first = at
            while at < end and is_number == (_ZERO <= text[at] <= _NINE):
                at += 1
            while is_number and first < at and text[first] == _ZERO:
                first += 1
            to = _write_part(text[first:at], is_number, to, keys)
        if not len(keys):
            places[row + 1] = to


@_compiled
def _write_part(part: Bytes, is_number: bool, to: int, keys: Bytes) -> int:
    """Write one run of digits or of other characters, and a byte that ends it; return where it ends."""
    head = 1 + _WIDTH if is_number else 1
    if len(keys):
        keys[to] = _NUMBER if is_number else _TEXT
        rest = len(part)
        for place in range(head - 1, 0, -1):
            keys[to + place] = rest % 10
            rest //= 10
        keys[to + head : to + head + len(part)] = part
    return to + head + len(part) + 1


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
