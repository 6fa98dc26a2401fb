"""The leader rule in compiled code; `leader_scan` is its face. Compiled functions take named tuples of arrays."""

from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.extending import intrinsic

NO_TIME: Final = int(np.iinfo(np.int64).min)
CHUNKS: Final = 4  # of 16 bits: codes within r bits differ in at most r // 4 bits of one of them
CHUNK_BITS: Final = 16
_VALUES: Final = np.uint64((1 << CHUNK_BITS) - 1)
_MOST_FLIPS: Final = 2  # with more, so many buckets have to be looked at that one look at every leader is faster
_FAR: Final = 255

Codes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Rows(NamedTuple):
    """Memberships of items in groups: those of item i are starts[i] to starts[i + 1]."""

    starts: Ints
    group: Ints
    time_ns: Ints
    x_m: Floats
    y_m: Floats


class Timeline(NamedTuple):
    """The memberships sorted by group and time: at slot s stands row order[s], of item owner[s].

    Of each row `place` is its slot, `begin` and `end` those of its group.
    """

    order: Ints
    owner: Ints
    place: Ints
    begin: Ints
    end: Ints


class Rules(NamedTuple):
    """What each group allows, and the limits of window and floor."""

    limit_bits: Ints
    windowed: Mask
    floored: Mask
    window_ns: int
    floor_ns: int
    standstill_ns: int
    floor_m: float


class Leaders(NamedTuple):
    """The leaders so far, an entry for each group of theirs, in lists by bucket and by group; -1 ends a list."""

    codes: Codes
    items: Ints
    groups: Places
    heads: npt.NDArray[np.int32]  # chunk, bucket -> last entry
    after: npt.NDArray[np.int32]  # chunk, entry -> the one before it in its bucket
    last: Places  # group -> last entry
    before: Places  # entry -> the one before it in its group
    counts: Ints  # group -> how many entries
    leads: Mask  # item -> whether it leads


class Result(NamedTuple):
    """What is found of each item; see `leader_scan.Followers`."""

    leader: Ints
    distance_bits: Ints
    gap_ns: Ints
    group: Ints


class Near(NamedTuple):
    """The best so far; -1 where there is none."""

    distance: int  # in bits, or in nanoseconds
    item: int


@intrinsic
def _popcount(_context: Any, _value: Any) -> Any:  # noqa: ANN401 numba's words
    """Return how many bits of a uint64 are set, by the processor's own instruction."""
    return types.uint64(types.uint64), lambda _context, builder, _signature, values: builder.ctpop(values[0])


compiled: Any = numba.njit(cache=True, nogil=True)


@compiled
def spread(codes: Codes, table: Codes) -> Codes:
    """Return `codes` with their bits moved: `table` says what each value of each byte becomes."""
    moved = np.zeros_like(codes)
    for item in range(len(codes)):
        code = codes[item]
        for byte in range(8):
            moved[item] |= table[byte, (code >> np.uint64(8 * byte)) & np.uint64(255)]
    return moved


@compiled
def scan(codes: Codes, spared: Mask, rows: Rows, timeline: Timeline, rules: Rules, result: Result, mask: int) -> None:  # noqa: PLR0913, PLR0917 as arrays they would be twenty
    """Fill `result`, item by item; there are `mask` + 1 buckets, a power of two."""
    leaders = _nobody(len(codes), len(rows.group), len(rules.limit_bits), mask)
    entries = 0
    for item in range(len(codes)):
        near, shared, gap = Near(_FAR, -1), -1, -1
        if not spared[item]:
            near, shared = _resembled(codes, item, rows, timeline, rules, leaders)
            if near.item < 0:
                near, shared = _forbidden(item, rows, timeline, rules, leaders)
                gap = near.distance
        if near.item >= 0:
            result.leader[item], result.group[item], result.gap_ns[item] = near.item, shared, gap
            result.distance_bits[item] = near.distance if gap < 0 else -1
        else:
            entries = _lead(codes[item], item, rows, rules, leaders, entries)


@compiled
def _nobody(items: int, total: int, groups: int, mask: int) -> Leaders:
    return Leaders(
        np.empty(total, np.uint64),
        np.empty(total, np.int64),
        np.empty(total, np.int32),
        np.full((CHUNKS, mask + 1), -1, np.int32),
        np.empty((CHUNKS, total), np.int32),
        np.full(groups, -1, np.int32),
        np.empty(total, np.int32),
        np.zeros(groups, np.int64),
        np.zeros(items, np.bool_),
    )


@compiled
def _lead(code: Any, item: int, rows: Rows, rules: Rules, leaders: Leaders, entries: int) -> int:  # noqa: ANN401 uint64
    """Add an item to the leaders of its groups; return how many entries there are."""
    leaders.leads[item] = True
    mask = leaders.heads.shape[1] - 1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        group = rows.group[row]
        if not rules.windowed[group]:
            leaders.codes[entries], leaders.items[entries], leaders.groups[entries] = code, item, group
            leaders.before[entries], leaders.last[group] = leaders.last[group], entries
            leaders.counts[group] += 1
            for chunk in range(CHUNKS):
                value = np.int64((code >> np.uint64(CHUNK_BITS * chunk)) & _VALUES)
                spot = _bucket(group, chunk, value, mask)
                leaders.after[chunk, entries], leaders.heads[chunk, spot] = leaders.heads[chunk, spot], entries
            entries += 1
    return entries


@compiled
def _resembled(codes: Codes, item: int, rows: Rows, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the nearest leader within the limits of the item's groups, and the group."""
    best, shared = Near(_FAR, -1), -1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        group = rows.group[row]
        limit = rules.limit_bits[group]
        near = Near(limit + 1, -1)
        if not rules.windowed[group]:
            near = _nearest(codes[item], group, limit, leaders)
        elif rows.time_ns[row] != NO_TIME:
            near = _in_window(codes, row, rows, timeline, rules, leaders)
        if near.item >= 0 and _is_nearer(near, best):
            best, shared = near, group
    return best, shared


@compiled
def _is_nearer(one: Near, other: Near) -> bool:
    return one.distance < other.distance or (one.distance == other.distance and one.item < other.item)


@compiled
def _nearest(code: Any, group: int, limit: int, leaders: Leaders) -> Near:  # noqa: ANN401 uint64
    """Return the nearest leader of a group within `limit` bits."""
    flips = limit // CHUNKS
    probes = CHUNKS if flips == 0 else CHUNKS * 17 if flips == 1 else CHUNKS * 137
    best = Near(limit + 1, np.iinfo(np.int64).max)
    if flips > _MOST_FLIPS or leaders.counts[group] <= probes:
        best = _by_list(code, group, best, leaders)
        flips = -1
    for stage in range(flips + 1):
        for chunk in range(CHUNKS):
            best = _by_chunk(code, group, chunk, stage, best, leaders)
        if best.distance < CHUNKS * (stage + 1):  # what is as near differs in at most `stage` bits of some chunk: seen
            break
    return best if best.distance <= limit else Near(limit + 1, -1)


@compiled
def _by_list(code: Any, group: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401 uint64
    entry = leaders.last[group]
    while entry >= 0:
        near = Near(np.int64(_popcount(code ^ leaders.codes[entry])), leaders.items[entry])
        if _is_nearer(near, best):
            best = near
        entry = leaders.before[entry]
    return best


@compiled
def _by_chunk(code: Any, group: int, chunk: int, stage: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401
    """Look into the buckets whose value differs from that of the code in exactly `stage` bits."""
    value = np.int64((code >> np.uint64(CHUNK_BITS * chunk)) & _VALUES)
    if stage == 0:
        return _by_bucket(code, group, chunk, value, best, leaders)
    for first in range(CHUNK_BITS):
        if stage == 1:
            best = _by_bucket(code, group, chunk, value ^ (1 << first), best, leaders)
        else:
            for second in range(first + 1, CHUNK_BITS):
                best = _by_bucket(code, group, chunk, value ^ (1 << first) ^ (1 << second), best, leaders)
    return best


@compiled
def _by_bucket(code: Any, group: int, chunk: int, value: int, best: Near, leaders: Leaders) -> Near:  # noqa: ANN401
    entry = leaders.heads[chunk, _bucket(group, chunk, value, leaders.heads.shape[1] - 1)]
    while entry >= 0:
        distance = np.int64(_popcount(code ^ leaders.codes[entry]))
        if distance <= best.distance and leaders.groups[entry] == group:
            near = Near(distance, leaders.items[entry])
            if _is_nearer(near, best):
                best = near
        entry = leaders.after[chunk, entry]
    return best


@compiled
def _bucket(group: int, chunk: int, value: int, mask: int) -> int:
    mixed = (np.uint64(group) << np.uint64(18)) | (np.uint64(chunk) << np.uint64(16)) | np.uint64(value)
    return np.int64(((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(mask))


@compiled
def _in_window(codes: Codes, row: int, rows: Rows, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    """Return the nearest leader of the row's group within its limit and the window."""
    limit = rules.limit_bits[rows.group[row]]
    best = Near(limit + 1, -1)
    code = codes[timeline.owner[timeline.place[row]]]
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begin[row] <= slot < timeline.end[row]:
            if abs(rows.time_ns[timeline.order[slot]] - rows.time_ns[row]) > rules.window_ns:
                break
            other = timeline.owner[slot]
            if leaders.leads[other]:
                near = Near(np.int64(_popcount(code ^ codes[other])), other)
                if near.distance <= limit and _is_nearer(near, best):
                    best = near
            slot += step
    return best


@compiled
def _forbidden(item: int, rows: Rows, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the leader nearest in time that the floor of one of the item's groups forbids, and the group."""
    best, shared = Near(-1, -1), -1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        if rules.floored[rows.group[row]] and rows.time_ns[row] != NO_TIME:
            near = _beside(row, rows, timeline, rules, leaders)
            if near.item >= 0 and (best.item < 0 or _is_nearer(near, best)):
                best, shared = near, rows.group[row]
    return best, shared


@compiled
def _beside(row: int, rows: Rows, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    best = Near(-1, -1)
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begin[row] <= slot < timeline.end[row]:
            there = timeline.order[slot]
            gap = abs(rows.time_ns[there] - rows.time_ns[row])
            if gap >= max(rules.floor_ns, rules.standstill_ns) or (best.item >= 0 and gap > best.distance):
                break
            near = Near(gap, timeline.owner[slot])
            if leaders.leads[near.item] and _is_too_close(gap, row, there, rows, rules):
                best = near if best.item < 0 or _is_nearer(near, best) else best
            slot += step
    return best


@compiled
def _is_too_close(gap: int, row: int, there: int, rows: Rows, rules: Rules) -> bool:
    moved = (rows.x_m[there] - rows.x_m[row]) ** 2 + (rows.y_m[there] - rows.y_m[row]) ** 2  # NaN: place not known
    return gap < rules.floor_ns or (gap < rules.standstill_ns and moved < rules.floor_m * rules.floor_m)
