"""Prove again, from the stored signals, that every dropped frame has a kept twin within its limit."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.near_duplicates import MIN_GAP, REASONS, gap_s, relation
from filtering.places import Sighting, sightings

_TOLERANCE_S = 1e-6


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
class _Evidence:
    """What the pairs are checked against."""

    verdicts: Mapping[str, str]
    codes: Mapping[str, int | None]
    seen: Mapping[str, Sighting]
    section: NearDuplicateSection


def verify_decisions(decisions: pa.Table, signals: pa.Table, sources: pa.Table, filters: FilterSection) -> VerifyReport:
    """Check every dropped frame that names a twin: it is kept, as far away as was said, and within the limit.

    `sources` should hold the places of dropped frames too; of a pair without a known place, only hash and twin are
    checked, against the limit that the decision names.
    """
    evidence = _Evidence(
        dict(zip(decisions["frame_id"].to_pylist(), decisions["verdict"].to_pylist(), strict=True)),
        dict(zip(signals["frame_id"].to_pylist(), signals["phash64"].to_pylist(), strict=True)),
        sightings(sources),
        filters.near_duplicates,
    )
    rules = pc.is_in(decisions["rule"], value_set=pa.array(list(REASONS)))
    pairs = decisions.filter(pc.and_(rules, pc.equal(decisions["verdict"], "dropped"))).to_pylist()
    orphans: list[Finding] = []
    wrong = _twice(decisions)
    for pair in pairs:
        finding, is_orphan = _check(pair, evidence)
        if finding:
            (orphans if is_orphan else wrong).append(Finding(pair["frame_id"], pair["twin"], finding))
    return VerifyReport(decisions.num_rows, len(pairs), tuple(orphans), tuple(wrong))


def _twice(decisions: pa.Table) -> list[Finding]:
    counts = pc.value_counts(decisions["frame_id"])
    return [
        Finding(count["values"].as_py(), None, f"decided {count['counts'].as_py()} times")
        for count in counts
        if count["counts"].as_py() > 1
    ]


def _check(pair: Mapping[str, object], evidence: _Evidence) -> tuple[str, bool]:
    """Return what is wrong with a pair, empty where nothing is, and whether that leaves an orphan."""
    frame_id, twin = str(pair["frame_id"]), pair["twin"]
    if twin is None:
        return "names no twin", True
    if twin == frame_id:
        return "is its own twin", True
    if evidence.verdicts.get(str(twin)) != "kept":
        return f"its twin is {evidence.verdicts.get(str(twin), 'not among the decisions')}", True
    check = _check_gap if pair["rule"] == MIN_GAP else _check_distance
    return check(pair, evidence)


def _check_distance(pair: Mapping[str, object], evidence: _Evidence) -> tuple[str, bool]:
    code, other = evidence.codes.get(str(pair["frame_id"])), evidence.codes.get(str(pair["twin"]))
    if code is None or other is None:
        return "has no stored hash, or its twin has none", False
    distance = (code ^ other).bit_count()
    limit = _limit_bits(pair, evidence)
    if limit is None:
        return "shares no camera with its twin", True
    if distance > limit:
        return f"{distance} bits from its twin, limit {limit}", True
    if pair["score"] != distance:
        return f"{distance} bits from its twin, said to be {pair['score']}", False
    return "", False


def _limit_bits(pair: Mapping[str, object], evidence: _Evidence) -> float | None:
    left, right = evidence.seen.get(str(pair["frame_id"])), evidence.seen.get(str(pair["twin"]))
    if left is None or right is None:
        return float(str(pair["limit"]))
    found = relation(left, right, evidence.section)
    return None if found is None else found[1]


def _check_gap(pair: Mapping[str, object], evidence: _Evidence) -> tuple[str, bool]:
    left, right = evidence.seen.get(str(pair["frame_id"])), evidence.seen.get(str(pair["twin"]))
    if left is None or right is None:
        return "", False
    gap = gap_s(left, right)
    if gap is None:
        return "was not taken by the camera of its twin, or at no known time", True
    if gap >= evidence.section.min_gap_s:
        return f"{gap:g} s from its twin, limit {evidence.section.min_gap_s:g}", True
    if abs(gap - float(str(pair["score"]))) > _TOLERANCE_S:
        return f"{gap:g} s from its twin, said to be {pair['score']}", False
    return "", False
