"""Codes that hardly any other resembles, exactly, and no more work than finding the farthest of them takes."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.neighbours.hamming import Codes
from driveflow.neighbours.isolation_kernel import ALONE, NOT, bound, measure
from driveflow.neighbours.leader_rows import Ints

_SAMPLE: Final = 512  # codes that every other is compared with first


@dataclass(frozen=True, slots=True)
class Isolation:
    """What counts as far: `min_bits` or more; `company` others may be nearer; the farthest `enough` are wanted."""

    min_bits: int
    company: int
    enough: int


def isolated(codes: Codes, before: Codes, rule: Isolation) -> Ints:
    """Return for each code how many bits the nearest is away that is far; -1 where too many are near.

    A code is isolated where no code of `before` and at most `company` other codes are near. Where nothing is far, 65
    bits are told. Isolated codes nearer than the farthest `enough` are not measured: -1 is told of them too.

    >>> isolated(np.array([0, 1, 255], np.uint64), np.zeros(0, np.uint64), Isolation(4, 1, 9)).tolist()
    [8, 7, 7]
    """
    values, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
    old = np.unique(before)
    mixed = np.concatenate([values, old])
    order = np.argsort(mixed, kind="stable")
    is_old = order >= len(values)
    weights = np.where(is_old, rule.company + 1, np.append(counts, np.zeros(len(old), np.int64))[order])
    bounds = np.full(len(mixed), ALONE, np.int64)
    bound(mixed[order], np.arange(0, len(mixed), max(1, len(mixed) // _SAMPLE)), rule.min_bits, bounds)
    asked = np.flatnonzero(~is_old & (weights - 1 <= rule.company))
    asked = asked[np.argsort(-bounds[asked], kind="stable")]
    found = np.full(len(mixed), NOT, np.int64)
    least = measure(mixed[order], weights, (asked, bounds), (rule.min_bits, rule.company, rule.enough), found)
    found[found < least] = NOT
    far = np.empty(len(mixed), np.int64)
    far[order] = found
    return np.asarray(far[: len(values)][where.reshape(-1)])
