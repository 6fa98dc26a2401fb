"""Frames that show what a kept frame shows: near by perceptual hash, or taken right beside it in time."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.hamming import distances_bits
from driveflow.neighbours.leader_scan import Followers, NamedPairs, follow
from filtering.places import Floats, Ints, Sightings
from filtering.twin_groups import KINDS, NS_PER_S, TwinGroups, group_limits_bits, twin_groups

EQUAL_PIXELS: Final = "equal_pixels"
SAME_DRIVE: Final = "near_duplicates.same_drive"
ACROSS_DRIVES: Final = "near_duplicates.across_drives"
ACROSS_CAMERAS: Final = "near_duplicates.across_cameras"
MIN_GAP: Final = "near_duplicates.min_gap"
MIN_GAP_M: Final = "near_duplicates.min_gap_m"
RULES: Final = (EQUAL_PIXELS, SAME_DRIVE, ACROSS_DRIVES, ACROSS_CAMERAS, MIN_GAP, MIN_GAP_M)
REASONS: Final = {
    EQUAL_PIXELS: "exact_duplicate",
    SAME_DRIVE: "near_duplicate",
    ACROSS_DRIVES: "near_duplicate",
    ACROSS_CAMERAS: "near_duplicate",
    MIN_GAP: "min_gap",
    MIN_GAP_M: "min_gap",
}
UNITS: Final = {
    MIN_GAP: "s after or before the kept frame",
    MIN_GAP_M: "m from the kept frame",
    EQUAL_PIXELS: "bits from the kept frame, every pixel equal",
}
_BY_GAP, _BY_GAP_M = RULES.index(MIN_GAP), RULES.index(MIN_GAP_M)

Codes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Frames to thin, as columns.

    Frames of a lower `rank` are asked first, and `shielded` ones stay whatever they resemble. `seen` numbers its frames
    as these columns do. `pixels` are equal where the pixels of two frames are, -1 where that is not known. No frame is
    the twin of one it is `distinct` from.
    """

    frame_ids: pa.Array
    phash64: Codes
    seen: Sightings
    rank: Ints
    shielded: Mask
    pixels: Ints | None = None
    distinct: NamedPairs | None = None


@dataclass(frozen=True, slots=True)
class Twins:
    """Frames to drop and the kept frame that each resembles, by their place among the candidates.

    `rule` is a place in `RULES`; `score` and `limit` are bits, seconds under `MIN_GAP`, metres under `MIN_GAP_M`. A
    score that is no distance, or beyond its limit, is refused.
    """

    frame: Ints
    twin: Ints
    rule: Ints
    score: Floats
    limit: Floats

    def __post_init__(self) -> None:
        sound = (self.score >= 0) & (self.score <= self.limit)  # NaN is neither
        if not sound.all():
            worst = self.score[~sound][:5].tolist()
            raise AssertionError(f"{int((~sound).sum())} distances are no distances within their limit: {worst}")


def thin(candidates: Candidates, section: NearDuplicateSection) -> Twins:
    """Return every frame to drop with the kept frame it resembles.

    The leader rule: frames are asked by rank, then drive by drive in time order, and compared with kept frames only, so
    every dropped frame has a kept twin within its limit. Frames of different cameras resemble each other only where the
    section says so, or where every pixel is equal. The nearest kept frame is the twin, of several the one asked first;
    where none is near, one too close in time or place.
    """
    asking = asking_order(candidates)
    pixels = np.full(len(asking), -1) if candidates.pixels is None else candidates.pixels
    groups = twin_groups(candidates.seen, asking, pixels, section)
    barred = None if candidates.distinct is None else _in_order(candidates.distinct, asking)
    found = follow(candidates.phash64[asking], groups.members, groups.rules, candidates.shielded[asking], barred)
    twins = _named(found, groups, asking, section)
    _recheck(twins, candidates.phash64)
    return twins


def asking_order(candidates: Candidates) -> Ints:
    """Return the places of the candidates in the order in which they are asked."""
    by_id = pc.sort_indices(candidates.frame_ids).to_numpy().astype(np.int64)
    return np.asarray(by_id[np.lexsort((candidates.seen.order[by_id], candidates.rank[by_id]))])


def _named(found: Followers, groups: TwinGroups, asking: Ints, section: NearDuplicateSection) -> Twins:
    """Name the rule of each follower, with what was measured and its limit."""
    rows = np.flatnonzero(found.leader != np.arange(len(asking)))
    leader, group = found.leader[rows], found.group[rows]
    kind, bits, gap_ns = groups.kind[group], found.distance_bits[rows], found.gap_ns[rows]
    by_time = (gap_ns >= 0) & (gap_ns < groups.rules.floor_ns)
    by_place = (gap_ns >= 0) & ~by_time
    score = np.where(by_time, np.round(gap_ns / NS_PER_S, 6), bits.astype(np.float64))
    score[by_place] = np.round(groups.gap_m(rows[by_place], leader[by_place], group[by_place]), 3)
    floors = np.where(by_time, section.min_gap_s, section.min_gap_m)
    return Twins(
        frame=asking[rows],
        twin=asking[leader],
        rule=np.select([by_time, by_place], [_BY_GAP, _BY_GAP_M], kind),
        score=score,
        limit=np.where(gap_ns >= 0, floors, group_limits_bits(section)[kind % KINDS]),
    )


def _recheck(twins: Twins, codes: Codes) -> None:
    """Compare every distance in bits with that of the pair itself; raise where the search was wrong."""
    near = twins.rule < _BY_GAP
    apart = distances_bits(codes[twins.frame[near]], codes[twins.twin[near]])
    if (apart != twins.score[near]).any():
        raise AssertionError("a near-duplicate is not as far from its twin as was found")


def _in_order(pairs: NamedPairs, asking: Ints) -> NamedPairs:
    """Return the pairs of candidates as pairs of places in the order of asking."""
    rank = np.empty(len(asking), np.int64)
    rank[asking] = np.arange(len(asking))
    sizes = np.diff(pairs.starts)
    owner = rank[np.repeat(np.arange(len(sizes)), sizes)]
    by_owner = np.argsort(owner, kind="stable")
    starts = np.append(0, np.cumsum(sizes[asking]))
    return NamedPairs(starts, rank[pairs.items][by_owner], pairs.distance[by_owner])
