"""The leader rule over plain codes in compiled code; `hamming.leaders` is its face.

Codes within r = 4 s + a bits differ in at most s bits of one of the first a + 1 of four chunks, or in fewer than s of
another (multi-index hashing, Norouzi et al., 2012), so few buckets hold all that can be near. Leaders lie more than the
radius apart, so one within half of it is the nearest: most codes resemble the leader that the code before followed, and
need no bucket at all.
"""

from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from driveflow.neighbours.borrowing import borrowing
from driveflow.neighbours.popcount import popcount

_CHUNKS: Final = 4
_CHUNK_BITS: Final = 16
_VALUES: Final = 1 << _CHUNK_BITS
_MOST_BITS: Final = 11  # with wider radii so many buckets can hold what is near that a look at every leader is faster
_FEW: Final = 64  # leaders that are all looked at sooner than buckets
_FIRST_ROOM: Final = 1024

Codes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

compiled: Any = numba.njit(cache=True, nogil=True)


class Found(NamedTuple):
    """The leaders so far: those that `ordered` holds by bucket, the codes side by side, and newer ones in lists."""

    codes: Codes
    items: Ints
    starts: Places  # chunk, value -> where its codes begin in `ordered`
    ordered: Codes  # chunk, place
    entries: Places  # chunk, place -> which leader that is
    heads: Places  # chunk, value -> last newer leader; -1 ends a list
    after: Places  # chunk, leader -> the newer one before it in its bucket
    counts: Ints  # how many leaders there are, and which was followed last


class Best(NamedTuple):
    """The nearest leader so far; -1 where there is none."""

    bits: int
    entry: int


def lead(codes: Codes, radius_bits: int) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Return the leader of each code, by position, and how far it is in bits."""
    leader = np.empty(len(codes), np.int64)
    distance = np.zeros(len(codes), np.uint8)
    found, asked = _nobody(), 0
    while asked < len(codes):
        asked = _scan(codes, asked, radius_bits, found, leader, distance)
        if asked < len(codes):
            found = _with_room(found)
    return leader, distance


def _nobody() -> Found:
    return Found(
        np.empty(_FIRST_ROOM, np.uint64),
        np.empty(_FIRST_ROOM, np.int64),
        np.zeros((_CHUNKS, _VALUES + 1), np.int32),
        np.empty((_CHUNKS, 0), np.uint64),
        np.empty((_CHUNKS, 0), np.int32),
        np.full((_CHUNKS, _VALUES), -1, np.int32),
        np.empty((_CHUNKS, _FIRST_ROOM), np.int32),
        np.zeros(2, np.int64),
    )


@compiled
def _with_room(found: Found) -> Found:
    """Return the leaders with all of them ordered, and room for half as many again."""
    count = found.counts[0]
    room = count + count // 2
    codes, items = np.empty(room, np.uint64), np.empty(room, np.int64)
    codes[:count], items[:count] = found.codes[:count], found.items[:count]
    starts = np.zeros((_CHUNKS, _VALUES + 1), np.int32)
    ordered, entries = np.empty((_CHUNKS, count), np.uint64), np.empty((_CHUNKS, count), np.int32)
    for chunk in range(_CHUNKS):
        for entry in range(count):
            starts[chunk, _value(codes[entry], chunk) + 1] += 1
        for value in range(_VALUES):
            starts[chunk, value + 1] += starts[chunk, value]
        free = starts[chunk].copy()
        for entry in range(count):
            value = _value(codes[entry], chunk)
            ordered[chunk, free[value]], entries[chunk, free[value]] = codes[entry], entry
            free[value] += 1
    heads = np.full((_CHUNKS, _VALUES), np.int32(-1))
    return Found(codes, items, starts, ordered, entries, heads, np.empty((_CHUNKS, room), np.int32), found.counts)


@borrowing
def _scan(codes: Codes, first: int, radius_bits: int, found: Found, leader: Ints, distance: Any) -> int:  # noqa: ANN401
    """Ask the codes from `first` on until there is no room for a leader; return the first that was not asked."""
    for item in range(first, len(codes)):
        best = _nearest(codes[item], radius_bits, found)
        if best.entry >= 0:
            leader[item], distance[item], found.counts[1] = found.items[best.entry], best.bits, best.entry
            continue
        entry = found.counts[0]
        if entry == len(found.codes):
            return item
        leader[item] = item
        found.codes[entry], found.items[entry] = codes[item], item
        for chunk in range(_CHUNKS):
            value = _value(codes[item], chunk)
            found.after[chunk, entry], found.heads[chunk, value] = found.heads[chunk, value], entry
        found.counts[0], found.counts[1] = entry + 1, entry
    return len(codes)


@borrowing
def _nearest(code: Any, radius_bits: int, found: Found) -> Best:  # noqa: ANN401 uint64
    """Return the nearest leader within the radius, of several the first."""
    best = Best(radius_bits, -1)
    if found.counts[0]:
        best = _nearer(code, found.codes[found.counts[1]], found.counts[1], best)
    if best.entry >= 0 and 2 * best.bits <= radius_bits:
        return best
    if radius_bits > _MOST_BITS or found.counts[0] <= _FEW:
        for entry in range(found.counts[0]):
            best = _nearer(code, found.codes[entry], entry, best)
        return best
    for stage in range(_MOST_BITS // _CHUNKS + 1):
        for chunk in range(_CHUNKS):
            if _CHUNKS * stage + chunk > best.bits or (best.entry >= 0 and 2 * best.bits <= radius_bits):
                return best
            best = _by_chunk(code, chunk, stage, found, best)
    return best


@borrowing
def _by_chunk(code: Any, chunk: int, stage: int, found: Found, best: Best) -> Best:  # noqa: ANN401 uint64
    """Look into the buckets whose value differs from that of the code in exactly `stage` bits."""
    value = _value(code, chunk)
    if stage == 0:
        return _by_bucket(code, chunk, value, found, best)
    for first in range(_CHUNK_BITS):
        if stage == 1:
            best = _by_bucket(code, chunk, value ^ (1 << first), found, best)
        else:
            for second in range(first + 1, _CHUNK_BITS):
                best = _by_bucket(code, chunk, value ^ (1 << first) ^ (1 << second), found, best)
    return best


@borrowing
def _by_bucket(code: Any, chunk: int, value: int, found: Found, best: Best) -> Best:  # noqa: ANN401 uint64
    for place in range(found.starts[chunk, value], found.starts[chunk, value + 1]):
        if np.int64(popcount(code ^ found.ordered[chunk, place])) <= best.bits:
            best = _nearer(code, found.ordered[chunk, place], np.int64(found.entries[chunk, place]), best)
    entry = np.int64(found.heads[chunk, value])
    while entry >= 0:
        best = _nearer(code, found.codes[entry], entry, best)
        entry = np.int64(found.after[chunk, entry])
    return best


@borrowing
def _nearer(code: Any, other: Any, entry: int, best: Best) -> Best:  # noqa: ANN401 uint64
    bits = np.int64(popcount(code ^ other))
    if bits < best.bits or (bits == best.bits and (best.entry < 0 or entry < best.entry)):
        return Best(bits, entry)
    return best


@borrowing
def _value(code: Any, chunk: int) -> int:  # noqa: ANN401 uint64
    """Return every fourth bit from bit `chunk` on: neighbouring bits of a perceptual hash go together."""
    bits = (code >> np.uint64(chunk)) & np.uint64(0x1111111111111111)
    bits = (bits | (bits >> np.uint64(3))) & np.uint64(0x0303030303030303)
    bits = (bits | (bits >> np.uint64(6))) & np.uint64(0x000F000F000F000F)
    bits = (bits | (bits >> np.uint64(12))) & np.uint64(0x000000FF000000FF)
    return np.int64((bits | (bits >> np.uint64(24))) & np.uint64(0xFFFF))
