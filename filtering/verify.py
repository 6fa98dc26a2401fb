"""Prove again, from what is stored, that every dropped frame has a kept twin within its limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from driveflow.images.frame_bytes import FrameBytes
from driveflow.neighbours.cosine_kernel import distance
from driveflow.neighbours.hamming import distances_bits
from filtering.arrivals import arrivals, until_arrival
from filtering.decisions import Floats, Mask
from filtering.equal_pixels import digest_or_none
from filtering.near_duplicates import BY_VECTOR, EQUAL_PIXELS, MIN_GAP, MIN_GAP_M, REASONS
from filtering.pair_relations import PairRelations, joined_relations, pair_relations
from filtering.places import sightings
from filtering.twin_groups import group_limits_bits, group_limits_cosine

_TOLERANCE_S = 1e-6
_TOLERANCE_M = 2e-3  # a score is rounded to millimetres
Why: TypeAlias = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One dropped frame whose reason does not hold, and why."""

    frame_id: str
    twin: str | None
    why: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check found: `orphans` have no kept twin within the limit, `wrong` ones a false distance or count."""

    frames: int
    pairs: int
    orphans: tuple[Finding, ...]
    wrong: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.orphans and not self.wrong


@dataclass(frozen=True, slots=True)
class Evidence:
    """What pairs are checked against.

    `sources` should hold the places of dropped frames too; of a pair without a known place, only hash and twin are
    checked, against the limit that the decision names. Equal pixels are decoded again where `pixels` can be read, and
    distances in cosine measured again where there are `vectors`. Where batches were judged in their order of `arrival`,
    only those places count that were known when the frame was judged.
    """

    signals: pa.Table
    sources: pa.Table
    filters: FilterSection
    pixels: FrameBytes | None = None
    vectors: FrameVectors | None = None
    arrival: tuple[str, ...] = ()


def verify_decisions(decisions: pa.Table, evidence: Evidence) -> VerifyReport:
    """Check every dropped frame that names a twin: it is kept, as far away as was said, and within the limit."""
    rules = pc.is_in(decisions["rule"], value_set=pa.array(list(REASONS)))
    pairs = _Pairs(decisions.filter(pc.and_(rules, pc.equal(decisions["verdict"], "dropped"))), decisions, evidence)
    faults = _Faults(pairs.table)
    _check_twins(pairs, faults)
    _check_bits(pairs, faults)
    _check_gaps(pairs, faults, MIN_GAP, pairs.relations.gap_s, ("s", _TOLERANCE_S, pairs.section.min_gap_s))
    _check_gaps(pairs, faults, MIN_GAP_M, pairs.relations.gap_m, ("m", _TOLERANCE_M, pairs.section.min_gap_m))
    _check_pixels(pairs, faults, evidence.pixels)
    _check_vectors(pairs, faults, evidence.vectors)
    orphans, wrong = faults.findings()
    return VerifyReport(decisions.num_rows, pairs.table.num_rows, orphans, (*_twice(decisions), *wrong))


class _Pairs:
    """The dropped frames with their twins, as columns."""

    def __init__(self, table: pa.Table, decisions: pa.Table, evidence: Evidence) -> None:
        self.table = table
        self.section: NearDuplicateSection = evidence.filters.near_duplicates
        self.rule = table["rule"].to_numpy()
        self.score, self.limit = (table[name].cast(pa.float64()).to_numpy() for name in ("score", "limit"))
        self.named = np.asarray(pc.is_valid(table["twin"]).to_numpy(), np.bool_)
        at = pc.index_in(table["twin"], value_set=decisions["frame_id"].combine_chunks())
        self.verdict = pc.fill_null(decisions["verdict"].take(at), "not among the decisions").to_numpy()
        left, right = (_hashes(table[name], evidence.signals) for name in ("frame_id", "twin"))
        self.hashed = left[1] & right[1]
        self.bits = distances_bits(left[0], right[0])
        self.relations = _relations(table, evidence)


class _Faults:
    """What is wrong with pairs; the first fault of a pair is the one that is told."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.open = np.ones(table.num_rows, np.bool_)
        self._told: dict[int, tuple[str, bool]] = {}

    def note(self, faulty: Mask, why: Why, *, is_orphan: bool) -> None:
        rows = np.flatnonzero(faulty & self.open)
        self._told |= {row: (why(row), is_orphan) for row in rows.tolist()}
        self.open[rows] = False

    def findings(self) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """Return the orphans, and what is wrong otherwise, in the order of the decisions."""
        found: tuple[list[Finding], list[Finding]] = ([], [])
        for row, (why, is_orphan) in sorted(self._told.items()):
            frame_id, twin = (self._table[name][row].as_py() for name in ("frame_id", "twin"))
            found[0 if is_orphan else 1].append(Finding(frame_id, twin, why))
        return tuple(found[0]), tuple(found[1])


def _check_twins(pairs: _Pairs, faults: _Faults) -> None:
    faults.note(~pairs.named, lambda _: "names no twin", is_orphan=True)
    same = pc.equal(pairs.table["frame_id"], pc.fill_null(pairs.table["twin"], ""))
    faults.note(np.asarray(same.to_numpy(), np.bool_), lambda _: "is its own twin", is_orphan=True)
    faults.note(pairs.verdict != "kept", lambda row: f"its twin is {pairs.verdict[row]}", is_orphan=True)
    no_distance = ~((pairs.score >= 0) & np.isfinite(pairs.score))
    faults.note(no_distance, lambda row: f"its distance is said to be {pairs.score[row]:g}", is_orphan=False)


def _check_bits(pairs: _Pairs, faults: _Faults) -> None:
    near = ~np.isin(pairs.rule, [MIN_GAP, MIN_GAP_M, *BY_VECTOR])
    faults.note(near & ~pairs.hashed, lambda _: "has no stored hash, or its twin has none", is_orphan=False)
    exact = pairs.rule == EQUAL_PIXELS
    related = ~pairs.relations.known | (pairs.relations.kind >= 0) | exact
    faults.note(near & ~related, lambda _: "shares no camera with its twin", is_orphan=True)
    allowed = group_limits_bits(pairs.section)[np.maximum(pairs.relations.kind, 0)]
    limit = np.where(exact, 0, np.where(pairs.relations.known, allowed, pairs.limit))
    far = near & ~(pairs.bits <= limit)
    faults.note(far, lambda row: f"{pairs.bits[row]} bits from its twin, limit {limit[row]:g}", is_orphan=True)
    faults.note(
        near & (pairs.bits != pairs.score),
        lambda row: f"{pairs.bits[row]} bits from its twin, said to be {pairs.score[row]}",
        is_orphan=False,
    )


def _check_gaps(pairs: _Pairs, faults: _Faults, rule: str, gap: Floats, measure: tuple[str, float, float]) -> None:
    unit, tolerance, limit = measure
    mine = (pairs.rule == rule) & pairs.relations.known
    nowhere = "was not taken by the camera of its twin, or at no known time or place"
    faults.note(mine & np.isnan(gap), lambda _: nowhere, is_orphan=True)
    faults.note(
        mine & (gap >= limit), lambda row: f"{gap[row]:g} {unit} from its twin, limit {limit:g}", is_orphan=True
    )
    faults.note(
        mine & (np.abs(gap - pairs.score) > tolerance),
        lambda row: f"{gap[row]:g} {unit} from its twin, said to be {pairs.score[row]}",
        is_orphan=False,
    )


def _check_pixels(pairs: _Pairs, faults: _Faults, pixels: FrameBytes | None) -> None:
    """Decode both frames of each pair of equal pixels again."""
    if pixels is None:
        return
    differs, lost = np.zeros((2, pairs.table.num_rows), np.bool_)
    for row in np.flatnonzero((pairs.rule == EQUAL_PIXELS) & faults.open).tolist():
        found = {digest_or_none(pairs.table[name][row].as_py(), pixels) for name in ("frame_id", "twin")}
        lost[row] = None in found
        differs[row] = len(found) > 1
    faults.note(lost, lambda _: "its pixels, or those of its twin, cannot be read", is_orphan=False)
    faults.note(differs & ~lost, lambda _: "its pixels are not those of its twin", is_orphan=True)


def _check_vectors(pairs: _Pairs, faults: _Faults, vectors: FrameVectors | None) -> None:
    """Measure the distance of each pair that was found by vector again."""
    mine = np.isin(pairs.rule, BY_VECTOR)
    kind = pairs.relations.kind
    unrelated = mine & pairs.relations.known & (kind < 0)
    faults.note(unrelated, lambda _: "shares no camera with its twin", is_orphan=True)
    limit = np.where(pairs.relations.known, group_limits_cosine(pairs.section)[kind], pairs.limit)
    apart = pairs.score.copy()
    if vectors is not None:
        apart[mine] = _distances(pairs.table.filter(pa.array(mine)), vectors)
    faults.note(mine & np.isnan(apart), lambda _: "has no stored vector, or its twin has none", is_orphan=False)
    far = mine & ~np.isnan(apart) & ~(apart <= limit)
    faults.note(
        far, lambda row: f"{apart[row]:g} in cosine distance from its twin, limit {limit[row]:g}", is_orphan=True
    )
    faults.note(
        mine & (apart != pairs.score),
        lambda row: f"{apart[row]:g} in cosine distance from its twin, said to be {pairs.score[row]:g}",
        is_orphan=False,
    )


def _distances(table: pa.Table, known: FrameVectors) -> Floats:
    """Return how far the vectors of each pair are apart; NaN where one is not known."""
    left, right = (
        pc.fill_null(pc.index_in(table[name], value_set=known.frame_ids), -1).to_pylist()
        for name in ("frame_id", "twin")
    )
    vectors = known.vectors
    pairs = zip(left, right, strict=True)
    return np.array([distance(vectors[a], vectors[b]) if min(a, b) >= 0 else np.nan for a, b in pairs], np.float64)


def _hashes(frame_ids: pa.ChunkedArray, signals: pa.Table) -> tuple[np.ndarray, Mask]:
    """Return the hash of each frame and whether it has one."""
    at = pc.index_in(frame_ids, value_set=signals["frame_id"].combine_chunks())
    codes = signals["phash64"].take(at)
    return pc.fill_null(codes, 0).to_numpy(), np.asarray(pc.is_valid(codes).to_numpy(), np.bool_)


def _relations(table: pa.Table, evidence: Evidence) -> PairRelations:
    """Return how the two frames of each pair are related, as far as was known when the first of them was judged."""
    sources = evidence.sources
    came, _ = arrivals(table["frame_id"].combine_chunks(), sources, evidence.arrival)
    found, order = [], []
    for number in np.unique(came).tolist():
        rows = np.flatnonzero(came == number)
        known = until_arrival(sources, evidence.arrival, number) if evidence.arrival else sources
        found.append(_related(table.take(pa.array(rows)), known, evidence.filters.near_duplicates))
        order.append(rows)
    return joined_relations(found, np.concatenate([np.zeros(0, np.int64), *order]))


def _related(table: pa.Table, sources: pa.Table, section: NearDuplicateSection) -> PairRelations:
    names = pa.chunked_array([*table["frame_id"].chunks, *table["twin"].chunks], pa.string()).unique().drop_null()
    left, right = (
        pc.fill_null(pc.index_in(table[name], value_set=names), -1).to_numpy().astype(np.int64)
        for name in ("frame_id", "twin")
    )
    return pair_relations(sightings(names, sources), left, right, section)


def _twice(decisions: pa.Table) -> Sequence[Finding]:
    counts = pc.value_counts(decisions["frame_id"])
    several = counts.filter(pc.greater(counts.field("counts"), 1))
    return [Finding(count["values"], None, f"decided {count['counts']} times") for count in several.to_pylist()]
