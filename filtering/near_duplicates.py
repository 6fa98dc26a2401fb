"""Frames that show what a kept frame shows: near by perceptual hash, or taken right beside it in time."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.embeddings.vector_store import VectorSource
from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.found_pairs import FoundPairs
from driveflow.neighbours.hamming import distances_bits
from driveflow.neighbours.kept_vectors import later, near_kept
from driveflow.neighbours.leader_scan import Followers, LeaderScan, Memberships, NamedPairs, no_pairs
from driveflow.neighbours.vectors import NearVectors, VectorRules
from filtering.pair_relations import pair_relations
from filtering.places import Floats, Ints, Sightings
from filtering.twin_groups import NS_PER_S, TwinGroups, group_limits_bits, group_limits_cosine, twin_groups

EQUAL_PIXELS: Final = "equal_pixels"
SAME_DRIVE: Final = "near_duplicates.same_drive"
ACROSS_DRIVES: Final = "near_duplicates.across_drives"
ACROSS_CAMERAS: Final = "near_duplicates.across_cameras"
MIN_GAP: Final = "near_duplicates.min_gap"
MIN_GAP_M: Final = "near_duplicates.min_gap_m"
BY_VECTOR: Final = ("embedding.same_drive", "embedding.across_drives", "embedding.across_cameras")
RULES: Final = (EQUAL_PIXELS, SAME_DRIVE, ACROSS_DRIVES, ACROSS_CAMERAS, MIN_GAP, MIN_GAP_M, *BY_VECTOR)
REASONS: Final = {
    EQUAL_PIXELS: "exact_duplicate",
    SAME_DRIVE: "near_duplicate",
    ACROSS_DRIVES: "near_duplicate",
    ACROSS_CAMERAS: "near_duplicate",
    MIN_GAP: "min_gap",
    MIN_GAP_M: "min_gap",
    **dict.fromkeys(BY_VECTOR, "near_duplicate"),
}
UNITS: Final = {
    MIN_GAP: "s after or before the kept frame",
    MIN_GAP_M: "m from the kept frame",
    EQUAL_PIXELS: "bits from the kept frame, every pixel equal",
    **dict.fromkeys(BY_VECTOR, "in cosine distance from the kept frame"),
}
_BY_GAP, _BY_GAP_M = RULES.index(MIN_GAP), RULES.index(MIN_GAP_M)
_FIRST_BY_VECTOR: Final = RULES.index(BY_VECTOR[0]) - RULES.index(SAME_DRIVE)
_BLOCK: Final = 4_096  # frames whose vectors are compared at once; the answer does not depend on it

Codes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Frames to thin, as columns.

    Frames of a lower `rank` are asked first, and `shielded` ones stay whatever they resemble. `seen` numbers its frames
    as these columns do. `pixels` are equal where the pixels of two frames are, -1 where that is not known. No frame is
    the twin of one it is `distinct` from. `vectors` have length 1, or 0 where a frame has none. The first `settled`
    ones were kept before, in this order, and are asked first.
    """

    frame_ids: pa.Array
    phash64: Codes
    seen: Sightings
    rank: Ints
    shielded: Mask
    pixels: Ints | None = None
    distinct: NamedPairs | None = None
    vectors: VectorSource | None = None
    settled: int = 0


@dataclass(frozen=True, slots=True)
class Twins:
    """Frames to drop and the kept frame that each resembles, by their place among the candidates.

    `rule` is a place in `RULES`; `score` and `limit` are bits, seconds under `MIN_GAP`, metres under `MIN_GAP_M`, and
    cosine distances under `BY_VECTOR`. A score that is no distance, or beyond its limit, is refused.
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
    where none is near by hash, the nearest by vector; where none is, one too close in time or place.
    """
    asking = asking_order(candidates)
    pixels = np.full(len(asking), -1) if candidates.pixels is None else candidates.pixels
    groups = twin_groups(candidates.seen, asking, pixels, section)
    twins = _named(_followers(candidates, asking, groups, section), groups, asking, (candidates.seen, section))
    _recheck(twins, candidates.phash64)
    return twins


def asking_order(candidates: Candidates) -> Ints:
    """Return the places of the candidates in the order in which they are asked."""
    order = np.lexsort((candidates.seen.order, candidates.rank))
    keys = np.stack([candidates.rank, candidates.seen.order])[:, order]
    if (keys[:, 1:] != keys[:, :-1]).any(axis=0).all():
        return order
    by_id = pc.sort_indices(candidates.frame_ids).to_numpy().astype(np.int64)
    return np.asarray(by_id[np.lexsort((candidates.seen.order[by_id], candidates.rank[by_id]))])


def _followers(candidates: Candidates, asking: Ints, groups: TwinGroups, section: NearDuplicateSection) -> Followers:
    """Apply the leader rule by hash and, where vectors are asked, by vector, frame by frame in the order of asking."""
    barred = no_pairs(len(asking)) if candidates.distinct is None else _in_order(candidates.distinct, asking)
    lead = candidates.shielded[asking]
    walk = LeaderScan(candidates.phash64[asking], groups.members, groups.rules, lead, barred)
    limits = group_limits_cosine(section)
    if candidates.vectors is None or limits.max() < 0:
        walk.ask(no_pairs(len(asking)))
        return walk.followers
    rules = VectorRules(limits[groups.kind], groups.rules.windowed, groups.rules.window_ns)
    walk.ask(no_pairs(int(np.argmin(np.append(lead, False)))))  # those lead: they need no search
    _ask_by_vector(candidates, asking, walk, (groups.members, rules, lead | (np.diff(barred.starts) > 0)))
    return walk.followers


def _ask_by_vector(
    candidates: Candidates, asking: Ints, walk: LeaderScan, among: tuple[Memberships, VectorRules, Mask]
) -> None:
    """Ask who is left; only vectors of new frames are in memory, those of settled ones come part by part."""
    members, rules, may_lead = among
    settled, source = candidates.settled, candidates.vectors
    if source is None or walk.asked == len(asking):
        return
    ids = candidates.frame_ids.take(pa.array(asking))
    vectors = source.rows(ids.slice(settled))
    kept = near_kept(vectors, members, rules, source.parts(ids.slice(0, settled))) if settled else no_pairs(len(asking))
    near = NearVectors(vectors, later(members, settled), rules, may_lead[settled:])
    near.pass_by(walk.asked - settled)
    while walk.asked < len(asking):
        first, count = walk.asked, min(_BLOCK, len(asking) - walk.asked)
        new = FoundPairs.of(near.ask(count, walk.leads()[settled:]), first)
        old = FoundPairs.of(_part_of(kept, first - settled, count), first)
        moved = FoundPairs(new.left, new.right + settled, new.distance)
        walk.ask(FoundPairs.joined([old, moved]).by_item(first, count))


def _part_of(pairs: NamedPairs, first: int, count: int) -> NamedPairs:
    starts = pairs.starts[first : first + count + 1]
    rows = slice(starts[0], starts[-1])
    return NamedPairs(starts - starts[0], pairs.items[rows], pairs.distance[rows])


def _named(found: Followers, groups: TwinGroups, asking: Ints, known: tuple[Sightings, NearDuplicateSection]) -> Twins:
    """Name the rule of each follower, with what was measured and its limit."""
    seen, section = known
    rows = np.flatnonzero(found.leader != np.arange(len(asking)))
    leader, group = found.leader[rows], found.group[rows]
    bits, gap_ns, apart = found.distance_bits[rows], found.gap_ns[rows], found.vector_distance[rows]
    by_time = (gap_ns >= 0) & (gap_ns < groups.rules.floor_ns)
    by_place, by_vector = (gap_ns >= 0) & ~by_time, apart >= 0
    kind = np.zeros(len(rows), np.int64)
    kind[~by_vector] = groups.kind[group[~by_vector]]
    kind[by_vector] = pair_relations(seen, asking[rows[by_vector]], asking[leader[by_vector]], section).kind
    moved_m = np.zeros(len(rows))
    moved_m[by_place] = np.round(groups.gap_m(rows[by_place], leader[by_place], group[by_place]), 3)
    how = [by_time, by_place, by_vector]
    limits = [np.full(len(rows), section.min_gap_s), np.full(len(rows), section.min_gap_m)]
    return Twins(
        frame=asking[rows],
        twin=asking[leader],
        rule=np.select(how, [_BY_GAP, _BY_GAP_M, _FIRST_BY_VECTOR + kind], kind),
        score=np.select(how, [np.round(gap_ns / NS_PER_S, 6), moved_m, apart], bits),
        limit=np.select(how, [*limits, group_limits_cosine(section)[kind]], group_limits_bits(section)[kind]),
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
