"""The leader rule over vectors: who shows what a leader shows, by cosine distance, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.neighbours.cosine import Floats, Ints, Vectors, checked, quantised, slack
from driveflow.neighbours.cosine_kernel import Followed, PairsOfRows, decide, distances
from driveflow.neighbours.found_pairs import FoundPairs
from driveflow.neighbours.leader_rows import NO_TIME, Mask, Memberships, NamedPairs
from driveflow.neighbours.projection import fit

_BLOCK: Final = 256  # items asked at once; the answer does not depend on it
_TILE: Final = 8_192  # leaders compared at once: what bounds memory


@dataclass(frozen=True, slots=True)
class VectorRules:
    """What each group allows: a leader within `limit`, a cosine distance, where `windowed` within `window_ns` too.

    With a limit under 0 nothing is near.
    """

    limit: Floats
    windowed: Mask
    window_ns: int = 0


@dataclass(frozen=True, slots=True)
class VectorFollowers:
    """For each item the position of its leader, its own where it leads, and the distance to it, then 0."""

    leader: Ints
    distance: Floats


def follow_vectors(
    vectors: Vectors, members: Memberships, rules: VectorRules, always_lead: Mask, block: int = _BLOCK
) -> VectorFollowers:
    """Apply the leader rule to `vectors` in their order: an item leads unless a leader of one of its groups is near.

    The nearest leader is followed, of several the one that came first. Items in `always_lead` lead whatever they
    resemble. Rows have length 1, or are all zeros where there is no vector: those lead.
    """
    near = NearVectors(vectors, members, rules, always_lead)
    found = Followed(np.arange(len(vectors)), np.zeros(len(vectors)), np.zeros(len(vectors), np.bool_))
    for first in range(0, len(vectors), block):
        named = near.ask(min(block, len(vectors) - first), found.leads[:first])
        decide(first, named, always_lead, found)
    return VectorFollowers(found.leader, found.distance)


class NearVectors:
    """Names to each item what it resembles among the leaders before it, piece by piece; `LeaderScan` then decides.

    Between two calls of `ask` the caller decides who of the items asked leads. Items in `may_lead` may do so although
    a leader is near; of the others those that have one are not named to anybody.
    """

    def __init__(self, vectors: Vectors, members: Memberships, rules: VectorRules, may_lead: Mask) -> None:
        self._vectors = checked(vectors)
        self._members, self._rules, self._may_lead = members, rules, may_lead
        self._limit = [quantised(limit) if limit >= 0 else -1.0 for limit in rules.limit.tolist()]
        self._owner = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
        self._projection = fit(self._vectors, max([limit for limit in self._limit if limit >= 0], default=0.0))
        self._leaders: dict[int, _Leaders] = {}
        self._added = 0
        self.asked = 0

    def ask(self, count: int, leads: Mask) -> NamedPairs:
        """Return what the next `count` items resemble: leaders, and items of this call that may become one.

        `leads` says of every item asked before whether it leads.
        """
        first, stop = self.asked, self.asked + count
        self._add_leaders(leads)
        self.asked = stop
        old = FoundPairs.joined([self._with_leaders(group, rows) for group, rows in self._groups(first, stop)])
        waits = self._may_lead[first:stop] | (np.bincount(old.left - first, minlength=count) == 0)
        new = FoundPairs.joined(
            [self._among(group, rows, waits[self._owner[rows] - first]) for group, rows in self._groups(first, stop)]
        )
        return FoundPairs.joined([old, new]).by_item(first, count)

    def pass_by(self, count: int) -> None:
        """Take it that the next `count` items need not be asked: who of them leads is known, as the next call says."""
        self.asked += count

    def _add_leaders(self, leads: Mask) -> None:
        """Add who leads of the items that were asked since the last time, a bounded number at once."""
        while self._added < self.asked:
            stop = min(self._added + _TILE, self.asked)
            for group, rows in self._groups(self._added, stop):
                leading = rows[leads[self._owner[rows]]]
                if len(leading):
                    leaders = self._leaders.setdefault(group, _Leaders())
                    leaders.add(leading, self._coordinates(leading))
            self._added = stop

    def _coordinates(self, rows: Ints) -> Vectors:
        return self._projection.coordinates(self._vectors[self._owner[rows]])

    def _groups(self, first: int, stop: int) -> Iterator[tuple[int, Ints]]:
        """Yield the groups of the items from `first` to `stop` where anything may be near, and the rows of each."""
        start = int(self._members.starts[first])
        groups = self._members.group[start : int(self._members.starts[stop])]
        order = np.argsort(groups, kind="stable")
        cuts = np.flatnonzero(np.diff(groups[order])) + 1
        for rows in np.split(order + start, cuts) if len(order) else []:
            group = int(self._members.group[rows[0]])
            if self._limit[group] >= 0:
                yield group, rows

    def _with_leaders(self, group: int, rows: Ints) -> FoundPairs:
        leaders = self._leaders.get(group)
        if leaders is None:
            return FoundPairs.none()
        return self._near(group, rows, leaders.rows, leaders.coordinates)

    def _among(self, group: int, rows: Ints, waits: Mask) -> FoundPairs:
        """Return the pairs of which the earlier item has no leader yet."""
        return self._near(group, rows, rows[waits], self._coordinates(rows[waits]))

    def _near(self, group: int, rows: Ints, others: Ints, coordinates: Vectors) -> FoundPairs:
        """Return the pairs of `rows` with earlier items among `others` that the group calls near."""
        asking = self._coordinates(rows)
        found = [FoundPairs.none()]
        for at in range(0, len(others), _TILE):
            bounds = asking @ coordinates[at : at + _TILE].T
            left, right = np.divmod(np.flatnonzero(bounds >= self._least(group)), bounds.shape[1])
            found.append(self._measured(group, rows[left], others[at + right]))
        return FoundPairs.joined(found)

    def _least(self, group: int) -> np.float32:
        return np.float32(1.0 - self._limit[group] - slack(self._vectors.shape[1]))

    def _measured(self, group: int, left_rows: Ints, right_rows: Ints) -> FoundPairs:
        left, right = self._owner[left_rows], self._owner[right_rows]
        possible = right < left
        if self._rules.windowed[group]:
            times = self._members.time_ns[left_rows], self._members.time_ns[right_rows]
            possible &= (times[0] != NO_TIME) & (times[1] != NO_TIME)
            possible &= np.abs(times[0] - times[1]) <= self._rules.window_ns
        left, right = left[possible], right[possible]
        pairs = PairsOfRows(self._vectors, self._vectors, left, right)
        apart = distances(pairs, self._limit[group], slack(self._vectors.shape[1]))
        near = np.isfinite(apart)
        return FoundPairs(left[near], right[near], apart[near])


class _Leaders:
    """The leaders of one group, in arrays that grow."""

    def __init__(self) -> None:
        self._rows = np.empty(0, np.int64)
        self._coordinates = np.empty((0, 0), np.float32)
        self._count = 0

    @property
    def rows(self) -> Ints:
        """Their memberships in the group."""
        return self._rows[: self._count]

    @property
    def coordinates(self) -> Vectors:
        """What their products are bounded by."""
        return self._coordinates[: self._count]

    def add(self, rows: Ints, coordinates: Vectors) -> None:
        """Add leaders at the end."""
        stop = self._count + len(rows)
        if stop > len(self._rows):
            more = max(stop, 2 * self._count) - self._count
            self._rows = np.concatenate([self.rows, np.empty(more, np.int64)])
            room = np.empty((self._count + more, coordinates.shape[1]), np.float32)
            room[: self._count] = self.coordinates if self._count else 0
            self._coordinates = room
        self._rows[self._count : stop], self._coordinates[self._count : stop] = rows, coordinates
        self._count = stop
