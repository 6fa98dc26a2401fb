from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from driveflow import tables
from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.miner_section import ShieldSection
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.filter_frames import FilterRequest, filter_frames
from filtering.near_duplicates import SAME_DRIVE, Twins
from filtering.verify import Evidence, VerifyReport, verify_decisions
from tests.filtering.made import FAR, Made, measured, snapshot

FRAMES = [Made(f"f{step}", (1 << (4 * step)) - 1, taken_s=step) for step in range(4)]
UNSHIELDED = ShieldSection(enabled=False)
SECTION = FilterSection(shield=UNSHIELDED)


def report_of(frames: list[Made], change=lambda row: row, filters: FilterSection = SECTION) -> VerifyReport:
    """The check of an honest run whose decisions were changed afterwards."""
    built, signals = snapshot(frames), measured(frames)
    rows = filter_frames(FilterRequest(built, signals, filters)).decisions.to_pylist()
    changed = pa.Table.from_pylist([change(dict(row)) for row in rows], tables.DECISIONS)
    return verify_decisions(changed, Evidence(signals, built.sources, filters))


def changing(frame_id: str, **values):
    return lambda row: row | values if row["frame_id"] == frame_id else row


def test_an_honest_run_is_sound():
    report = report_of(FRAMES)

    assert report.sound
    assert (report.frames, report.pairs) == (4, 2)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (changing("f1", twin="f3"), "its twin is dropped"),
        (changing("f1", twin="gone"), "its twin is not among the decisions"),
        (changing("f1", twin="f1"), "is its own twin"),
        (changing("f1", twin=None), "names no twin"),
        (changing("f3", twin="f0", score=12.0), "12 bits from its twin, limit 4"),
        (changing("f0", verdict="quarantined"), "its twin is quarantined"),
    ],
)
def test_a_dropped_frame_without_a_kept_twin_within_the_limit_is_an_orphan(change, why):
    report = report_of(FRAMES, change)

    assert [finding.why for finding in report.orphans] == [why]
    assert not report.sound


def test_a_false_distance_is_found():
    report = report_of(FRAMES, changing("f1", score=3.0))

    assert report.orphans == ()
    assert [finding.why for finding in report.wrong] == ["4 bits from its twin, said to be 3.0"]


def test_a_frame_decided_twice_is_found():
    built, signals = snapshot(FRAMES), measured(FRAMES)
    decisions = filter_frames(FilterRequest(built, signals, SECTION)).decisions

    report = verify_decisions(
        pa.concat_tables([decisions, decisions.slice(0, 1)]), Evidence(signals, built.sources, SECTION)
    )

    assert [finding.why for finding in report.wrong] == ["decided 2 times"]


def test_a_twin_of_another_camera_is_no_twin():
    frames = [Made("a"), Made("b", camera="left")]
    change = changing("b", verdict="dropped", rule=SAME_DRIVE, reason="near_duplicate", twin="a", score=0.0, limit=4.0)

    assert [finding.why for finding in report_of(frames, change).orphans] == ["shares no camera with its twin"]


def test_the_temporal_floor_is_checked_again():
    floor = FilterSection(near_duplicates=NearDuplicateSection(min_gap_s=0.5), shield=UNSHIELDED)
    frames = [Made("a", 0, taken_s=1.0), Made("b", 0xFFFF, taken_s=1.2)]

    assert report_of(frames, filters=floor).sound
    assert [finding.why for finding in report_of(frames, changing("b", score=0.1), floor).wrong] == [
        "0.2 s from its twin, said to be 0.1"
    ]


def turned(*degrees: int) -> tuple[list[Made], FrameVectors]:
    """Frames far apart by hash, whose vectors lie on a circle."""
    frames = [Made(f"f{place}", FAR[place], taken_s=place, degrees=turn) for place, turn in enumerate(degrees)]
    ids = pa.array([made.name for made in frames])
    return frames, FrameVectors(ids, np.array([made.vector for made in frames], np.float32))


def test_distances_between_vectors_are_measured_again():
    frames, vectors = turned(0, 10, 20)
    built, signals = snapshot(frames), measured(frames)
    decisions = filter_frames(FilterRequest(built, signals, SECTION, vectors=vectors)).decisions
    moved = FrameVectors(vectors.frame_ids, vectors.vectors[[0, 2, 1]])

    honest = verify_decisions(decisions, Evidence(signals, built.sources, SECTION, vectors=vectors))
    report = verify_decisions(decisions, Evidence(signals, built.sources, SECTION, vectors=moved))

    assert (honest.sound, honest.pairs) == (True, 1)
    assert [(item.frame_id, item.why) for item in report.orphans] == [
        ("f1", "0.060307 in cosine distance from its twin, limit 0.05")
    ]


def test_a_pair_without_a_stored_vector_is_not_proven_and_no_orphan():
    frames, vectors = turned(0, 10, 20)
    built, signals = snapshot(frames), measured(frames)
    decisions = filter_frames(FilterRequest(built, signals, SECTION, vectors=vectors)).decisions
    gone = FrameVectors(vectors.frame_ids.slice(0, 1), vectors.vectors[:1])

    report = verify_decisions(decisions, Evidence(signals, built.sources, SECTION, vectors=gone))

    assert report.orphans == ()
    assert [item.why for item in report.wrong] == ["has no stored vector, or its twin has none"]


@pytest.mark.parametrize("score", [-1.0, float("nan"), None])
def test_ac_a5_a_negative_distance_and_none_are_no_distances(score):
    report = report_of(FRAMES, changing("f1", score=score))

    assert [(item.frame_id, item.why[:24]) for item in report.wrong] == [("f1", "its distance is said to ")]


def test_ac_a5_a_search_that_finds_no_distance_fails_the_stage():
    one = np.array([0])

    for score in (-1.0, np.nan, 5.0):
        with pytest.raises(AssertionError, match="no distances within their limit"):
            Twins(frame=one + 1, twin=one, rule=one + 1, score=np.array([score]), limit=np.array([4.0]))


def test_metres_are_checked_again():
    floor = FilterSection(near_duplicates=NearDuplicateSection(min_gap_m=2.0), shield=UNSHIELDED)
    frames = [Made("a", 0, taken_s=1.0, lat=48.0), Made("b", 0xFFFF, taken_s=3.0, lat=48.00001)]

    assert report_of(frames, filters=floor).sound
    assert [item.why for item in report_of(frames, changing("b", score=0.1), floor).wrong] == [
        "1.112 m from its twin, said to be 0.1"
    ]


def test_ac_a12_on_a_slow_drive_no_frame_is_left_without_a_kept_twin():
    """A random walk of vectors, adjacent ones 0.027 apart."""
    random, count = np.random.default_rng(3), 2_000
    vectors = np.zeros((count, 32), np.float32)
    vectors[0, 0] = 1
    for step in range(1, count):
        moved = vectors[step - 1] + 0.235 / 32**0.5 * random.standard_normal(32)
        vectors[step] = moved / np.linalg.norm(moved)
    codes = random.integers(0, 2**63, count, dtype=np.uint64).tolist()
    frames = [Made(f"f{step:04d}", codes[step], taken_s=step) for step in range(count)]
    built, signals = snapshot(frames), measured(frames)
    held = FrameVectors(built.frames["frame_id"].combine_chunks(), vectors)

    decisions = filter_frames(FilterRequest(built, signals, SECTION, vectors=held)).decisions
    report = verify_decisions(decisions, Evidence(signals, built.sources, SECTION, vectors=held))

    assert report.sound
    assert 0.2 * count < report.pairs < 0.95 * count
    assert _orphans_of_the_any_earlier_rule(vectors, 0.05) > 0.3 * count


def _orphans_of_the_any_earlier_rule(vectors: np.ndarray, limit: float) -> int:
    near = 1 - vectors @ vectors.T <= limit
    dropped = np.tril(near, -1).any(axis=1)
    return int((dropped & ~near[:, ~dropped].any(axis=1)).sum())


def test_the_rule_that_compares_with_dropped_frames_too_is_caught():
    """SemDeDup's rule, planted: every frame is dropped for an earlier one, kept or not."""
    random = np.random.default_rng(0)
    flips = [1 << int(bit) for bit in random.integers(0, 64, 500)]
    codes = [int(code) for code in np.bitwise_xor.accumulate(np.array(flips, np.uint64))]
    frames = [Made(f"f{step:03d}", code, taken_s=step) for step, code in enumerate(codes)]
    built, signals = snapshot(frames), measured(frames)
    kept = {"step": "filter_frames", "rule": "filters", "verdict": "kept", "reason": "kept"}
    dropped = {
        "step": "filter_frames",
        "rule": SAME_DRIVE,
        "verdict": "dropped",
        "reason": "near_duplicate",
        "limit": 4.0,
        "score": 1.0,
    }
    rows = [{"frame_id": frames[0].name, **kept}]
    rows += [{"frame_id": now.name, "twin": before.name, **dropped} for before, now in pairwise(frames)]

    report = verify_decisions(pa.Table.from_pylist(rows, tables.DECISIONS), Evidence(signals, built.sources, SECTION))
    honest = filter_frames(FilterRequest(built, signals, SECTION))

    assert len(report.orphans) == 498
    assert pc.sum(pc.equal(honest.decisions["verdict"], "kept")).as_py() > 40


def test_without_known_places_the_limit_of_the_decision_holds():
    built, signals = snapshot(FRAMES), measured(FRAMES)
    decisions = filter_frames(FilterRequest(built, signals, SECTION)).decisions

    assert verify_decisions(decisions, Evidence(signals, tables.SOURCES.empty_table(), SECTION)).sound


def test_nothing_decided_is_sound():
    report = verify_decisions(
        tables.DECISIONS.empty_table(), Evidence(tables.SIGNALS.empty_table(), tables.SOURCES.empty_table(), SECTION)
    )

    assert (report.sound, report.pairs) == (True, 0)
