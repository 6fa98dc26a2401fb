"""The report says what was decided, shows what is wrong, and holds in any browser, in KFP and in a program."""

import json
import re

import jsonschema
import numpy as np
import pytest

from driveflow.errors import NotFoundError
from driveflow.pages.html import escape
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.driveflow.pages.test_html import Tags
from tests.validation.reports import render, report_request
from validation import report_pictures
from validation.report import report_html
from validation.report_json import classification_page, metrics_page, report_json, report_schema
from validation.report_markdown import report_markdown


@pytest.fixture(scope="module")
def request_():
    return report_request()


@pytest.fixture(scope="module")
def page(request_) -> str:
    return report_html(request_)


def test_the_first_screen_has_the_verdict_its_reason_and_champion_beside_challenger(request_, page):
    first_screen = page.split("<nav")[0]

    assert f"<strong>{request_.verdict.outcome}</strong>" in first_screen
    assert escape(request_.verdict.reason) in first_screen
    assert "Champion and challenger" in first_screen
    for rule in request_.verdict.rules:
        assert rule.name in first_screen


def test_every_section_is_there_and_linked(page):
    targets = set(re.findall(r'<section id="([a-z-]+)"', page))

    assert targets == set(re.findall(r'href="#([a-z-]+)"', page))
    assert {"classes", "slices", "curves", "confusion", "frames", "leak", "provenance"} <= targets


def test_pictures_show_the_worst_frames_with_a_sentence_each(page):
    pictures = re.findall(r'<img src="data:image/jpeg;base64,[^"]+" alt="(Frame [^"]+)"', page)

    assert len(pictures) == 12
    assert re.search(r"<figcaption>(Missed|False|Second) ", page)


def test_the_same_input_gives_the_same_page_to_the_byte(request_, page):
    assert report_html(report_request()) == page
    assert report_html(request_) == page


def test_a_page_with_many_large_pictures_stays_under_five_megabytes_and_says_what_is_left_out(monkeypatch):
    noise = np.random.default_rng(0).integers(0, 255, (900, 1400, 3)).astype(np.uint8)
    request = report_request(pictures=lambda frame_id: noise, worst_frames=30)

    page = report_html(request)

    assert len(page) < 5_000_000
    assert "more frames are left out" in page


def test_a_picture_that_cannot_be_read_is_named_and_costs_nothing_else():
    def half(frame_id: str) -> np.ndarray:
        if int(frame_id[1:4]) % 2:
            raise NotFoundError(f"Frame {frame_id} is gone.")
        return render(frame_id)

    page = report_html(report_request(pictures=half))

    assert "is gone." in page
    assert "data:image/jpeg" in page


def test_a_first_model_has_a_report_without_a_champion():
    page = report_html(report_request(first=True))

    assert "no champion yet" in page
    assert ">champion<" not in page


@pytest.mark.parametrize("name", STORABLE_NAMES)
def test_a_hostile_class_name_changes_no_structure(name):
    hostile, harmless = (Tags(report_html(report_request(classes=(name, "zebra")))) for name in (name, "car"))

    assert hostile.tags.count("script") == harmless.tags.count("script") == 1
    assert {key for key, _value in hostile.attributes} == {key for key, _value in harmless.attributes}


@pytest.mark.parametrize("name", STORABLE_NAMES)
def test_markdown_holds_no_markup_of_a_hostile_name(name):
    request = report_request(classes=(name, "zebra"), first=True)

    text = report_markdown(name, request.verdict, request.challenger)

    assert "<script" not in text
    assert "<img" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in {7, 9} for row in rows)


def test_markdown_says_verdict_rules_and_numbers(request_):
    text = report_markdown("road-users", request_.verdict, request_.challenger)

    assert request_.verdict.outcome in text.splitlines()[0]
    assert all(title in text for title in ("## Rules", "## Numbers", "## Slices"))


@pytest.mark.parametrize("first", [True, False])
def test_the_json_keeps_its_published_schema(first):
    schema = json.loads(report_schema())
    jsonschema.Draft202012Validator.check_schema(schema)

    value = json.loads(json.dumps(report_json(report_request(first=first)), allow_nan=False))

    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
    assert value["challenger"]["AP50"] == pytest.approx(value["comparison"]["overall"]["challenger"])


def test_kfp_gets_a_square_matrix_of_whole_numbers_and_finite_metrics(request_):
    page = classification_page(request_.challenger)

    assert len(page["matrix"]) == len(page["labels"]) == 3
    assert all(isinstance(count, int) for row in page["matrix"] for count in row)
    assert all(len(row) == 3 for row in page["matrix"])
    assert np.isfinite(list(metrics_page(request_.challenger).values())).all()
    json.dumps(page, allow_nan=False)


def test_boxes_that_are_wrong_are_drawn_dashed_and_missed_objects_solid(request_):
    from validation.model.worst_frames import worst_frames

    frame = worst_frames(request_.challenger, 1)[0]
    drawn = [report_pictures._drawn(box) for box in frame.boxes]

    for box, picture in zip(frame.boxes, drawn, strict=True):
        assert picture[6] == (box.score is not None)
        assert bool(picture[4]) == (not box.right)
