"""Decide for every frame of a snapshot whether it is worth keeping, and say why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.by_hand import ByHand
from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.sections import CornerCaseSection, FilterSection
from driveflow.predicates import Mask
from driveflow.snapshots import SnapshotTables
from filtering.catalog import FrameFilter, frame_filters
from filtering.decisions import STEP, Decision, Decisions, Ints, counts_of, quarantine_rows, score_texts
from filtering.distinct import pairs_among
from filtering.equal_pixels import Lookalikes, thin_with_pixels
from filtering.fingerprint import Pixels
from filtering.measured import MeasuredFrames
from filtering.near_duplicates import REASONS, RULES, UNITS, Candidates, Twins, thin, vectors_of
from filtering.places import sightings
from filtering.populations import populations
from filtering.rare_pixels import rare_by_pixels
from filtering.rarity import labeled_mask, shielded_frames
from filtering.series import series

__all__ = ["STEP", "FilterOutcome", "FilterRequest", "filter_frames", "measured_frames"]

_SHIELDED, _LABELED, _OTHER = 0, 1, 2  # who is asked first, and so becomes the twin that stays
_UNMEASURED = "nothing was measured of this frame; fingerprint it first"
_LOOK = ("phash64", "phash256")  # what two frames with equal pixels have in common, beside their size


@dataclass(frozen=True, slots=True)
class FilterRequest:
    """The frames to judge, what was measured of them, and the rules; `predictions` find rare frames without labels.

    Frames with equal pixels are found where `pixels` can be read; what people said `by_hand` is kept to; frames that
    have `vectors` are compared by these too.
    """

    tables: SnapshotTables
    signals: pa.Table
    filters: FilterSection
    corner_cases: Sequence[CornerCaseSection] = ()
    predictions: pa.Table | None = None
    pixels: Pixels | None = None
    by_hand: ByHand = field(default_factory=ByHand)
    vectors: FrameVectors | None = None


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """What is kept, one decision for every frame that came in, and how many of each; the counts add up."""

    kept_tables: SnapshotTables
    decisions: pa.Table
    quarantine: pa.Table
    counts: dict[str, int]

    def __post_init__(self) -> None:
        parts = sum(self.counts[verdict] for verdict in columns.VERDICTS)
        if not parts == self.counts["frames_in"] == self.decisions.num_rows:
            raise AssertionError(f"frames went missing: {self.counts}")


def filter_frames(request: FilterRequest) -> FilterOutcome:
    """Decide about every frame.

    Frames whose pixels were not measured are quarantined. Frames of val and hold-out are never thinned and never the
    twin of a training frame. Training frames are dropped by the filters of the catalog, and what these leave is thinned
    by the leader rule. Frames of a corner case are, up to its quota, spared by everything but dead limits, frames that
    are rare by their pixels alone by thinning; what a person said should stay is spared by everything.
    """
    frames = request.tables.frames
    decisions = Decisions(frames["frame_id"].combine_chunks())
    _quarantine_unmeasured(request, decisions)
    _keep_other_splits(frames, decisions)
    held = _among(frames, request.by_hand.kept) & decisions.open
    shield = _drop_alone(request, held, decisions)
    rare = _among(frames, shield)
    alone = _alone(request, decisions)
    if request.filters.near_duplicates.enabled:
        _drop_near_duplicates(request, rare | held | _among(frames, alone), decisions)
    undone = Decision(verdict="kept", rule="by_hand", reason="kept_by_hand", detail="a person said that it stays")
    decisions.decide(np.flatnonzero(held), undone)
    _keep_rare(frames, shield, rare, decisions)
    _keep_alone(frames, alone, decisions)
    decisions.decide(np.flatnonzero(decisions.open), Decision(verdict="kept", rule="filters", reason="kept"))
    return _outcome(request, decisions.table())


def _drop_alone(request: FilterRequest, held: Mask, decisions: Decisions) -> dict[str, str]:
    """Drop what a filter rejects by itself; return which frames are shielded, and by which corner case."""
    frames, filters = request.tables.frames, frame_filters(request.filters)
    judged = np.flatnonzero(decisions.open)
    measured = _measured(request, judged)
    _drop_defects((judged, measured), [item for item in filters if not item.spares_rare], decisions, held)
    alive = frames["frame_id"].filter(pa.array(decisions.open)).combine_chunks()
    shield = shielded_frames(request.tables, request.corner_cases, request.predictions, alive)
    spared = held | _among(frames, shield)
    _drop_defects((judged, measured), [item for item in filters if item.spares_rare], decisions, spared)
    return shield


def measured_frames(request: FilterRequest, without: Collection[str]) -> MeasuredFrames:
    """Return the measured frames that are not among `without`, sorted by frame, each with its population."""
    rest = ~_among(request.tables.frames, without)
    rows = np.flatnonzero(rest & np.asarray(pc.is_valid(_signal_rows(request)).to_numpy(zero_copy_only=False)))
    return _measured(request, rows)


def _among(frames: pa.Table, frame_ids: Collection[str]) -> Mask:
    found = pc.is_in(frames["frame_id"], value_set=pa.array(list(frame_ids), pa.string()))
    return np.asarray(found.to_numpy(), dtype=np.bool_)


def _signal_rows(request: FilterRequest) -> pa.ChunkedArray:
    """Return for each frame the row of its signals; null where there is none."""
    return pc.index_in(request.tables.frames["frame_id"], value_set=request.signals["frame_id"].combine_chunks())


def _signals_of(request: FilterRequest, rows: Ints) -> pa.Table:
    return request.signals.take(_signal_rows(request).take(pa.array(rows))).combine_chunks()


def _measured(request: FilterRequest, rows: Ints) -> MeasuredFrames:
    frames, sources = request.tables.frames.take(pa.array(rows)), request.tables.sources
    return MeasuredFrames(_signals_of(request, rows), populations(frames, sources), series(frames["frame_id"], sources))


def _quarantine_unmeasured(request: FilterRequest, decisions: Decisions) -> None:
    at = _signal_rows(request)
    errors = request.signals["error"].take(at)
    lost = np.flatnonzero(pc.or_(pc.is_null(at), pc.is_valid(errors)).to_numpy())
    detail = pc.fill_null(errors.take(pa.array(lost)), _UNMEASURED)
    decisions.decide(lost, Decision(verdict="quarantined", rule="signals", reason="unreadable", detail=detail))


def _keep_other_splits(frames: pa.Table, decisions: Decisions) -> None:
    for split in columns.SPLITS:
        if split != "train":
            rows = np.flatnonzero(decisions.open & pc.equal(frames["split"], split).to_numpy())
            why = Decision(verdict="kept", rule="split", reason=split, detail=f"{split} frames are not thinned")
            decisions.decide(rows, why)


def _drop_defects(
    frames: tuple[Ints, MeasuredFrames], filters: Sequence[FrameFilter], decisions: Decisions, spared: Mask
) -> None:
    judged, measured = frames
    for item in filters:
        scores = item.score(measured)
        beyond = np.flatnonzero(~item.keep(scores) & ~spared[judged] & decisions.open[judged])
        detail = score_texts(scores[beyond], f"{item.unit} {{:g}}, limit {item.limit:g}")
        dropped = Decision(
            verdict="dropped",
            rule=item.rule,
            reason=item.reason,
            score=scores[beyond],
            limit=float(item.limit),
            detail=detail,
        )
        decisions.decide(judged[beyond], dropped)


def _drop_near_duplicates(request: FilterRequest, shielded: Mask, decisions: Decisions) -> None:
    section = request.filters.near_duplicates
    rows = np.flatnonzero(decisions.open)
    signals = _signals_of(request, rows)
    candidates = _candidates(request, rows, signals, shielded[rows])
    if section.equal_pixels and request.pixels is not None:
        look = _looks(signals, request.tables.frames.take(pa.array(rows)))
        twins = thin_with_pixels(candidates, Lookalikes(look, request.tables, request.pixels), section)
    else:
        twins = thin(candidates, section)
    for number, rule in enumerate(RULES):
        mine = twins.rule == number
        decisions.decide(rows[twins.frame[mine]], _twins(rule, twins, mine, candidates.frame_ids))


def _candidates(request: FilterRequest, rows: Ints, signals: pa.Table, shielded: Mask) -> Candidates:
    frames = request.tables.frames.take(pa.array(rows))
    frame_ids = frames["frame_id"].combine_chunks()
    return Candidates(
        frame_ids=frame_ids,
        phash64=signals["phash64"].to_numpy(),
        seen=sightings(frame_ids, request.tables.sources),
        rank=np.where(shielded, _SHIELDED, np.where(labeled_mask(frames), _LABELED, _OTHER)),
        shielded=shielded,
        distinct=pairs_among(frame_ids, request.by_hand.pairs()),
        vectors=None if request.vectors is None else vectors_of(frame_ids, request.vectors),
    )


def _looks(signals: pa.Table, frames: pa.Table) -> Ints:
    """Number the frames by hash and size."""
    import polars as pl

    names = [name for name in _LOOK if name in signals.column_names and not signals[name].null_count]
    keys = pl.DataFrame(
        {
            **{name: pl.from_arrow(signals[name]) for name in names},
            "width": frames["width"].to_numpy(),
            "height": frames["height"].to_numpy(),
        }
    )
    return keys.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series().to_numpy()


def _twins(rule: str, twins: Twins, mine: Mask, frame_ids: pa.Array) -> Decision:
    score, limit = twins.score[mine], twins.limit[mine]
    shown = float(limit[0]) if len(limit) else 0.0
    unit = UNITS.get(rule, "bits from the kept frame")
    return Decision(
        verdict="dropped",
        rule=rule,
        reason=REASONS[rule],
        score=score,
        limit=limit,
        twin=frame_ids.take(pa.array(twins.twin[mine])),
        detail=score_texts(score, f"{{:g}} {unit}, limit {shown:g}"),
    )


def _keep_rare(frames: pa.Table, shield: Mapping[str, str], rare: Mask, decisions: Decisions) -> None:
    rows = np.flatnonzero(rare & decisions.open)
    names = [f"shielded by {shield[name]}" for name in frames["frame_id"].take(pa.array(rows)).to_pylist()]
    why = Decision(verdict="kept", rule="corner_cases", reason="corner_case", detail=pa.array(names, pa.string()))
    decisions.decide(rows, why)


def _alone(request: FilterRequest, decisions: Decisions) -> dict[str, int]:
    """Return the frames to shield that nothing resembles; a rule by hash alone drops none of them anyway."""
    section = request.filters.near_duplicates
    floors = section.min_gap_s or section.min_gap_m or request.vectors is not None
    if not (request.filters.shield.enabled and section.enabled and floors):
        return {}
    signals = _signals_of(request, np.flatnonzero(decisions.open))
    return rare_by_pixels(signals["frame_id"].combine_chunks(), signals["phash64"].to_numpy(), request.filters.shield)


def _keep_alone(frames: pa.Table, alone: Mapping[str, int], decisions: Decisions) -> None:
    rows = np.flatnonzero(_among(frames, alone) & decisions.open)
    bits = [alone[name] for name in frames["frame_id"].take(pa.array(rows)).to_pylist()]
    detail = pa.array([f"{far} bits from the nearest other frame" for far in bits], pa.string())
    decisions.decide(rows, Decision(verdict="kept", rule="shield", reason="rare_by_pixels", detail=detail))


def _outcome(request: FilterRequest, decisions: pa.Table) -> FilterOutcome:
    kept = decisions["frame_id"].filter(pc.equal(decisions["verdict"], "kept"))
    return FilterOutcome(
        kept_tables=request.tables.only(kept),
        decisions=decisions,
        quarantine=quarantine_rows(decisions, request.tables.frames, request.tables.sources),
        counts=counts_of(decisions),
    )
