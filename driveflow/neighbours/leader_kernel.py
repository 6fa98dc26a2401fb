"""The leader rule in compiled code; `leader_scan` is its face."""

from typing import Any, Final

import numba
import numpy as np

from driveflow.neighbours.borrowing import borrowing
from driveflow.neighbours.leader_buckets import FEW, add, nearest
from driveflow.neighbours.leader_rows import (
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


@borrowing
def scan(items: Items, rules: Rules, beside: NamedPairs, leaders: Leaders, result: Result, first: int) -> int:
    """Ask the items from `first` on until there is no room for leaders; return the first that was not asked.

    There is one for each entry of `beside`, which names earlier items near by other signs.
    """
    for item in range(first, first + len(beside.starts) - 1):
        groups = items.rows.starts[item + 1] - items.rows.starts[item]
        if leaders.buckets.newest[0] + groups * (FEW + 1) > len(leaders.buckets.newer):
            return item
        if items.spared[item]:
            _lead(item, items, rules, leaders)
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
            _lead(item, items, rules, leaders)
            continue
        result.leader[item], result.group[item], result.gap_ns[item] = near.item, shared, gap
        result.vector_distance[item] = apart
        result.distance_bits[item] = near.distance if gap < 0 and apart < 0 else -1
    return first + len(beside.starts) - 1


@borrowing
def _bar(item: int, barred: NamedPairs, leaders: Leaders, is_barred: bool) -> None:
    for at in range(barred.starts[item], barred.starts[item + 1]):
        leaders.barred[barred.items[at]] = is_barred


@borrowing
def _named(asked: int, beside: NamedPairs, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the nearest leader among those that `beside` names, of several the first, and how far it is."""
    best, apart = -1, np.inf
    for at in range(beside.starts[asked], beside.starts[asked + 1]):
        other, distance = beside.items[at], beside.distance[at]
        is_nearer = distance < apart or (distance == apart and other < best)
        if is_nearer and leaders.leads[other] and not leaders.barred[other]:
            best, apart = other, distance
    return Near(0, best), apart if best >= 0 else -1.0


@borrowing
def _lead(item: int, items: Items, rules: Rules, leaders: Leaders) -> None:
    """Add an item to the leaders of its groups."""
    rows = items.rows
    is_wild = items.spared[item] or items.barred.starts[item] < items.barred.starts[item + 1]
    leaders.leads[item] = True
    for row in range(rows.starts[item], rows.starts[item + 1]):
        if not rules.windowed[rows.group[row]]:
            add(items.codes[item], item, rows.group[row], is_wild, leaders)


@borrowing
def _resembled(codes: Codes, item: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the nearest leader within the limits of the item's groups, and the group."""
    best, shared = Near(_FAR, -1), -1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        group = rows.group[row]
        limit = rules.limit_bits[group]
        near = Near(limit + 1, -1)
        if not rules.windowed[group]:
            near = nearest(codes[item], group, limit, min(limit, best.distance), leaders)
        elif rows.time_ns[row] != NO_TIME:
            near = _in_window(codes, row, rows, timeline, rules, leaders)
        if near.item >= 0 and _is_nearer(near, best):
            best, shared = near, group
    return best, shared


@borrowing
def _is_nearer(one: Near, other: Near) -> bool:
    return one.distance < other.distance or (one.distance == other.distance and one.item < other.item)


@borrowing
def _in_window(codes: Codes, row: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    """Return the nearest leader of the row's group within its limit and the window."""
    group = rows.group[row]
    limit = rules.limit_bits[group]
    best = Near(limit + 1, -1)
    code = codes[timeline.owner[timeline.place[row]]]
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begins[group] <= slot < timeline.begins[group + 1]:
            if _gap(timeline.order[slot], row, rows) > rules.window_ns:
                break
            other = timeline.owner[slot]
            if leaders.leads[other] and not leaders.barred[other]:
                near = Near(np.int64(popcount(code ^ codes[other])), other)
                if near.distance <= limit and _is_nearer(near, best):
                    best = near
            slot += step
    return best


@borrowing
def _gap(there: int, row: int, rows: Memberships) -> int:
    """Return the time between two rows, of which the second has one."""
    return np.iinfo(np.int64).max if rows.time_ns[there] == NO_TIME else abs(rows.time_ns[there] - rows.time_ns[row])


@borrowing
def _forbidden(item: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Any:  # noqa: ANN401
    """Return the leader nearest in time that the floor of one of the item's groups forbids, and the group."""
    best, shared = Near(-1, -1), -1
    for row in range(rows.starts[item], rows.starts[item + 1]):
        if rules.floored[rows.group[row]] and rows.time_ns[row] != NO_TIME:
            near = _beside(row, rows, timeline, rules, leaders)
            if near.item >= 0 and (best.item < 0 or _is_nearer(near, best)):
                best, shared = near, rows.group[row]
    return best, shared


@borrowing
def _beside(row: int, rows: Memberships, timeline: Timeline, rules: Rules, leaders: Leaders) -> Near:
    best, group = Near(-1, -1), rows.group[row]
    for step in (-1, 1):
        slot = timeline.place[row] + step
        while timeline.begins[group] <= slot < timeline.begins[group + 1]:
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


@borrowing
def _is_too_close(gap: int, row: int, there: int, rows: Memberships, rules: Rules) -> bool:
    if gap < rules.floor_ns or gap >= rules.standstill_ns:
        return gap < rules.floor_ns
    moved = (rows.x_m[there] - rows.x_m[row]) ** 2 + (rows.y_m[there] - rows.y_m[row]) ** 2
    moved += (rows.z_m[there] - rows.z_m[row]) ** 2  # NaN where a place is not known, and then not less
    return moved < rules.floor_m * rules.floor_m
