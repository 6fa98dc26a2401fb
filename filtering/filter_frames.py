"""Decide for every frame of a snapshot whether it is worth keeping, and say why."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.snapshots import SnapshotTables
from filtering.arrivals import BatchNote, judge_in_order
from filtering.decisions import STEP, counts_of, quarantine_rows
from filtering.filter_request import FilterRequest
from filtering.measured import MeasuredFrames

__all__ = ["STEP", "FilterOutcome", "FilterRequest", "filter_frames", "measured_frames"]


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What is kept, one decision for every frame that came in, and how many of each; the counts add up.

    `batches` tells what came of each batch where they were judged in their order of arrival.
    """

    kept_tables: SnapshotTables
    decisions: pa.Table
    quarantine: pa.Table
    counts: dict[str, int]
    batches: tuple[BatchNote, ...] = ()

    def __post_init__(self) -> None:
        parts = sum(self.counts[verdict] for verdict in columns.VERDICTS)
        if not parts == self.counts["frames_in"] == self.decisions.num_rows:
            raise AssertionError(f"frames went missing: {self.counts}")


def filter_frames(request: FilterRequest) -> FilterOutcome:
    """Decide about every frame.

    Frames whose pixels were not measured are quarantined. Frames of val and hold-out are never thinned and never the
    twin of a training frame. Training frames are dropped by the filters of the catalog, and what these leave is thinned
    by the leader rule. Frames of a corner case are, up to its quota, spared by everything but dead limits, frames that
    are rare by their pixels alone by thinning, those of another scene than their population by relative limits. What a
    person said should stay is spared by everything.
    """
    judged, batches = judge_in_order(request)
    decisions = judged.decisions
    kept = decisions["frame_id"].filter(pc.equal(decisions["verdict"], "kept"))
    return FilterOutcome(
        kept_tables=request.tables.only(kept),
        decisions=decisions,
        quarantine=quarantine_rows(decisions, request.tables.frames, request.tables.sources),
        counts=counts_of(decisions),
        batches=batches,
    )


def measured_frames(request: FilterRequest, without: Collection[str]) -> MeasuredFrames:
    """Return the measured frames that are not among `without`, sorted by frame, each with its population."""
    rest = ~request.among(pa.array(list(without), pa.string()))
    measured = np.asarray(pc.is_valid(request.signal_rows()).to_numpy(zero_copy_only=False))
    return request.measured(np.flatnonzero(rest & measured))
