"""The leaders of each group in compiled code: one is added, the nearest is found; `leader_kernel` asks.

Leaders of a group lie side by side, and where there are many also by bucket, as in `code_kernel`, which says why few
buckets hold all that can be near. Leaders lie more than the limit apart, unless they are wild, so one within half of it
is the nearest: most codes resemble the leader that was followed last, and need no bucket at all.
"""

from typing import Any, Final

import numba
import numpy as np

from driveflow.neighbours.borrowing import borrowing
from driveflow.neighbours.leader_rows import CHUNK_BITS, CHUNKS, Buckets, Ints, Leaders, Near
from driveflow.neighbours.popcount import popcount

FEW: Final = 64  # leaders of a group that are all looked at sooner than buckets
_VALUES: Final = 1 << CHUNK_BITS
_MOST_BITS: Final = 11  # with wider radii so many buckets can hold what is near that a look at every leader is faster
_FEW_BY_PROBES: Final = np.array([12, 204, 1644])  # the same, by how many bits of a chunk may differ
_FLIPS: Final = np.array(
    [0, *(1 << one for one in range(CHUNK_BITS))]
    + [1 << one | 1 << other for one in range(CHUNK_BITS) for other in range(one + 1, CHUNK_BITS)]
)
_FIRST_FLIP: Final = np.array([0, 1, 17, 137])  # of each number of bits
_MOST_BUCKETS: Final = 1 << 22

_compiled: Any = numba.njit(cache=True, nogil=True)


@_compiled
def nobody(items: int, sizes: Ints) -> Leaders:
    """Return the leaders before any item was asked; of each group there are at most so many as `sizes` says."""
    total, groups = sizes.sum(), len(sizes)
    places = np.empty((CHUNKS, 0), np.int32)
    return Leaders(
        np.empty(total, np.uint64),
        np.empty(total, np.int64),
        np.cumsum(sizes) - sizes,
        np.zeros(groups, np.int64),
        np.full(groups, -1, np.int64),
        np.full(groups, -1, np.int64),
        np.zeros(items, np.bool_),
        np.zeros(items, np.bool_),
        Buckets(places, np.empty((CHUNKS, 0), np.uint64), places, places, places, places[0], np.zeros(1, np.int64)),
    )


@_compiled
def ordered(leaders: Leaders, room: int) -> Buckets:
    """Return buckets of the groups with many leaders, and room for half as many again, `room` at least."""
    entries, groups = _crowded(leaders)
    count = _VALUES
    while count < min(len(entries), _MOST_BUCKETS):
        count *= 2
    starts = np.zeros((CHUNKS, count + 1), np.int32)
    codes, places = np.empty((CHUNKS, len(entries)), np.uint64), np.empty((CHUNKS, len(entries)), np.int32)
    for chunk in range(CHUNKS):
        buckets = np.empty(len(entries), np.int64)
        for at in range(len(entries)):
            buckets[at] = _bucket(leaders.codes[entries[at]], groups[at], chunk, count - 1)
            starts[chunk, buckets[at] + 1] += 1
        starts[chunk] = np.cumsum(starts[chunk])
        free = starts[chunk].copy()
        for at in range(len(entries)):
            place = free[buckets[at]]
            codes[chunk, place], places[chunk, place] = leaders.codes[entries[at]], entries[at]
            free[buckets[at]] += 1
    heads = np.full((CHUNKS, count), np.int32(-1))
    slots = max(room, len(entries) // 2)
    after, newer = np.empty((CHUNKS, slots), np.int32), np.empty(slots, np.int32)
    return Buckets(starts, codes, places, heads, after, newer, np.zeros(1, np.int64))


@_compiled
def _crowded(leaders: Leaders) -> tuple[Ints, Ints]:
    """Return the entries of the groups that need buckets, and the group of each."""
    total = leaders.counts[leaders.counts > FEW].sum()
    entries, groups, at = np.empty(total, np.int64), np.empty(total, np.int64), 0
    for group in range(len(leaders.counts)):
        if leaders.counts[group] > FEW:
            for entry in range(leaders.begins[group], leaders.begins[group] + leaders.counts[group]):
                entries[at], groups[at] = entry, group
                at += 1
    return entries, groups


@borrowing
def add(code: Any, item: int, group: int, is_wild: bool, leaders: Leaders) -> None:  # noqa: ANN401 uint64
    """Add a leader to a group; it `is_wild` where others may lie within the limit of it."""
    begin, count = leaders.begins[group], leaders.counts[group]
    entry = begin + count
    leaders.codes[entry], leaders.items[entry] = code, item
    leaders.counts[group], leaders.latest[group] = count + 1, entry
    if is_wild:
        leaders.wild[group] = entry
    if count + 1 > FEW:
        for newer in range(begin if count == FEW else entry, entry + 1):
            _add_newer(newer, group, leaders)


@borrowing
def _add_newer(entry: int, group: int, leaders: Leaders) -> None:
    slot, mask = leaders.buckets.newest[0], leaders.buckets.heads.shape[1] - 1
    leaders.buckets.newer[slot] = entry
    leaders.buckets.newest[0] = slot + 1
    for chunk in range(CHUNKS):
        bucket = _bucket(leaders.codes[entry], group, chunk, mask)
        leaders.buckets.after[chunk, slot], leaders.buckets.heads[chunk, bucket] = (
            leaders.buckets.heads[chunk, bucket],
            slot,
        )


@borrowing
def nearest(code: Any, group: int, limit: int, most: int, leaders: Leaders) -> Near:  # noqa: ANN401 uint64
    """Return the nearest leader of a group within `most` bits, of several the first; `limit` is that of the group."""
    count = leaders.counts[group]
    best = Near(most, -1)
    if count > 0:
        best = _nearer(code, leaders.latest[group], best, leaders)
        if not _is_alone(best, group, limit, leaders):
            if limit > _MOST_BITS or count <= max(FEW, _FEW_BY_PROBES[limit // CHUNKS]):
                for entry in range(leaders.begins[group], leaders.begins[group] + count):
                    if np.int64(popcount(code ^ leaders.codes[entry])) <= best.distance:
                        best = _nearer(code, entry, best, leaders)
            else:
                best = _by_buckets(code, group, limit, best, leaders)
    if best.item < 0:
        return Near(most + 1, -1)
    leaders.latest[group] = best.item
    return Near(best.distance, leaders.items[best.item])


@borrowing
def _is_alone(best: Near, group: int, limit: int, leaders: Leaders) -> bool:
    """Return whether no other leader of the group can be as near: none is within the limit of this one."""
    return best.item > leaders.wild[group] and 2 * best.distance <= limit


@borrowing
def _by_buckets(code: Any, group: int, limit: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401 uint64
    for stage in range(_MOST_BITS // CHUNKS + 1):
        for chunk in range(CHUNKS):
            if CHUNKS * stage + chunk > best.distance:
                return best
            best = _by_chunk(code, group, chunk, stage, best, leaders)
            if best.item >= 0 and _is_alone(best, group, limit, leaders):
                return best
    return best


@borrowing
def _by_chunk(code: Any, group: int, chunk: int, stage: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401
    """Look into the buckets whose value differs from that of the code in exactly `stage` bits."""
    begin, end = leaders.begins[group], leaders.begins[group] + leaders.counts[group]
    starts, ordered, heads = leaders.buckets.starts[chunk], leaders.buckets.ordered[chunk], leaders.buckets.heads[chunk]
    after, newer, codes = leaders.buckets.after[chunk], leaders.buckets.newer, leaders.codes
    home = _bucket(code, group, chunk, len(heads) - 1)
    for flip in range(_FIRST_FLIP[stage], _FIRST_FLIP[stage + 1]):
        bucket = home ^ _FLIPS[flip]
        for place in range(starts[bucket], starts[bucket + 1]):
            if np.int64(popcount(code ^ ordered[place])) <= best.distance:
                entry = np.int64(leaders.buckets.entries[chunk, place])
                if begin <= entry < end:
                    best = _nearer(code, entry, best, leaders)
        slot = heads[bucket]
        while slot >= 0:
            entry = np.int64(newer[slot])
            if np.int64(popcount(code ^ codes[entry])) <= best.distance and begin <= entry < end:
                best = _nearer(code, entry, best, leaders)
            slot = after[slot]
    return best


@borrowing
def _nearer(code: Any, entry: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401 uint64
    bits = np.int64(popcount(code ^ leaders.codes[entry]))
    is_nearer = bits < best.distance or (bits == best.distance and (best.item < 0 or entry < best.item))
    return Near(bits, entry) if is_nearer and not leaders.barred[leaders.items[entry]] else best


@borrowing
def _bucket(code: Any, group: int, chunk: int, mask: int) -> int:  # noqa: ANN401 uint64
    """Return the bucket of a chunk of a code: where bits of the chunk differ, those of the bucket do; groups mix."""
    value = np.int64((code >> np.uint64(CHUNK_BITS * chunk)) & np.uint64(_VALUES - 1))
    return value ^ (np.int64((np.uint64(group) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask)
