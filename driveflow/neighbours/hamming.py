"""Near search over 64-bit hashes, exact: the leader rule and the index behind it."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BITS = 64
_MAX_BUCKETED_BITS = 8  # with wider radii buckets hold so much that one scan over all is faster

Codes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Near:
    """A neighbour: the label it was added with, and in how many bits it differs."""

    label: int
    distance_bits: int


class HammingIndex:
    """Finds the nearest of the added codes within `radius_bits`; owned by one thread.

    Codes within r bits of each other agree in at least one of r + 1 groups of bits, so only codes that share a group
    are compared. Groups take every (r + 1)-th bit, because neighbouring bits of a perceptual hash go together. Of
    equal codes only the first is kept: the others could never be the nearest first.
    """

    def __init__(self, radius_bits: int) -> None:
        if not 0 <= radius_bits < BITS:
            raise ValueError(f"a radius is 0 to {BITS - 1} bits, got {radius_bits}")
        self.radius_bits = radius_bits
        self._labels: dict[int, int] = {}
        self._order: dict[int, int] = {}
        self._masks = _bit_groups(radius_bits + 1) if radius_bits <= _MAX_BUCKETED_BITS else []
        self._buckets: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in self._masks]
        self._scanned = np.zeros(16, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._labels)

    def add(self, code: int, label: int) -> None:
        """Add `code` under `label`; an equal code that is there already stays the one that is found."""
        if code in self._labels:
            return
        self._order[code] = len(self._order)
        self._labels[code] = label
        for mask, bucket in zip(self._masks, self._buckets, strict=True):
            bucket[code & mask].append(code)
        if not self._masks:
            self._append_scanned(code)

    def nearest(self, code: int) -> Near | None:
        """Return the nearest added code within the radius; of several the one added first."""
        if code in self._labels:
            return Near(self._labels[code], 0)
        if self.radius_bits == 0:
            return None
        found = self._nearest_in_buckets(code) if self._masks else self._nearest_by_scan(code)
        return None if found is None else Near(self._labels[found], (found ^ code).bit_count())

    def _nearest_in_buckets(self, code: int) -> int | None:
        best = (self.radius_bits + 1, 0, 0)
        for mask, bucket in zip(self._masks, self._buckets, strict=True):
            for other in bucket.get(code & mask, ()):
                distance = (other ^ code).bit_count()
                if distance <= best[0]:
                    best = min(best, (distance, self._order[other], other))
        return best[2] if best[0] <= self.radius_bits else None

    def _nearest_by_scan(self, code: int) -> int | None:
        codes = self._scanned[: len(self._labels)]
        if not len(codes):
            return None
        distances = np.bitwise_count(codes ^ np.uint64(code))
        at = int(distances.argmin())
        return int(codes[at]) if distances[at] <= self.radius_bits else None

    def _append_scanned(self, code: int) -> None:
        place = len(self._labels) - 1
        if place == len(self._scanned):
            self._scanned = np.concatenate([self._scanned, np.zeros(place, dtype=np.uint64)])
        self._scanned[place] = code


@dataclass(frozen=True, slots=True)
class Leaders:
    """For each code the position of its leader (its own where it leads) and the distance to it in bits."""

    leader: npt.NDArray[np.int64]
    distance_bits: npt.NDArray[np.uint8]


def leaders(codes: Codes, radius_bits: int) -> Leaders:
    """Apply the leader rule to `codes` in their order: a code leads unless an earlier leader lies within the radius.

    Codes are compared with leaders only, never with followers, so no follower is far from all that is kept.

    >>> leaders(np.array([0, 1, 3, 7], np.uint64), 1).leader.tolist()
    [0, 0, 2, 2]
    """
    from driveflow.neighbours.code_kernel import lead

    return Leaders(*lead(np.ascontiguousarray(codes, dtype=np.uint64), radius_bits))


def distances_bits(left: Codes, right: Codes) -> npt.NDArray[np.int64]:
    """Return in how many bits the codes of two equally long arrays differ, pair by pair.

    >>> distances_bits(np.array([1, 2], np.uint64), np.array([1, 1], np.uint64)).tolist()
    [0, 2]
    """
    return np.asarray(np.bitwise_count(left ^ right), dtype=np.int64)


def _bit_groups(count: int) -> list[int]:
    return [sum(1 << bit for bit in range(group, BITS, count)) for group in range(count)]
