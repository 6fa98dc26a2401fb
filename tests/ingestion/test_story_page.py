"""The page of a frame shows what of its pictures can be shown."""

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
