"""What a person brought back stays, and costs no other frame its place."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.by_hand import ByHand
from driveflow.flow.sections import CornerCaseSection, FilterSection, NearDuplicateSection, WhereSection
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from tests.filtering.made import Made, column, measured, snapshot
from tests.filtering.test_filter_frames import frames_strategy

NIGHTS = CornerCaseSection(name="nights", where=WhereSection(attributes={"time_of_day": ("night",)}), quota_frames=2)
FLOORS = FilterSection(near_duplicates=NearDuplicateSection(min_gap_s=2.0))
EVERY_SECOND = [Made("a", 0, taken_s=1), Made("b", 1, taken_s=2), Made("c", 3, taken_s=3)]


def filtered(frames: list[Made], *held: str, filters: FilterSection = FLOORS) -> FilterOutcome:
    request = FilterRequest(
        snapshot(frames), measured(frames), filters, (NIGHTS,), by_hand=ByHand(kept=frozenset(held))
    )
    return filter_frames(request)


def kept(outcome: FilterOutcome) -> set[str]:
    return set(outcome.kept_tables.frames["frame_id"].to_pylist())


def test_a_twin_that_is_brought_back_stands_beside_the_one_it_was_dropped_for():
    outcome = filtered(EVERY_SECOND, "b", filters=FilterSection())

    assert kept(outcome) == {"a", "b"}
    assert column(outcome.decisions, "twin", ["b", "c"]) == [None, "a"]
    assert column(outcome.decisions, "reason", ["a", "b", "c"]) == ["kept", "kept_by_hand", "near_duplicate"]


@pytest.mark.parametrize("signals", [{"contrast": 0.0}, {"dark_share": 1.0}, {"sharpness": 1.0}])
def test_a_defect_that_is_brought_back_is_nobodys_twin(signals):
    frames = [Made("a", 1, taken_s=1, signals=signals), Made("b", taken_s=2)]

    assert kept(filtered(frames, filters=FilterSection())) == {"b"}
    assert kept(filtered(frames, "a", filters=FilterSection())) == {"a", "b"}


def test_what_no_filter_drops_any_more_is_kept_as_all_others_are():
    outcome = filtered([Made("a"), Made("b", 0xFFFF)], "b", filters=FilterSection())

    assert column(outcome.decisions, "reason", ["b"]) == ["kept"]


def test_a_frame_that_cannot_be_read_is_not_brought_back():
    outcome = filtered([Made("a", error="cut")], "a")

    assert column(outcome.decisions, "verdict", ["a"]) == ["quarantined"]


def test_a_quota_is_not_spent_on_what_is_brought_back():
    night = {"time_of_day": "night"}
    frames = [Made(name, taken_s=number, attributes=night) for number, name in enumerate("abcd")]
    black = [replace(frames[0], signals={"dark_share": 1.0}), *frames[1:]]

    assert kept(filtered(black, "a", filters=FilterSection())) == kept(filtered(black, filters=FilterSection())) | {"a"}


@settings(max_examples=100)
@given(frames=frames_strategy, data=st.data(), arrival=st.sampled_from([(), ("one", "two"), ("two", "one")]))
def test_bringing_frames_back_adds_these_and_takes_no_other(frames, data, arrival):
    names = [made.name for made in frames]
    held = frozenset(data.draw(st.lists(st.sampled_from(names), max_size=4)) if names else ())
    request = FilterRequest(snapshot(frames), measured(frames), FLOORS, (NIGHTS,), arrival=arrival)

    before, after = filter_frames(request), filter_frames(replace(request, by_hand=ByHand(kept=held)))

    readable = {made.name for made in frames if not made.error}
    assert kept(after) == kept(before) | (held & readable)
    assert after.counts["frames_in"] == before.counts["frames_in"] == len(frames)
