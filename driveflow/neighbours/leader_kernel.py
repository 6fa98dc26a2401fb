"""The leader rule in compiled code; `leader_scan` is its face."""

from typing import Any, Final

import numba
import numpy as np

from driveflow.neighbours.leader_rows import (
    CHUNK_BITS,
    CHUNKS,
    NO_TIME,
    Codes,
    Items,
    Leaders,
    Memberships,
    NamedPairs,
    Near,
    Result,
    Rules,
    Timeline,
)
from driveflow.neighbours.popcount import popcount

_VALUES: Final = np.uint64((1 << CHUNK_BITS) - 1)
_MOST_FLIPS: Final = 2  # with more, so many buckets have to be looked at that one look at every leader is faster
_FAR: Final = 255


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
def nobody(items: int, total: int, groups: int, mask: int) -> Leaders:
    """Return the leaders before any item was asked; there are `mask` + 1 buckets, a power of two."""
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
        np.zeros(items, np.bool_),
        np.zeros(1, np.int64),
    )


@compiled
def scan(items: Items, rules: Rules, beside: NamedPairs, leaders: Leaders, result: Result, first: int) -> None:
    """Ask the items from `first` on, one for each entry of `beside`, which names earlier items near by other signs."""
    for item in range(first, first + len(beside.starts) - 1):
        if items.spared[item]:
            _lead(items.codes[item], item, items.rows, rules, leaders)
            continue
        _bar(item, items.barred, leaders, True)
        near, shared = _resembled(items.codes, item, items.rows, items.timeline, rules, leaders)
        gap, apart = -1, -1.0
        if near.item < 0:
            near, apart = _named(item - first, beside, leaders)
        if near.item < 0:
            near, shared = _forbidden(item, items.rows, items.timeline, rules, leaders)
            gap = near.distance
        _bar(item, items.barred, leaders, False)
        if near.item < 0:
            _lead(items.codes[item], item, items.rows, rules, leaders)
            continue
        result.leader[item], result.group[item], result.gap_ns[item] = near.item, shared, gap
        result.vector_distance[item] = apart
        result.distance_bits[item] = near.distance if gap < 0 and apart < 0 else -1


@compiled
def _bar(item: int, barred: NamedPairs, leaders: Leaders, is_barred: bool) -> None:
    for at in range(barred.starts[item], barred.starts[item + 1]):
        leaders.barred[barred.items[at]] = is_barred


@compiled
def _named(asked: int, beside: NamedPairs, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the nearest leader among those that `beside` names, of several the first, and how far it is."""
    best, apart = -1, np.inf
    for at in range(beside.starts[asked], beside.starts[asked + 1]):
        other, distance = beside.items[at], beside.distance[at]
        is_nearer = distance < apart or (distance == apart and other < best)
        if is_nearer and leaders.leads[other] and not leaders.barred[other]:
            best, apart = other, distance
    return Near(0, best), apart if best >= 0 else -1.0


@compiled
def _lead(code: Any, item: int, rows: Memberships, rules: Rules, leaders: Leaders) -> None:  # noqa: ANN401 uint64
    """Add an item to the leaders of its groups."""
    leaders.leads[item] = True
    mask, entries = leaders.heads.shape[1] - 1, leaders.entries[0]
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
    leaders.entries[0] = entries


@compiled
def _resembled(codes: Codes, item: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
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
        near = Near(np.int64(popcount(code ^ leaders.codes[entry])), leaders.items[entry])
        if _is_nearer(near, best) and not leaders.barred[near.item]:
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
        distance = np.int64(popcount(code ^ leaders.codes[entry]))
        if distance <= best.distance and leaders.groups[entry] == group:
            near = Near(distance, leaders.items[entry])
            if _is_nearer(near, best) and not leaders.barred[near.item]:
                best = near
        entry = leaders.after[chunk, entry]
    return best


@compiled
def _bucket(group: int, chunk: int, value: int, mask: int) -> int:
    mixed = (np.uint64(group) << np.uint64(18)) | (np.uint64(chunk) << np.uint64(16)) | np.uint64(value)
    return np.int64(((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(mask))


@compiled
def _in_window(codes: Codes, row: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    """Return the nearest leader of the row's group within its limit and the window."""
    limit = rules.limit_bits[rows.group[row]]
    best = Near(limit + 1, -1)
    code = codes[timeline.owner[timeline.place[row]]]
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begin[row] <= slot < timeline.end[row]:
            if _gap(timeline.order[slot], row, rows) > rules.window_ns:
                break
            other = timeline.owner[slot]
            if leaders.leads[other] and not leaders.barred[other]:
                near = Near(np.int64(popcount(code ^ codes[other])), other)
                if near.distance <= limit and _is_nearer(near, best):
                    best = near
            slot += step
    return best


@compiled
def _gap(there: int, row: int, rows: Memberships) -> int:
    """Return the time between two rows, of which the second has one."""
    return np.iinfo(np.int64).max if rows.time_ns[there] == NO_TIME else abs(rows.time_ns[there] - rows.time_ns[row])


@compiled
def _forbidden(item: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the leader nearest in time that the floor of one of the item's groups forbids, and the group."""
    best, shared = Near(-1, -1), -1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        if rules.floored[rows.group[row]] and rows.time_ns[row] != NO_TIME:
            near = _beside(row, rows, timeline, rules, leaders)
            if near.item >= 0 and (best.item < 0 or _is_nearer(near, best)):
                best, shared = near, rows.group[row]
    return best, shared


@compiled
def _beside(row: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    best = Near(-1, -1)
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begin[row] <= slot < timeline.end[row]:
            there = timeline.order[slot]
            gap = _gap(there, row, rows)
            if gap >= max(rules.floor_ns, rules.standstill_ns) or (best.item >= 0 and gap > best.distance):
                break
            near = Near(gap, timeline.owner[slot])
            if (
                leaders.leads[near.item]
                and not leaders.barred[near.item]
                and _is_too_close(gap, row, there, rows, rules)
            ):
                best = near if best.item < 0 or _is_nearer(near, best) else best
            slot += step
    return best


@compiled
def _is_too_close(gap: int, row: int, there: int, rows: Memberships, rules: Rules) -> bool:
    if gap < rules.floor_ns or gap >= rules.standstill_ns:
        return gap < rules.floor_ns
    moved = (rows.x_m[there] - rows.x_m[row]) ** 2 + (rows.y_m[there] - rows.y_m[row]) ** 2
    moved += (rows.z_m[there] - rows.z_m[row]) ** 2  # NaN where a place is not known, and then not less
    return moved < rules.floor_m * rules.floor_m
