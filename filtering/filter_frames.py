"""Decide for every frame of a snapshot whether it is worth keeping, and say why."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.flow.sections import CornerCaseSection, FilterSection
from driveflow.predicates import Mask, attribute
from driveflow.snapshots import SnapshotTables
from filtering.catalog import FrameFilter, frame_filters
from filtering.measured import Groups, MeasuredFrames
from filtering.near_duplicates import MIN_GAP, REASONS, Candidate, thin
from filtering.places import Sighting, first_places, sightings
from filtering.rarity import labeled_mask, shielded_frames

STEP = "filter_frames"
_SHIELDED, _LABELED, _OTHER = 0, 1, 2  # who is asked first, and so becomes the twin that stays


@dataclass(frozen=True, slots=True)
class FilterRequest:
    """The frames to judge, what was measured of them, and the rules; `predictions` find rare frames without labels."""

    tables: SnapshotTables
    signals: pa.Table
    filters: FilterSection
    corner_cases: Sequence[CornerCaseSection] = ()
    predictions: pa.Table | None = None


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


@dataclass(frozen=True, slots=True)
class _Decision:
    verdict: str
    rule: str
    reason: str
    score: float | None = None
    limit: float | None = None
    twin: str | None = None
    detail: str = ""


def filter_frames(request: FilterRequest) -> FilterOutcome:
    """Decide about every frame.

    Frames whose pixels were not measured are quarantined. Frames of val and hold-out are never thinned and never the
    twin of a training frame. Training frames are dropped by the filters of the catalog, and what these leave is thinned
    by the leader rule. Frames of a corner case are, up to its quota, spared by everything but dead limits.
    """
    frames = request.tables.frames
    decisions: dict[str, _Decision] = {}
    _quarantine_unmeasured(request, decisions)
    _keep_other_splits(frames, decisions)
    judged = measured_frames(request, decisions)
    dead = [item for item in frame_filters(request.filters) if not item.spares_rare]
    relative = [item for item in frame_filters(request.filters) if item.spares_rare]
    _drop_defects(judged, dead, decisions, np.zeros(judged.signals.num_rows, dtype=np.bool_))
    alive = frames["frame_id"].filter(_undecided(frames, decisions)).combine_chunks()
    shield = shielded_frames(request.tables, request.corner_cases, request.predictions, alive)
    spared = pc.is_in(judged.signals["frame_id"], value_set=pa.array(list(shield), pa.string()))
    _drop_defects(judged, relative, decisions, np.asarray(spared.to_numpy(), dtype=np.bool_))
    _drop_near_duplicates(request, shield, decisions)
    _keep_rest(frames, shield, decisions)
    return _outcome(request, decisions)


def measured_frames(request: FilterRequest, without: Collection[str]) -> MeasuredFrames:
    """Return the measured frames that are not among `without`, sorted by frame, each with its population."""
    frames = request.tables.frames.filter(_undecided(request.tables.frames, without))
    wanted = pc.is_in(request.signals["frame_id"], value_set=frames["frame_id"].combine_chunks())
    signals = request.signals.filter(wanted).sort_by("frame_id")
    return MeasuredFrames(signals.combine_chunks(), _populations(frames, request.tables.sources))


def _quarantine_unmeasured(request: FilterRequest, decisions: dict[str, _Decision]) -> None:
    measured = request.signals.filter(pc.is_null(request.signals["error"]))
    errors = dict(zip(request.signals["frame_id"].to_pylist(), request.signals["error"].to_pylist(), strict=True))
    known = set(measured["frame_id"].to_pylist())
    for frame_id in request.tables.frames["frame_id"].to_pylist():
        if frame_id not in known:
            detail = errors.get(frame_id) or "nothing was measured of this frame; fingerprint it first"
            decisions[frame_id] = _Decision("quarantined", "signals", "unreadable", detail=detail)


def _keep_other_splits(frames: pa.Table, decisions: dict[str, _Decision]) -> None:
    for frame_id, split in zip(frames["frame_id"].to_pylist(), frames["split"].to_pylist(), strict=True):
        if split != "train":
            detail = f"{split} frames are not thinned"
            decisions.setdefault(frame_id, _Decision("kept", "split", split, detail=detail))


def _undecided(frames: pa.Table, decisions: Collection[str]) -> pa.Array:
    decided = pa.array(list(decisions), pa.string())
    return pc.invert(pc.is_in(frames["frame_id"], value_set=decided))


def _populations(frames: pa.Table, sources: pa.Table) -> Groups:
    """Number the populations: camera and time of day, and where that is not known camera and drive.

    A drive of unknown light is compared with itself only, so a night drive without tags is no outlier among days.
    """
    times = attribute(frames, "time_of_day").tolist()
    places = first_places(frames, sources)
    keys = [
        (camera, "time", time) if time else (camera, "drive", drive)
        for time, (drive, camera) in zip(times, places, strict=True)
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _drop_defects(
    judged: MeasuredFrames, filters: Sequence[FrameFilter], decisions: dict[str, _Decision], spared: Mask
) -> None:
    frame_ids = judged.signals["frame_id"].to_pylist()
    for item in filters:
        scores = item.score(judged)
        for row in np.flatnonzero(~item.keep(scores) & ~spared).tolist():
            score = float(scores[row])
            detail = f"{item.unit} {score:g}, limit {item.limit:g}"
            dropped = _Decision("dropped", item.rule, item.reason, score, item.limit, detail=detail)
            decisions.setdefault(frame_ids[row], dropped)


def _drop_near_duplicates(request: FilterRequest, shield: dict[str, str], decisions: dict[str, _Decision]) -> None:
    section = request.filters.near_duplicates
    if not section.enabled:
        return
    for frame_id, twin in thin(_candidates(request, shield, decisions), section).items():
        unit = "s after or before" if twin.rule == MIN_GAP else "bits from"
        dropped = _Decision(
            "dropped",
            twin.rule,
            REASONS[twin.rule],
            twin.score,
            twin.limit,
            twin.frame_id,
            f"{twin.score:g} {unit} the kept frame, limit {twin.limit:g}",
        )
        decisions[frame_id] = dropped


def _candidates(request: FilterRequest, shield: dict[str, str], decisions: dict[str, _Decision]) -> list[Candidate]:
    frames = request.tables.frames
    codes = dict(zip(request.signals["frame_id"].to_pylist(), request.signals["phash64"].to_pylist(), strict=True))
    seen = sightings(request.tables.sources)
    nowhere = Sighting(("", ""))
    candidates = []
    for frame_id, labeled in zip(frames["frame_id"].to_pylist(), labeled_mask(frames).tolist(), strict=True):
        if frame_id not in decisions:
            rank = _SHIELDED if frame_id in shield else _LABELED if labeled else _OTHER
            sighting = seen.get(frame_id, nowhere)
            candidates.append(Candidate(frame_id, codes[frame_id], sighting, rank, rank == _SHIELDED))
    return candidates


def _keep_rest(frames: pa.Table, shield: dict[str, str], decisions: dict[str, _Decision]) -> None:
    plain = _Decision("kept", "filters", "kept")
    for frame_id in frames["frame_id"].to_pylist():
        if frame_id in shield:
            case = shield[frame_id]
            decisions[frame_id] = _Decision("kept", "corner_cases", "corner_case", detail=f"shielded by {case}")
        else:
            decisions.setdefault(frame_id, plain)


def _outcome(request: FilterRequest, decisions: dict[str, _Decision]) -> FilterOutcome:
    table = _decision_table(decisions)
    kept = table["frame_id"].filter(pc.equal(table["verdict"], "kept"))
    unreadable = table["frame_id"].filter(pc.equal(table["verdict"], "quarantined")).combine_chunks()
    return FilterOutcome(
        kept_tables=request.tables.only(kept),
        decisions=table,
        quarantine=_quarantine_table(request.tables, unreadable, decisions),
        counts=_counts(request.tables.frames.num_rows, decisions),
    )


def _decision_table(decisions: dict[str, _Decision]) -> pa.Table:
    ordered = sorted(decisions.items())
    names = [name for name in columns.DECISIONS.names if name not in {"frame_id", "step"}]
    values = {name: [getattr(decision, name) for _, decision in ordered] for name in names}
    ids = [frame_id for frame_id, _ in ordered]
    return pa.table({"frame_id": ids, "step": [STEP] * len(ids), **values}, schema=columns.DECISIONS)


def _quarantine_table(tables: SnapshotTables, unreadable: pa.Array, decisions: dict[str, _Decision]) -> pa.Table:
    sizes = dict(zip(tables.frames["frame_id"].to_pylist(), tables.frames["byte_count"].to_pylist(), strict=True))
    found = tables.sources.filter(pc.is_in(tables.sources["frame_id"], value_set=unreadable)).to_pylist()
    rows = [
        {
            "batch": source["batch"],
            "path": source["path"],
            "reason": decisions[source["frame_id"]].reason,
            "detail": decisions[source["frame_id"]].detail,
            "byte_count": sizes[source["frame_id"]],
        }
        for source in found
    ]
    return pa.Table.from_pylist(rows, schema=columns.QUARANTINE)


def _counts(frames_in: int, decisions: dict[str, _Decision]) -> dict[str, int]:
    verdicts = Counter(decision.verdict for decision in decisions.values())
    reasons = Counter(f"{item.verdict}_{item.reason}" for item in decisions.values() if item.verdict != "kept")
    shielded = sum(item.reason == "corner_case" for item in decisions.values())
    counts = {"frames_in": frames_in, **{verdict: verdicts[verdict] for verdict in columns.VERDICTS}}
    return {**counts, "kept_corner_case": shielded, **dict(sorted(reasons.items()))}
