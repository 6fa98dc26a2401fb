"""What lies around each limit: the frames and pairs that a slightly other limit would decide differently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.flow.sections import NearDuplicateSection
from filtering.catalog import FrameFilter, frame_filters
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames, measured_frames
from filtering.measured import Column, Mask

_WIDER_BITS: Final = 2  # a pair that is so much too far away is a near miss
_MOST_BITS: Final = 16  # what a setting may be


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What one filter says of the training frames: a score each (NaN: not judged), and which of them may stay."""

    item: FrameFilter
    frame_ids: Sequence[str]
    scores: Column
    stays: Mask

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


def judged_frames(request: FilterRequest, outcome: FilterOutcome) -> list[Judged]:
    """Return what each filter of the catalog says of the training frames that could be measured."""
    decisions = outcome.decisions
    others = pc.or_(pc.equal(decisions["verdict"], "quarantined"), pc.equal(decisions["rule"], "split"))
    measured = measured_frames(request, set(decisions["frame_id"].filter(others).to_pylist()))
    frame_ids = measured.signals["frame_id"].to_pylist()
    judged = []
    for item in frame_filters(request.filters):
        scores = item.score(measured)
        judged.append(Judged(item, frame_ids, scores, item.keep(scores)))
    return judged


def near_misses(request: FilterRequest, outcome: FilterOutcome, count: int) -> list[NearMiss]:
    """Return up to `count` kept frames that limits two bits wider would drop, the nearest to their limit first."""
    section = request.filters.near_duplicates
    if not section.enabled:
        return []
    wider = replace(
        section,
        same_drive_max_bits=min(section.same_drive_max_bits + _WIDER_BITS, _MOST_BITS),
        across_drives_max_bits=min(section.across_drives_max_bits + _WIDER_BITS, _MOST_BITS),
    )
    filters = replace(request.filters, near_duplicates=wider)
    tried = filter_frames(replace(request, filters=filters, pixels=None)).decisions
    verdicts = dict(
        zip(outcome.decisions["frame_id"].to_pylist(), outcome.decisions["verdict"].to_pylist(), strict=True)
    )
    found = [
        NearMiss(row["frame_id"], row["twin"], row["score"], row["limit"] - _added(row, section, wider))
        for row in tried.filter(pc.equal(tried["reason"], "near_duplicate")).to_pylist()
        if verdicts[row["frame_id"]] == "kept" and row["twin"] is not None
    ]
    missed = [item for item in found if item.score > item.limit]
    return sorted(missed, key=lambda item: (item.score - item.limit, item.frame_id))[:count]


def _added(row: Mapping[str, object], section: NearDuplicateSection, wider: NearDuplicateSection) -> float:
    """Return how much wider the limit of this decision was."""
    same_drive = str(row["rule"]).endswith("same_drive")
    name = "same_drive_max_bits" if same_drive else "across_drives_max_bits"
    return float(getattr(wider, name) - getattr(section, name))
