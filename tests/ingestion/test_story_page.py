"""The page of a frame shows what of its pictures can be shown."""

import pytest

from ingestion.story_page import Shown, story_page
from tests.ingestion.batches import picture

STORY = {"frame_id": "a" * 64, "sources": [{"batch": "may", "path": "a.jpg"}], "steps": []}


def test_a_twin_that_is_damaged_takes_no_picture_of_the_frame_away():
    page = story_page(STORY, [], Shown(picture(1), "may/b.jpg", b"no picture"))

    assert "This frame: 0 boxes" in page
    assert "The picture cannot be shown: " in page
    assert page.count('src="data:image/jpeg') == 1


def test_sides_have_their_unit_and_attributes_are_words():
    facts = {"width": 960, "height": 540, "attributes": '{"time_of_day":"night","lanes":2}'}

    page = story_page(STORY | facts, [], Shown(None))

    assert "960 px" in page
    assert "540 px" in page
    assert "time_of_day: night, lanes: 2" in page


def test_a_withdrawn_frame_is_said_to_be_withdrawn_where_its_picture_would_be():
    page = story_page(STORY | {"withdrawn": {"reason": "asked", "who": "ada"}}, [], Shown(None))

    assert "The frame was withdrawn: its picture is not shown." in page
    assert "cannot be had" not in page


@pytest.mark.parametrize("reason", [None, "", "kept"])
def test_a_frame_that_every_rule_let_pass_was_kept_by_none(reason):
    kept = {"step": "build_training_set", "snapshot": "a1", "verdict": "kept", "reason": reason, "rule": "leak"}
    dropped = {"step": "filter_frames", "snapshot": "b2", "verdict": "dropped", "reason": "blur", "rule": "blur.dead"}

    page = story_page(STORY | {"steps": [kept, dropped]}, [], Shown(None))

    assert "leak" not in page.split("What was decided")[1].split("</section>")[0]
    assert "blur.dead" in page
