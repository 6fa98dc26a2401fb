"""The leader rule over millions of codes, in groups, in one scan, and never a list of pairs."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from driveflow.neighbours.leader_buckets import FEW, nobody, ordered
from driveflow.neighbours.leader_kernel import scan, spread
from driveflow.neighbours.leader_rows import (
    CHUNK_BITS,
    CHUNKS,
    NO_TIME,
    Codes,
    Floats,
    Ints,
    Items,
    Mask,
    Memberships,
    NamedPairs,
    Result,
    Rules,
    Timeline,
)

__all__ = [
    "NO_TIME",
    "Followers",
    "GroupRules",
    "LeaderScan",
    "Memberships",
    "NamedPairs",
    "follow",
    "no_pairs",
    "spread_out",
]

_FIRST_ROOM: Final = 1 << 12


def no_pairs(count: int) -> NamedPairs:
    """Return that none of `count` items has any."""
    return NamedPairs(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0))


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

    Only one of three is not -1 where it follows: `distance_bits` in its `group`, `vector_distance` where the leader was
    named to it, and `gap_ns`, the time between the two, where the floor of its `group` forbids it.
    """

    leader: Ints
    distance_bits: Ints
    gap_ns: Ints
    vector_distance: Floats
    group: Ints = field(repr=False)  # the shared group, -1 where the item leads


def follow(
    codes: Codes, members: Memberships, rules: GroupRules, always_lead: Mask, barred: NamedPairs | None = None
) -> Followers:
    """Apply the leader rule to `codes` in their order: an item leads unless a leader of one of its groups is near.

    The nearest leader is followed, of several the one that came first. Where none is near, the floor is asked, and the
    leader nearest in time is followed. Items in `always_lead` lead whatever they resemble, and no item follows one that
    it is `barred` from.
    """
    walk = LeaderScan(codes, members, rules, always_lead, barred)
    walk.ask(no_pairs(len(codes)))
    return walk.followers


class LeaderScan:
    """The leader rule asked piece by piece, so that what leads already may decide what else is near; see `follow`."""

    def __init__(
        self,
        codes: Codes,
        members: Memberships,
        rules: GroupRules,
        always_lead: Mask,
        barred: NamedPairs | None = None,
    ) -> None:
        count, groups = len(codes), len(rules.limit_bits)
        limits = (rules.window_ns, rules.floor_ns, rules.standstill_ns, float(rules.floor_m))
        forbidden = no_pairs(count) if barred is None else barred
        timeline = _timeline(members, rules.windowed | rules.floored)
        self._items = Items(spread_out(codes), always_lead, members, timeline, forbidden)
        self._rules = Rules(rules.limit_bits, rules.windowed, rules.floored, *limits)
        sizes = np.bincount(members.group, minlength=groups)
        self._room = max(_FIRST_ROOM, int(np.diff(members.starts).max(initial=0)) * (FEW + 1))
        nothing = nobody(count, sizes)
        self._no_buckets, self._leaders = nothing.buckets, nothing._replace(buckets=ordered(nothing, self._room))
        self._result = Result(
            np.arange(count), np.zeros(count, np.int64), np.full(count, -1), np.full(count, -1.0), np.full(count, -1)
        )
        self.asked = 0

    def ask(self, named: NamedPairs) -> None:
        """Ask as many further items as `named` has; those it names count as near where no code is, nearest first."""
        end, starts = self.asked + len(named.starts) - 1, named.starts
        while self.asked < end:
            beside, first = named._replace(starts=starts), self.asked
            self.asked = scan(self._items, self._rules, beside, self._leaders, self._result, first)
            if self.asked < end:
                self._leaders = self._leaders._replace(buckets=self._no_buckets)  # the old ones are let go first
                self._leaders = self._leaders._replace(buckets=ordered(self._leaders, self._room))
                starts = starts[self.asked - first :]

    def leads(self) -> Mask:
        """Return which of the items asked so far lead."""
        return np.asarray(self._leaders.leads[: self.asked])

    @property
    def followers(self) -> Followers:
        """What is found of every item asked."""
        return Followers(*self._result)


def spread_out(codes: Codes) -> Codes:
    """Return `codes` with their bits moved, which changes no distance; see `_spread_table`."""
    return np.asarray(spread(np.ascontiguousarray(codes), _spread_table()))


def _timeline(members: Memberships, by_time: Mask) -> Timeline:
    """Return when everything was there, in groups whose rules go `by_time`."""
    rows = np.flatnonzero(by_time[members.group])
    order = rows[np.lexsort((members.time_ns[rows], members.group[rows]))]
    place = np.full(len(members.group), -1)
    place[order] = np.arange(len(order))
    owner = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
    ends = np.cumsum(np.bincount(members.group[rows], minlength=len(by_time)))
    return Timeline(order, owner[order], place, np.append(0, ends))


def _spread_table() -> Codes:
    """Return what each byte contributes once bit b of a code stands at 16 * (b % 4) + b // 4.

    Neighbouring bits of a perceptual hash go together; spread over the chunks they leave no chunk the same everywhere.
    """
    table = np.zeros((8, 256), np.uint64)
    for bit in range(64):
        values = np.flatnonzero(np.arange(256) >> (bit % 8) & 1)
        table[bit // 8, values] |= np.uint64(1 << (CHUNK_BITS * (bit % CHUNKS) + bit // CHUNKS))
    return table
