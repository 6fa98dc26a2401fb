"""Pairs that a search found, before they are sorted by item."""

from dataclasses import dataclass

import numpy as np

from driveflow.neighbours.cosine import Floats, Ints
from driveflow.neighbours.leader_rows import NamedPairs


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """An item, an earlier one that it resembles, and how far apart they are."""

    left: Ints
    right: Ints
    distance: Floats

    @staticmethod
    def none() -> "FoundPairs":
        """Return that nothing was found."""
        return FoundPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    @staticmethod
    def joined(parts: "list[FoundPairs]") -> "FoundPairs":
        """Return the pairs of all `parts`."""
        parts = parts or [FoundPairs.none()]
        return FoundPairs(
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.distance for part in parts]),
        )

    @staticmethod
    def of(named: NamedPairs, first: int = 0) -> "FoundPairs":
        """Return the pairs that are named to items from `first` on."""
        left = np.repeat(np.arange(len(named.starts) - 1), np.diff(named.starts)) + first
        return FoundPairs(left, named.items, named.distance)

    def by_item(self, first: int, count: int) -> NamedPairs:
        """Return the pairs as rows of the items from `first` on; a pair may be there once for each shared group."""
        order = np.argsort(self.left, kind="stable")
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(self.left - first, minlength=count), out=starts[1:])
        return NamedPairs(starts, self.right[order], self.distance[order])
