"""What new vectors resemble among many kept ones, of which a part at a time is in memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from driveflow.neighbours.cosine import Ints, Vectors, checked, quantised, slack
from driveflow.neighbours.cosine_kernel import PairsOfRows, distances
from driveflow.neighbours.found_pairs import FoundPairs
from driveflow.neighbours.leader_rows import NO_TIME, Memberships, NamedPairs
from driveflow.neighbours.projection import Projection, fit
from driveflow.neighbours.vectors import VectorRules
from driveflow.table_digest import rows_of_runs

_BLOCK: Final = 1_024  # new rows compared with a part at once: what bounds memory, beside the part itself

Part: TypeAlias = tuple[Ints, Vectors]


def near_kept(asking: Vectors, members: Memberships, rules: VectorRules, parts: Iterable[Part]) -> NamedPairs:
    """Name to each of the last items, whose vectors are `asking`, what it resembles among the items before them.

    These all lead; `parts` brings their places and vectors. What is found is that of one search over all.
    """
    count = len(members.starts) - 1
    search = _Search.of(checked(asking), count - len(asking), members, rules)
    found = [search.near(places, checked(vectors)) for places, vectors in parts]
    return FoundPairs.joined(found).by_item(count - len(asking), len(asking))


def later(members: Memberships, first: int) -> Memberships:
    """Return the memberships of the items from `first` on, numbered from 0."""
    begin = int(members.starts[first])
    group, time_ns = members.group[begin:], members.time_ns[begin:]
    where_m = (members.x_m[begin:], members.y_m[begin:], members.z_m[begin:])
    return Memberships(members.starts[first:] - begin, group, time_ns, *where_m)


@dataclass(frozen=True, slots=True)
class _Search:
    """New rows, what their products are bounded by, and the memberships of all items."""

    asking: Vectors
    first: int
    members: Memberships
    rules: VectorRules
    projection: Projection
    coordinates: Vectors
    rows: dict[int, Ints]  # of each group that is searched, the memberships of new items
    owner: Ints

    @staticmethod
    def of(asking: Vectors, first: int, members: Memberships, rules: VectorRules) -> "_Search":
        limits = rules.limit[rules.limit >= 0]
        projection = fit(asking, float(limits.max(initial=0.0)))
        begin = int(members.starts[first])
        mine = np.arange(begin, len(members.group))
        rows = {group: part for group, part in _by_group(members.group, mine) if rules.limit[group] >= 0}
        owner = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
        return _Search(asking, first, members, rules, projection, projection.coordinates(asking), rows, owner)

    def near(self, places: Ints, vectors: Vectors) -> FoundPairs:
        """Return the pairs of new items with those at `places`."""
        starts = self.members.starts[places]
        counts = self.members.starts[places + 1] - starts
        local = np.repeat(np.arange(len(places)), counts)
        theirs = rows_of_runs(starts, counts)
        coordinates = self.projection.coordinates(vectors)
        found = []
        for group, at in _by_group(self.members.group[theirs], np.arange(len(theirs))):
            mine = self.rows.get(group, np.zeros(0, np.int64))
            for block in range(0, len(mine), _BLOCK):
                asked = self.owner[mine[block : block + _BLOCK]] - self.first
                bounds = self.coordinates[asked] @ coordinates[local[at]].T
                left, right = np.divmod(np.flatnonzero(bounds >= self._least(group)), bounds.shape[1])
                rows = (mine[block + left], theirs[at[right]])
                found.append(self._measured(group, rows, local[at[right]], vectors))
        return FoundPairs.joined(found)

    def _least(self, group: int) -> np.float32:
        return np.float32(1.0 - quantised(float(self.rules.limit[group])) - slack(self.asking.shape[1]))

    def _measured(self, group: int, rows: tuple[Ints, Ints], local: Ints, vectors: Vectors) -> FoundPairs:
        left, right = rows
        possible = np.ones(len(left), np.bool_)
        if self.rules.windowed[group]:
            one, other = self.members.time_ns[left], self.members.time_ns[right]
            possible = (one != NO_TIME) & (other != NO_TIME) & (np.abs(one - other) <= self.rules.window_ns)
        left, right, local = left[possible], right[possible], local[possible]
        pairs = PairsOfRows(self.asking, vectors, self.owner[left] - self.first, local)
        apart = distances(pairs, quantised(float(self.rules.limit[group])), slack(self.asking.shape[1]))
        near = np.isfinite(apart)
        return FoundPairs(self.owner[left[near]], self.owner[right[near]], apart[near])


def _by_group(groups: Ints, rows: Ints) -> list[tuple[int, Ints]]:
    """Return `rows` apart by the group of each; `groups` has an entry for every row there is."""
    if not len(rows):
        return []
    order = rows[np.argsort(groups[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    return [(int(groups[part[0]]), part) for part in np.split(order, cuts)]
