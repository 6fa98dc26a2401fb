"""Give new units to splits so that each split has its share of every class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Unit:
    """Frames that go into one split together, and what they hold: how many frames, boxes of each class."""

    name: str
    counts: Mapping[str, int]


def balance(
    units: Sequence[Unit], placed: Mapping[str, Mapping[str, int]], shares: Mapping[str, float]
) -> dict[str, str]:
    """Return the split of each unit; `placed` is what the splits hold already, `shares` what each should have of all.

    Largest first, each unit goes where the shares of all classes are nearest to what they should be afterwards. The
    order of `units` does not matter; of equally good splits the first of `shares` is taken.
    """
    ordered = sorted(units, key=lambda unit: (-sum(unit.counts.values()), unit.name))
    names = sorted({name for part in (*placed.values(), *(unit.counts for unit in ordered)) for name in part})
    splits = [split for split, share in shares.items() if share > 0]
    wanted = np.array([[shares[split]] for split in splits])
    held = np.array([_vector(placed.get(split, {}), names) for split in splits])
    total = held.sum(axis=0) + sum((_vector(unit.counts, names) for unit in ordered), np.zeros(len(names)))
    total[total == 0] = 1.0
    found = {}
    for unit in ordered:
        mine = _vector(unit.counts, names)
        best = int(np.argmin([_distance(held, at, mine, total, wanted) for at in range(len(splits))]))
        held[best] += mine
        found[unit.name] = splits[best]
    return found


def _distance(held: _Counts, at: int, mine: _Counts, total: _Counts, wanted: _Counts) -> float:
    """Return how far the shares are from what is wanted once `mine` is in split `at`; small splits weigh as much."""
    shares = held / total
    shares[at] += mine / total
    return round(float(((shares - wanted) ** 2 / wanted).sum()), 12)


def _vector(counts: Mapping[str, int], names: Sequence[str]) -> _Counts:
    return np.array([float(counts.get(name, 0)) for name in names])
