"""Judge the frames of one batch, knowing what was decided about those that arrived before."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.predicates import Mask
from filtering.catalog import frame_filters
from filtering.decisions import Decision, Decisions, Ints, score_texts
from filtering.equal_pixels import Lookalikes
from filtering.filter_request import FilterRequest
from filtering.kept_index import Judged, KeptFrames
from filtering.near_duplicates import REASONS, RULES, UNITS, Twins
from filtering.other_scenes import Scored, other_scenes
from filtering.rare_pixels import rare_by_pixels
from filtering.rarity import labeled_mask, shielded_frames
from filtering.thin_batch import BatchOutcome, Known, NewFrames, thin_batch

_SHIELDED, _LABELED, _OTHER = 0, 1, 2  # who is asked first, and so becomes the twin that stays
_UNMEASURED = "nothing was measured of this frame; fingerprint it first"
_LOOK = ("phash64", "phash256")  # what two frames with equal pixels have in common, beside their size
_SHIELDED_BY, _BY_PIXELS = "shielded by ", "rare_by_pixels"


def judge(request: FilterRequest, before: Judged) -> Judged:
    """Decide about the frames of `request` that `before` does not, as if these had arrived after all others.

    Populations and drives are those of all frames; quotas are what those before have left. What a person holds is asked
    as all others are and stays where it would be dropped, so that it takes nothing from them and none for its twin.
    """
    frames = request.tables.frames
    held = _among(request, request.by_hand.kept)
    decisions = Decisions(frames["frame_id"].combine_chunks(), _ids(before.decisions), held)
    _quarantine_unmeasured(request, decisions)
    _keep_other_splits(frames, decisions)
    shield = _drop_alone(request, before, decisions)
    rare = _among(request, shield)
    alone = _alone(request, before, decisions)
    kept = KeptFrames.none()
    if request.filters.near_duplicates.enabled:
        kept = _drop_near_duplicates(request, rare | _among(request, alone), before, decisions)
    _keep_rare(frames, shield, rare, decisions)
    _keep_alone(frames, alone, _among(request, alone), decisions)
    decisions.decide(np.flatnonzero(decisions.open), Decision(verdict="kept", rule="filters", reason="kept"))
    return Judged(decisions.table(), kept)


def _ids(table: pa.Table) -> pa.Array:
    return table["frame_id"].combine_chunks()


def _among(request: FilterRequest, frame_ids: Collection[str]) -> Mask:
    return request.among(pa.array(list(frame_ids), pa.string()))


def _quarantine_unmeasured(request: FilterRequest, decisions: Decisions) -> None:
    at = request.signal_rows()
    errors = request.signals["error"].take(at)
    lost = np.flatnonzero(pc.or_(pc.is_null(at), pc.is_valid(errors)).to_numpy() & decisions.open)
    detail = pc.fill_null(errors.take(pa.array(lost)), _UNMEASURED)
    decisions.decide(lost, Decision(verdict="quarantined", rule="signals", reason="unreadable", detail=detail))


def _keep_other_splits(frames: pa.Table, decisions: Decisions) -> None:
    for split in columns.SPLITS:
        if split != "train":
            rows = np.flatnonzero(decisions.open & pc.equal(frames["split"], split).to_numpy())
            why = Decision(verdict="kept", rule="split", reason=split, detail=f"{split} frames are not thinned")
            decisions.decide(rows, why)


def _drop_alone(request: FilterRequest, before: Judged, decisions: Decisions) -> dict[str, str]:
    """Drop what a filter rejects by itself; return which frames are shielded, and by which corner case."""
    frames, judged = request.tables.frames, _training_rows(request)
    measured = request.measured(judged)
    scored = [(item, item.score(measured)) for item in frame_filters(request.filters)]
    nobody = np.zeros(frames.num_rows, np.bool_)
    _drop_defects(judged, [found for found in scored if not found[0].spares_rare], decisions, nobody)
    alive = frames["frame_id"].filter(pa.array(decisions.open)).combine_chunks()
    used = _taken(before, "corner_case")
    shield = shielded_frames(request.tables, request.corner_cases, request.predictions, alive, used)
    spared = _among(request, shield)
    if request.filters.shield.enabled:
        spared[judged] |= other_scenes(measured, scored, request.filters.shield.min_bits)
    _drop_defects(judged, [found for found in scored if found[0].spares_rare], decisions, spared)
    return shield


def _training_rows(request: FilterRequest) -> Ints:
    """Return the training frames that were measured, whoever decided about them."""
    at = request.signal_rows()
    readable = pc.and_(pc.is_valid(at), pc.is_null(request.signals["error"].take(at)))
    return np.flatnonzero(pc.and_(readable, pc.equal(request.tables.frames["split"], "train")).to_numpy())


def _taken(before: Judged, reason: str) -> dict[str, int]:
    """Return how often each detail was told with `reason`: what a quota has left depends on it."""
    details = before.decisions["detail"].filter(pc.equal(before.decisions["reason"], reason))
    counts = pc.value_counts(details)
    return {row["values"].removeprefix(_SHIELDED_BY): row["counts"] for row in counts.to_pylist()}


def _drop_defects(judged: Ints, scored: Sequence[Scored], decisions: Decisions, spared: Mask) -> None:
    for item, scores in scored:
        beyond = np.flatnonzero(~item.keep(scores) & ~spared[judged] & decisions.open[judged])
        beyond = beyond[decisions.let_go(judged[beyond])]
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


def _drop_near_duplicates(request: FilterRequest, shielded: Mask, before: Judged, decisions: Decisions) -> KeptFrames:
    """Drop twins, and return which of the others stay; a twin that is held stays too, but leads nobody."""
    rows = np.flatnonzero(decisions.open)
    frames = request.tables.frames.take(pa.array(rows))
    spared = shielded[rows]
    new = NewFrames(
        frame_ids=_ids(frames),
        phash64=request.signals_of(rows)["phash64"].to_numpy(),
        rank=np.where(spared, _SHIELDED, np.where(labeled_mask(frames), _LABELED, _OTHER)),
        shielded=spared,
    )
    known = Known(
        request.tables.sources, request.by_hand.pairs(), request.vectors, _alike(request, before.kept.frame_ids, rows)
    )
    found = thin_batch(new, before.kept, request.filters.near_duplicates, known)
    settled = len(before.kept.frame_ids)
    twins = rows[found.twins.frame - settled]
    others = decisions.let_go(twins)
    for number, rule in enumerate(RULES):
        mine = (found.twins.rule == number) & others
        decisions.decide(twins[mine], _twins(rule, found, mine))
    return found.kept


def _alike(request: FilterRequest, before: pa.Array, rows: Ints) -> Lookalikes | None:
    """Number the frames of `before`, then those at `rows`, by hash and size; None where pixels are not compared."""
    if request.pixels is None or not request.filters.near_duplicates.equal_pixels:
        return None
    import polars as pl

    frames = request.tables.frames
    old = pc.index_in(before, value_set=_ids(frames)).to_numpy(zero_copy_only=False).astype(np.int64)
    every = np.concatenate([old, rows])
    signals = request.signals_of(every)
    names = [name for name in _LOOK if name in signals.column_names and not signals[name].null_count]
    sizes = {name: frames[name].to_numpy()[every] for name in ("width", "height")}
    keys = pl.DataFrame({**{name: pl.from_arrow(signals[name]) for name in names}, **sizes})
    look = keys.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series().to_numpy()
    return Lookalikes(look, request.tables, request.pixels, request.digests)


def _twins(rule: str, found: BatchOutcome, mine: Mask) -> Decision:
    twins: Twins = found.twins
    score, limit = twins.score[mine], twins.limit[mine]
    shown = float(limit[0]) if len(limit) else 0.0
    unit = UNITS.get(rule, "bits from the kept frame")
    return Decision(
        verdict="dropped",
        rule=rule,
        reason=REASONS[rule],
        score=score,
        limit=limit,
        twin=found.frame_ids.take(pa.array(twins.twin[mine])),
        detail=score_texts(score, f"{{:g}} {unit}, limit {shown:g}"),
    )


def _keep_rare(frames: pa.Table, shield: Mapping[str, str], rare: Mask, decisions: Decisions) -> None:
    rows = np.flatnonzero(rare & decisions.open)
    names = [f"{_SHIELDED_BY}{shield[name]}" for name in frames["frame_id"].take(pa.array(rows)).to_pylist()]
    why = Decision(verdict="kept", rule="corner_cases", reason="corner_case", detail=pa.array(names, pa.string()))
    decisions.decide(rows, why)


def _alone(request: FilterRequest, before: Judged, decisions: Decisions) -> dict[str, int]:
    """Return the frames to shield that nothing resembles; a rule by hash alone drops none of them anyway."""
    section = request.filters.near_duplicates
    floors = section.min_gap_s or section.min_gap_m or request.vectors is not None
    if not (request.filters.shield.enabled and section.enabled and floors):
        return {}
    signals = request.signals_of(np.flatnonzero(decisions.open))
    used = sum(_taken(before, _BY_PIXELS).values())
    codes = signals["phash64"].to_numpy()
    return rare_by_pixels(_ids(signals), codes, request.filters.shield, before.kept.phash64, used)


def _keep_alone(frames: pa.Table, alone: Mapping[str, int], mask: Mask, decisions: Decisions) -> None:
    rows = np.flatnonzero(mask & decisions.open)
    bits = [alone[name] for name in frames["frame_id"].take(pa.array(rows)).to_pylist()]
    detail = pa.array([f"{far} bits from the nearest other frame" for far in bits], pa.string())
    decisions.decide(rows, Decision(verdict="kept", rule="shield", reason=_BY_PIXELS, detail=detail))
