"""A setting that asks for what the frames do not have is named, so that it is not taken for one that works."""

from dataclasses import replace

import pytest

from driveflow.flow.sections import FilterSection, NearDuplicateSection
from filtering.idle_settings import idle_settings
from tests.filtering.made import Made, snapshot

TIMED = [Made("a", taken_s=1.0), Made("b", taken_s=2.0)]


def notes(frames, **settings) -> tuple[str, ...]:
    return idle_settings(FilterSection(near_duplicates=NearDuplicateSection(**settings)), snapshot(frames))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"min_gap_s": 0.5}, "min_gap_s: no time is known of 1 of 3 training frames; no floor holds for these."),
        (
            {"window_s": 2.0},
            "window_s: no time is known of 1 of 3 training frames; they are compared by the limit across",
        ),
        ({"min_gap_m": 2.0}, "min_gap_m: no place and time are known of 3 of 3 training frames; no floor in metres"),
    ],
)
def test_a_floor_names_how_many_frames_it_does_not_hold_for(settings, says):
    (note,) = notes([*TIMED, Made("c"), Made("v", split="val")], **settings)

    assert note.startswith(f"filters.near_duplicates.{says}")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"same_drive_max_distance": 0.2}, "same_drive_max_distance says nothing without"),
        ({"standstill_s": 20.0}, "standstill_s says nothing without filters.near_duplicates.min_gap_m"),
    ],
)
def test_a_setting_that_needs_another_names_it(settings, says):
    (note,) = notes(TIMED, **settings)

    assert says in note


def test_a_floor_in_metres_without_a_standstill_is_named():
    assert "says nothing with standstill_s 0" in notes(TIMED, min_gap_m=2.0, standstill_s=0.0)[0]


def test_frames_of_one_camera_and_one_time_are_named_where_a_floor_goes_by_it():
    stood = [
        Made("a", taken_s=1.0),
        Made("b", taken_s=1.0),
        Made("c", taken_s=1.0, camera="rear"),
        Made("d", taken_s=2.0),
    ]

    (note,) = notes(stood, min_gap_s=0.5)

    assert note.startswith("2 of 4 training frames have the time of another of their camera and drive")
    assert notes(stood) == ()


def test_settings_that_work_and_those_that_are_off_are_not_named():
    assert notes(TIMED, min_gap_s=0.5, window_s=2.0) == ()
    assert notes([Made("a")], min_gap_s=0.5, enabled=False) == ()
    assert notes([], min_gap_s=0.5, min_gap_m=2.0) == ()


def test_the_place_that_any_source_knows_counts():
    built = snapshot(TIMED)
    sources = built.sources.set_column(built.sources.schema.get_field_index("lat"), "lat", [[48.0, 48.1]])
    sources = sources.set_column(sources.schema.get_field_index("lon"), "lon", [[11.0, 11.0]])

    section = FilterSection(near_duplicates=NearDuplicateSection(min_gap_m=2.0))
    assert idle_settings(section, replace(built, sources=sources)) == ()
