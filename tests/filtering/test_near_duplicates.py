import random
import time
from dataclasses import astuple, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.sections import FilterSection, NearDuplicateSection
from driveflow.neighbours.leader_scan import NamedPairs
from filtering.near_duplicates import (
    ACROSS_CAMERAS,
    ACROSS_DRIVES,
    BY_VECTOR,
    EQUAL_PIXELS,
    MIN_GAP,
    MIN_GAP_M,
    RULES,
    SAME_DRIVE,
    Candidates,
    thin,
)
from filtering.places import sightings
from tests.filtering.made import FAR, Made, measured, snapshot
from tests.filtering.plain_thinning import PlainFrame, PlainTwin, plain_thin

DEFAULT = NearDuplicateSection()
Pairs = frozenset[frozenset[str]]


class Twin(NamedTuple):
    rule: str
    frame_id: str
    score: float
    limit: float


def rank(made: Made, shielded: tuple[str, ...]) -> int:
    return 0 if made.name in shielded else 1 if made.labeled else 2


def thinned(
    frames: list[Made],
    section: NearDuplicateSection = DEFAULT,
    shielded: tuple[str, ...] = (),
    distinct: Pairs = frozenset(),
) -> dict[str, Twin]:
    ids = [made.name for made in frames]
    array = pa.array(ids, pa.string())
    candidates = Candidates(
        frame_ids=array,
        phash64=np.array([made.code for made in frames], np.uint64),
        seen=sightings(array, snapshot(frames).sources),
        rank=np.array([rank(made, shielded) for made in frames], np.int64),
        shielded=np.array([made.name in shielded for made in frames], np.bool_),
        pixels=np.array([made.pixels for made in frames], np.int64),
        distinct=barred(ids, distinct),
        vectors=FrameVectors(array, np.array([made.vector or (0, 0) for made in frames], np.float32).reshape(-1, 2)),
    )
    found = thin(candidates, section)
    columns = (column.tolist() for column in (found.frame, found.twin, found.rule, found.score, found.limit))
    return {
        ids[frame]: Twin(RULES[rule], ids[twin], score, limit)
        for frame, twin, rule, score, limit in zip(*columns, strict=True)
    }


def barred(ids: list[str], distinct: Pairs) -> NamedPairs:
    others = [[place for place, other in enumerate(ids) if {one, other} in distinct] for one in ids]
    items = np.array([place for row in others for place in row], np.int64)
    return NamedPairs(np.cumsum([0, *map(len, others)]), items, np.zeros(len(items)))


def plain(
    frames: list[Made], section: NearDuplicateSection, shielded: tuple[str, ...], distinct: Pairs
) -> dict[str, PlainTwin]:
    asked = [
        PlainFrame(made.name, made.code or 0, rank(made, shielded), made.name in shielded, made.pixels, made.vector)
        for made in frames
    ]
    return plain_thin(asked, snapshot(frames).sources, section, distinct)


def bits(count: int) -> int:
    return (1 << count) - 1


@pytest.mark.parametrize(("distance", "dropped"), [(3, True), (4, True), (5, False)])
def test_within_a_drive_frames_are_twins_up_to_4_bits(distance, dropped):
    found = thinned([Made("a"), Made("b", bits(distance))])

    assert found == ({"b": Twin(SAME_DRIVE, "a", distance, 4)} if dropped else {})


@pytest.mark.parametrize(("distance", "dropped"), [(1, True), (2, True), (3, False)])
def test_across_drives_frames_are_twins_up_to_2_bits(distance, dropped):
    found = thinned([Made("a"), Made("b", bits(distance), drive="other")])

    assert found == ({"b": Twin(ACROSS_DRIVES, "a", distance, 2)} if dropped else {})


@pytest.mark.parametrize("drive", ["drive", "other"])
def test_frames_of_different_cameras_are_never_twins(drive):
    assert thinned([Made("a"), Made("b", drive=drive, camera="left")]) == {}


def test_a_frame_found_in_two_drives_has_twins_in_both():
    frames = [Made("a", drive="one", also=(("two", "front"),)), Made("b", bits(4), "one"), Made("c", bits(3), "two")]

    assert {name: twin.rule for name, twin in thinned(frames).items()} == {"b": SAME_DRIVE, "c": SAME_DRIVE}


def test_a_dropped_frame_is_compared_with_kept_frames_only():
    """A chain 0 - 4 - 8 - 12 bits: every other one leads."""
    found = thinned([Made(f"f{step}", bits(4 * step), taken_s=step) for step in range(4)])

    assert {name: (twin.frame_id, twin.score) for name, twin in found.items()} == {"f1": ("f0", 4), "f3": ("f2", 4)}


def test_the_nearest_kept_frame_is_the_twin():
    found = thinned([Made("a", taken_s=0), Made("b", bits(6), taken_s=1), Made("c", bits(4), taken_s=2)])

    assert found == {"c": Twin(SAME_DRIVE, "b", 2, 4)}


def test_the_earlier_frame_of_a_drive_stays():
    assert set(thinned([Made("z", taken_s=1.0), Made("a", taken_s=2.0)])) == {"a"}


def test_without_times_frames_go_by_path_with_numbers_as_numbers():
    assert set(thinned([Made("f10"), Made("f9"), Made("f100")])) == {"f10", "f100"}


def test_a_labeled_frame_stays_before_an_earlier_one_without_labels():
    assert set(thinned([Made("a", taken_s=1), Made("b", taken_s=2, labeled=True)])) == {"a"}


def test_a_shielded_frame_stays_and_is_the_twin_of_others():
    frames = [Made("a", taken_s=1), Made("b", taken_s=2), Made("c", taken_s=3)]

    found = thinned(frames, shielded=("b", "c"))

    assert {name: twin.frame_id for name, twin in found.items()} == {"a": "b"}


@pytest.mark.parametrize(("gap_s", "dropped"), [(1.9, True), (2.0, True), (2.1, False)])
def test_with_a_window_the_wider_limit_holds_within_so_many_seconds(gap_s, dropped):
    section = NearDuplicateSection(window_s=2.0)

    found = thinned([Made("a", taken_s=10.0), Made("b", bits(4), taken_s=10.0 + gap_s)], section)

    assert set(found) == ({"b"} if dropped else set())


def test_beyond_the_window_the_stricter_limit_holds():
    section = NearDuplicateSection(window_s=2.0)

    found = thinned([Made("a", taken_s=0), Made("b", bits(2), taken_s=60)], section)

    assert found == {"b": Twin(ACROSS_DRIVES, "a", 2, 2)}


@pytest.mark.parametrize(("gap_s", "dropped"), [(0.49, True), (0.5, False)])
def test_kept_frames_of_a_camera_are_no_closer_in_time_than_the_floor(gap_s, dropped):
    section = NearDuplicateSection(min_gap_s=0.5)

    found = thinned([Made("a", FAR[0], taken_s=3.0), Made("b", FAR[1], taken_s=3.0 + gap_s)], section)

    assert found == ({"b": Twin(MIN_GAP, "a", gap_s, 0.5)} if dropped else {})


def test_the_temporal_floor_is_kept_per_camera_and_drive():
    section = NearDuplicateSection(min_gap_s=0.5)
    frames = [
        Made("a", FAR[0], taken_s=1.0),
        Made("b", FAR[1], taken_s=1.1, camera="left"),
        Made("c", FAR[2], taken_s=1.2, drive="other"),
        Made("d", FAR[3]),
    ]

    assert thinned(frames, section) == {}


def test_a_limit_across_drives_wider_than_within_holds_within_too():
    section = NearDuplicateSection(same_drive_max_bits=1, across_drives_max_bits=3)

    assert thinned([Made("a"), Made("b", bits(3))], section) == {"b": Twin(SAME_DRIVE, "a", 3, 3)}


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_and_one_frame_are_kept(count):
    assert thinned([Made(f"f{number}") for number in range(count)]) == {}


def test_a_drive_that_stands_still_for_an_hour_is_one_frame():
    frames = [Made(f"f{number}", 99, taken_s=number / 10) for number in range(2_000)]

    found = thinned(frames)

    assert len(found) == 1_999
    assert {twin.frame_id for twin in found.values()} == {"f0"}


@pytest.mark.parametrize(("metres", "dropped"), [(1.9, True), (2.1, False)])
def test_kept_frames_of_a_camera_are_no_closer_in_metres_than_the_floor(metres, dropped):
    section = NearDuplicateSection(min_gap_s=0.5, min_gap_m=2.0)
    frames = [Made("a", FAR[0], taken_s=3.0, lat=48.0), Made("b", FAR[1], taken_s=5.0, lat=48.0 + metres / 111_200)]

    found = thinned(frames, section)

    assert {name: (twin.rule, twin.limit) for name, twin in found.items()} == (
        {"b": (MIN_GAP_M, 2.0)} if dropped else {}
    )
    assert all(abs(twin.score - metres) < 0.01 for twin in found.values())


def test_at_a_standstill_one_frame_in_ten_seconds_stays():
    section = NearDuplicateSection(min_gap_s=0.5, min_gap_m=2.0)
    codes = random.Random(1).sample(range(2**62), 31)
    frames = [Made(f"f{second:02d}", codes[second], taken_s=second, lat=48.0) for second in range(31)]

    found = thinned(frames, section)

    assert [made.name for made in frames if made.name not in found] == ["f00", "f10", "f20", "f30"]


def test_where_no_position_is_known_only_the_seconds_count():
    section = NearDuplicateSection(min_gap_s=0.5, min_gap_m=2.0)

    assert thinned([Made("a", FAR[0], taken_s=3.0), Made("b", FAR[1], taken_s=4.0)], section) == {}


def test_cameras_are_compared_where_the_section_says_so_by_the_limit_across_drives():
    section = NearDuplicateSection(across_cameras=True)
    frames = [Made("a"), Made("b", 3, camera="left"), Made("c", 7 << 8, camera="right")]

    assert thinned(frames, section) == {"b": Twin(ACROSS_CAMERAS, "a", 2, 2)}


def test_equal_pixels_are_a_duplicate_whatever_camera_took_them():
    frames = [Made("a", 5, pixels=1), Made("b", 5, camera="left", pixels=1), Made("c", 5, camera="rear", pixels=2)]

    assert thinned(frames) == {"b": Twin(EQUAL_PIXELS, "a", 0, 0)}


def test_a_pair_that_a_person_marked_is_no_pair_of_twins():
    frames = [Made("a", taken_s=1), Made("b", taken_s=2), Made("c", 3, taken_s=3)]

    found = thinned(frames, distinct=frozenset([frozenset("ab"), frozenset("bc")]))

    assert found == {"c": Twin(SAME_DRIVE, "a", 2, 4)}


@pytest.mark.parametrize(
    ("degrees", "drive", "rule"),
    [(18, "drive", BY_VECTOR[0]), (19, "drive", None), (11, "other", BY_VECTOR[1]), (12, "other", None)],
)
def test_frames_are_twins_by_vector_within_the_limits_of_the_section(degrees, drive, rule):
    section = NearDuplicateSection(same_drive_max_distance=0.05, across_drives_max_distance=0.02)
    frames = [Made("a", FAR[0], degrees=0), Made("b", FAR[1], drive, degrees=degrees), Made("c", FAR[2])]

    found = thinned(frames, section)

    assert {name: (twin.rule, twin.frame_id) for name, twin in found.items()} == ({"b": (rule, "a")} if rule else {})


def test_a_drive_of_a_hundred_thousand_equal_hashes_is_quick_and_one_frame():
    ids = pa.array([f"f{number:06d}" for number in range(100_000)])
    sources = pa.table(
        {
            "frame_id": ids,
            "batch": pa.array(["b"] * len(ids)),
            "path": ids,
            "drive": pa.array(["d"] * len(ids)),
            "camera": pa.array(["front"] * len(ids)),
            "captured_ns": pa.array(range(len(ids)), pa.int64()),
            "lat": pa.nulls(len(ids), pa.float64()),
            "lon": pa.nulls(len(ids), pa.float64()),
        }
    )
    rows = np.arange(len(ids))
    began = time.process_time()

    found = thin(Candidates(ids, np.full(len(ids), 7, np.uint64), sightings(ids, sources), rows * 0, rows < 0), DEFAULT)

    assert time.process_time() - began < 5
    assert len(found.frame) == 99_999
    assert not found.twin.any()


@st.composite
def drives(draw: st.DrawFn) -> list[Made]:
    """Frames of few drives and cameras that resemble each other often."""
    count = draw(st.integers(0, 25))
    times = st.none() | st.integers(0, 20).map(lambda tenth: tenth / 10)
    return [
        Made(
            f"f{number}",
            code=draw(st.integers(0, 2**7 - 1)),
            drive=draw(st.sampled_from(["one", "two"])),
            camera=draw(st.sampled_from(["front", "left"])),
            taken_s=draw(times),
            labeled=draw(st.booleans()),
            also=draw(st.sampled_from([(), (("three", "front"),), (("one", "front"), ("two", "left"))])),
            also_s=draw(times),
            lat=draw(st.sampled_from([None, 48.0, 48.00001, 48.00003])),
            degrees=draw(st.none() | st.integers(0, 80)),
            path=draw(st.sampled_from(["", f"x{number % 3}", "x09"])),
        )
        for number in range(count)
    ]


SECTIONS = st.builds(
    NearDuplicateSection,
    same_drive_max_bits=st.integers(0, 4),
    across_drives_max_bits=st.integers(0, 4),
    window_s=st.sampled_from([0.0, 0.5]),
    min_gap_s=st.sampled_from([0.0, 0.3]),
    min_gap_m=st.sampled_from([0.0, 2.0]),
    standstill_s=st.sampled_from([0.0, 0.8]),
    across_cameras=st.booleans(),
    same_drive_max_distance=st.sampled_from([0.0, 0.01]),
    across_drives_max_distance=st.sampled_from([0.0, 0.003]),
)


def equal_pixels(frames: list[Made], keys: list[int]) -> list[Made]:
    """Frames of which those with an equal hash and an equal key, none of it 0, have equal pixels."""
    return [
        replace(made, pixels=key << 7 | (made.code or 0)) if key else made
        for made, key in zip(frames, keys, strict=False)
    ]


@settings(max_examples=300)
@given(
    frames=drives(),
    section=SECTIONS,
    keys=st.lists(st.integers(0, 2), min_size=25, max_size=25),
    marked=st.sets(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=30),
    shielded=st.sets(st.integers(0, 24).map(lambda number: f"f{number}"), max_size=4),
)
def test_the_columns_say_what_the_plain_rule_says(frames, section, keys, marked, shielded):
    frames, names = equal_pixels(frames, keys), tuple(sorted(shielded))
    distinct = frozenset(frozenset((f"f{one}", f"f{other}")) for one, other in marked if one != other)

    found = thinned(frames, section, names, distinct)

    assert found == {name: Twin(*astuple(twin)) for name, twin in plain(frames, section, names, distinct).items()}


@settings(max_examples=60)
@given(frames=drives(), section=SECTIONS, seed=st.integers(0, 99))
def test_the_result_is_the_same_for_any_order(frames, section, seed):
    shuffled = random.Random(seed).sample(frames, len(frames))

    assert thinned(shuffled, section) == thinned(frames, section)


@settings(max_examples=60)
@given(frames=drives(), section=SECTIONS)
def test_thinning_twice_changes_nothing(frames, section):
    dropped = thinned(frames, section)

    assert thinned([made for made in frames if made.name not in dropped], section) == {}


@settings(max_examples=60)
@given(frames=drives(), section=SECTIONS)
def test_every_dropped_frame_has_a_kept_twin_within_its_limit(frames, section):
    from filtering.filter_frames import FilterRequest, filter_frames
    from filtering.verify import Evidence, verify_decisions

    built, signals, filters = snapshot(frames), measured(frames), FilterSection(near_duplicates=section)

    outcome = filter_frames(FilterRequest(built, signals, filters))
    report = verify_decisions(outcome.decisions, Evidence(signals, built.sources, filters))

    assert report.sound, report
    assert report.pairs == outcome.counts["dropped"]
