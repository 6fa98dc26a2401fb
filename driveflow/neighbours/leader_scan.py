"""The leader rule over millions of codes, in groups, in one scan, and never a list of pairs."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from driveflow.neighbours.leader_kernel import (
    CHUNK_BITS,
    CHUNKS,
    NO_TIME,
    Codes,
    Floats,
    Ints,
    Mask,
    Result,
    Rows,
    Rules,
    Timeline,
    scan,
    spread,
)

__all__ = ["NO_TIME", "Followers", "GroupRules", "Memberships", "follow"]

_MOST_BUCKETS: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Memberships:
    """Which groups each item belongs to, and when and where it was there, as compressed rows.

    `starts` has one more entry than there are items, the others one a membership: `time_ns` (NO_TIME: not known), and
    `x_m`, `y_m` (NaN: not known), positions on any plane, in metres.
    """

    starts: Ints
    group: Ints
    time_ns: Ints
    x_m: Floats
    y_m: Floats


@dataclass(frozen=True, slots=True)
class GroupRules:
    """What each group allows: a leader within `limit_bits`, and where `windowed` is set within `window_ns` too.

    In `floored` groups an item also follows a leader less than `floor_ns` away, or less than `standstill_ns` and less
    than `floor_m` away.
    """

    limit_bits: Ints
    windowed: Mask
    floored: Mask
    window_ns: int = 0
    floor_ns: int = 0
    standstill_ns: int = 0
    floor_m: float = 0.0


@dataclass(frozen=True, slots=True)
class Followers:
    """For each item the position of its leader, its own where it leads, and why it follows.

    `distance_bits` is -1 where it follows by the floor, and `gap_ns` then the time between the two, else -1.
    """

    leader: Ints
    distance_bits: Ints
    gap_ns: Ints
    group: Ints = field(repr=False)  # the shared group, -1 where the item leads


def follow(codes: Codes, members: Memberships, rules: GroupRules, always_lead: Mask) -> Followers:
    """Apply the leader rule to `codes` in their order: an item leads unless a leader of one of its groups is near.

    The nearest leader is followed, of several the one that came first. Where none is near, the floor is asked, and the
    leader nearest in time is followed. Items in `always_lead` lead whatever they resemble.
    """
    count = len(codes)
    result = Result(np.arange(count), np.zeros(count, np.int64), np.full(count, -1), np.full(count, -1))
    if count:
        rows = Rows(members.starts, members.group, members.time_ns, members.x_m, members.y_m)
        limits = (rules.window_ns, rules.floor_ns, rules.standstill_ns, float(rules.floor_m))
        allowed = Rules(rules.limit_bits, rules.windowed, rules.floored, *limits)
        mask = _bucket_mask(len(members.group), len(rules.limit_bits))
        scan(spread(codes, _spread_table()), always_lead, rows, _timeline(members), allowed, result, mask)
    return Followers(*result)


def _timeline(members: Memberships) -> Timeline:
    order = np.lexsort((members.time_ns, members.group))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
    ordered = members.group[order]
    begin = np.searchsorted(ordered, members.group, side="left")
    return Timeline(order, owner[order], place, begin, np.searchsorted(ordered, members.group, side="right"))


def _bucket_mask(memberships: int, groups: int) -> int:
    """Return the number of buckets of a chunk less one: a power of two that fits what may be added."""
    wanted = min(memberships, _MOST_BUCKETS, groups << CHUNK_BITS)
    return (1 << max(wanted - 1, 1).bit_length()) - 1


def _spread_table() -> Codes:
    """Return what each byte contributes once bit b of a code stands at 16 * (b % 4) + b // 4.

    Neighbouring bits of a perceptual hash go together; spread over the chunks they leave no chunk the same everywhere.
    """
    table = np.zeros((8, 256), np.uint64)
    for bit in range(64):
        values = np.flatnonzero(np.arange(256) >> (bit % 8) & 1)
        table[bit // 8, values] |= np.uint64(1 << (CHUNK_BITS * (bit % CHUNKS) + bit // CHUNKS))
    return table
