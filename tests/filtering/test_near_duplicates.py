import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.near_duplicates import ACROSS_DRIVES, MIN_GAP, SAME_DRIVE, Candidate, Twin, thin
from filtering.places import natural, sightings
from tests.filtering.made import FAR, Made, measured, snapshot

DEFAULT = NearDuplicateSection()


def thinned(
    frames: list[Made], section: NearDuplicateSection = DEFAULT, shielded: tuple[str, ...] = ()
) -> dict[str, Twin]:
    seen = sightings(snapshot(frames).sources)
    ranks = {made.name: 0 if made.name in shielded else 1 if made.labeled else 2 for made in frames}
    return thin(
        [Candidate(made.name, made.code, seen[made.name], ranks[made.name], made.name in shielded) for made in frames],
        section,
    )


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
    assert natural("a/f2.jpg") < natural("a/f10.jpg") < natural("b/f1.jpg")


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


@st.composite
def drives(draw: st.DrawFn) -> list[Made]:
    """Frames of few drives and cameras that resemble each other often."""
    count = draw(st.integers(0, 25))
    return [
        Made(
            f"f{number}",
            code=draw(st.integers(0, 2**7 - 1)),
            drive=draw(st.sampled_from(["one", "two"])),
            camera=draw(st.sampled_from(["front", "left"])),
            taken_s=draw(st.none() | st.integers(0, 20).map(lambda tenth: tenth / 10)),
            labeled=draw(st.booleans()),
            also=draw(st.sampled_from([(), (("three", "front"),)])),
        )
        for number in range(count)
    ]


SECTIONS = st.builds(
    NearDuplicateSection,
    same_drive_max_bits=st.integers(0, 4),
    across_drives_max_bits=st.integers(0, 4),
    window_s=st.sampled_from([0.0, 0.5]),
    min_gap_s=st.sampled_from([0.0, 0.3]),
)


@settings(max_examples=60, deadline=None)
@given(frames=drives(), section=SECTIONS, seed=st.integers(0, 99))
def test_the_result_is_the_same_for_any_order(frames, section, seed):
    shuffled = random.Random(seed).sample(frames, len(frames))

    assert thinned(shuffled, section) == thinned(frames, section)


@settings(max_examples=60, deadline=None)
@given(frames=drives(), section=SECTIONS)
def test_thinning_twice_changes_nothing(frames, section):
    dropped = thinned(frames, section)

    assert thinned([made for made in frames if made.name not in dropped], section) == {}


@settings(max_examples=60, deadline=None)
@given(frames=drives(), section=SECTIONS)
def test_every_dropped_frame_has_a_kept_twin_within_its_limit(frames, section):
    from filtering.filter_frames import FilterRequest, filter_frames
    from filtering.verify import verify_decisions

    built, signals, filters = snapshot(frames), measured(frames), FilterSection(near_duplicates=section)

    outcome = filter_frames(FilterRequest(built, signals, filters))
    report = verify_decisions(outcome.decisions, signals, built.sources, filters)

    assert report.sound, report
    assert report.pairs == outcome.counts["dropped"]
