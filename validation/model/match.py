"""The one matching of detections to truth that every number, picture and resample is made from."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from validation.model.scene import Bools, Detected, Floats, Ints, Truth

THRESHOLDS: Floats = np.linspace(0.5, 0.95, 10)
NONE = -1
_PAIRS_AT_ONCE = 4_000_000  # bounds memory: about 100 bytes a pair


@dataclass(frozen=True, slots=True)
class Matches:
    """Per threshold and detection: the row of the truth it was given, or NONE; `void` where that is an ignore region.

    The rule is COCO's: detections of a class in a frame choose in order of falling score; each takes the free object
    it overlaps most, if by at least the threshold; where none is free, an ignore region, which may be taken any number
    of times, by the share of the detection inside it. A better pair can be stolen by a higher score: that is the rule,
    because a user sees the higher score first.
    """

    thresholds: Floats
    truth: NDArray[np.int32]  # thresholds x detections
    void: Bools  # thresholds x detections

    def right(self) -> Bools:
        """Return where a detection found an object."""
        found: Bools = (self.truth != NONE) & ~self.void
        return found

    def wrong(self) -> Bools:
        """Return where a detection found nothing."""
        nothing: Bools = self.truth == NONE
        return nothing


@dataclass(frozen=True, slots=True)
class Pairs:
    """Detections and truths of one place that overlap, sorted by detection; rows index the two tables."""

    place: Ints
    detection: Ints
    truth: Ints
    overlap: Floats


def overlapping_pairs(detected: Detected, truth: Truth, places: tuple[Ints, Ints], least: float) -> Pairs:
    """Return the pairs of one place whose overlap is at least `least`; both place columns must be sorted."""
    start = np.searchsorted(places[1], places[0], "left")
    count = np.searchsorted(places[1], places[0], "right") - start
    ends = np.cumsum(count)
    parts = []
    for first, last in _chunks(ends):
        rows = np.repeat(np.arange(first, last), count[first:last])
        before = ends[first] - count[first]
        within = np.arange(len(rows)) - np.repeat(ends[first:last] - count[first:last] - before, count[first:last])
        others = start[rows] + within
        overlap = _overlap(detected.corners[rows], truth.corners[others], truth.ignore[others])
        kept = overlap >= min(least, 1 - 1e-10)
        parts.append(Pairs(places[0][rows[kept]], rows[kept], others[kept], overlap[kept]))
    return Pairs(
        _concatenate([part.place for part in parts]),
        _concatenate([part.detection for part in parts]),
        _concatenate([part.truth for part in parts]),
        np.concatenate([np.zeros(0), *(part.overlap for part in parts)]),
    )


def pairs_of_models(left: Detected, right: Detected, frames: int, least: float) -> Pairs:
    """Return where two models say the same: one class in one frame, overlapping by `least`; `truth` rows are `right`'s.

    `frames` counts the frames that both may speak of.
    """
    places = left.label * frames + left.frame, right.label * frames + right.frame
    count = len(right.frame)
    as_truth = Truth(right.frame, right.label, right.corners, np.zeros(count), np.zeros(count, bool))
    return overlapping_pairs(left, as_truth, places, least)


def overlap_of(first: Floats, second: Floats) -> Floats:
    """Return the intersection over union of boxes given as corners, row by row."""
    return _overlap(first, second, np.zeros(len(first), bool))


def _overlap(detection: Floats, truth: Floats, region: Bools) -> Floats:
    """Return IoU, or for regions the share of the detection inside; in COCO's own order of operations."""
    size_d, size_t = detection[:, 2:] - detection[:, :2], truth[:, 2:] - truth[:, :2]
    inner_end = np.minimum(detection[:, :2] + size_d, truth[:, :2] + size_t)
    inner = np.maximum(inner_end - np.maximum(detection[:, :2], truth[:, :2]), 0.0)
    both, area_d, area_t = inner.prod(axis=1), size_d.prod(axis=1), size_t.prod(axis=1)
    whole = np.where(region, area_d, area_d + area_t - both)
    shares: Floats = np.divide(both, whole, out=np.zeros_like(both), where=whole > 0)
    return shares


def _concatenate(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _chunks(ends: Ints) -> list[tuple[int, int]]:
    """Return row ranges of about _PAIRS_AT_ONCE pairs each; `ends` counts pairs up to and with each row."""
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(0, total, _PAIRS_AT_ONCE)[1:], "left")
    bounds = np.unique(np.concatenate([[0], cuts, [len(ends)]]))
    return [(int(first), int(last)) for first, last in pairwise(bounds)]
