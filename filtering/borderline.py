"""What lies around each limit: the frames and pairs that a slightly other limit would decide differently."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.flow.sections import NearDuplicateSection
from filtering.catalog import FrameFilter, frame_filters, setting_of
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames, measured_frames
from filtering.measured import Column, Mask

_WIDER_BITS: Final = 2  # a pair that is so much too far away is a near miss
_WIDER: Final = 1.5  # the same for a cosine distance, as a factor
_MOST_BITS, _MOST_DISTANCE = 16, 2.0  # what a setting may be


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What one filter says of the training frames: a score each (NaN: not judged), and which of them may stay."""

    item: FrameFilter
    frame_ids: Sequence[str]
    scores: Column
    stays: Mask
    setting: str  # as the flow file has it, "blur.max_robust_z: 4"

    @property
    def beyond(self) -> int:
        """How many frames lie beyond the limit."""
        return int((~self.stays).sum())

    @property
    def drops_above(self) -> bool:
        """Whether scores over the limit are dropped, not those under it."""
        limit = self.item.limit
        return bool(self.item.keep(np.array([limit - max(abs(limit), 1.0)]))[0])

    def known(self) -> Column:
        """Return the scores there are, sorted."""
        return np.sort(self.scores[~np.isnan(self.scores)])

    def nearest(self, count: int, *, beyond: bool) -> list[tuple[str, float]]:
        """Return up to `count` frames on one side of the limit with their scores, those nearest to it first."""
        side = ~self.stays if beyond else self.stays
        rows = np.flatnonzero(side & ~np.isnan(self.scores))
        ordered = rows[np.argsort(np.abs(self.scores[rows] - self.item.limit), kind="stable")][:count]
        return [(self.frame_ids[row], float(self.scores[row])) for row in ordered.tolist()]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A frame that stays, the kept frame it resembles most, and how much too far away that one is."""

    frame_id: str
    twin: str
    score: float
    limit: float
    unit: str


def judged_frames(request: FilterRequest, outcome: FilterOutcome) -> list[Judged]:
    """Return what each filter of the catalog says of the training frames that could be measured."""
    decisions = outcome.decisions
    others = pc.or_(pc.equal(decisions["verdict"], "quarantined"), pc.equal(decisions["rule"], "split"))
    measured = measured_frames(request, set(decisions["frame_id"].filter(others).to_pylist()))
    frame_ids = measured.signals["frame_id"].to_pylist()
    judged = []
    for item in frame_filters(request.filters):
        scores = item.score(measured)
        judged.append(Judged(item, frame_ids, scores, item.keep(scores), setting_of(item.rule, request.filters)))
    return judged


def near_misses(request: FilterRequest, outcome: FilterOutcome, count: int) -> list[NearMiss]:
    """Return up to `count` kept frames that slightly wider limits would drop, the nearest to their limit first.

    Limits in bits are taken two wider, cosine distances half as much again.
    """
    section = request.filters.near_duplicates
    if not section.enabled:
        return []
    filters = replace(request.filters, near_duplicates=_wider(section))
    tried = filter_frames(replace(request, filters=filters, pixels=None)).decisions
    decided = outcome.decisions
    stays = decided["frame_id"].filter(pc.equal(decided["verdict"], "kept")).combine_chunks()
    rows = tried.filter(
        pc.and_(pc.equal(tried["reason"], "near_duplicate"), pc.is_in(tried["frame_id"], value_set=stays))
    )
    found = [
        NearMiss(row["frame_id"], row["twin"], row["score"], *_limit(row["rule"], section)) for row in rows.to_pylist()
    ]
    missed = [item for item in found if item.score > item.limit]
    return sorted(missed, key=lambda item: (item.score - item.limit, item.frame_id))[:count]


def _wider(section: NearDuplicateSection) -> NearDuplicateSection:
    return replace(
        section,
        same_drive_max_bits=min(section.same_drive_max_bits + _WIDER_BITS, _MOST_BITS),
        across_drives_max_bits=min(section.across_drives_max_bits + _WIDER_BITS, _MOST_BITS),
        same_drive_max_distance=min(_WIDER * section.same_drive_max_distance, _MOST_DISTANCE),
        across_drives_max_distance=min(_WIDER * section.across_drives_max_distance, _MOST_DISTANCE),
    )


def _limit(rule: str, section: NearDuplicateSection) -> tuple[float, str]:
    """Return the limit that `section` sets under a rule of near-duplicates, and its unit."""
    within = rule.endswith(".same_drive")
    if rule.startswith("embedding."):
        most = section.same_drive_max_distance if within else section.across_drives_max_distance
        return most, "in cosine distance"
    return float(section.same_drive_max_bits if within else section.across_drives_max_bits), "bits"
