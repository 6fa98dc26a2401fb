"""The report says what was decided, shows what is wrong, and holds in any browser, in KFP and in a program."""

import json
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from driveflow.errors import NotFoundError
from driveflow.flow.sections import SliceSection
from driveflow.pages.html import escape
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.driveflow.pages.test_html import Tags
from tests.validation.reports import perfect_evaluation, render, report_request
from tests.validation.scenes import simple, square
from validation.evaluation_page import EvaluationPage, evaluation_html
from validation.model.compare import Draws
from validation.model.evaluate import evaluate
from validation.model.worst_frames import worst_frames
from validation.pages.banner import deciding_rules, one_sentence
from validation.pages.frames import drawn
from validation.report import find_for, report_html
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
    assert escape(one_sentence(request_.verdict)) in first_screen
    assert "Champion and challenger" in first_screen
    for rule in deciding_rules(request_.verdict)[:4]:
        assert rule.name in first_screen
        assert escape(rule.reason) in first_screen


def test_every_rule_is_on_the_page_with_its_reason(request_, page):
    part = page.split('<section id="rules"')[1].split("</section>")[0]

    for rule in request_.verdict.rules:
        assert escape(rule.name) in part
        assert escape(rule.reason) in part


def test_many_reasons_become_one_sentence_that_says_how_many_rules_agree(request_):
    rule = replace(request_.verdict.rules[0], outcome="BLOCK", reason="Night is worse." + "x" * 200)
    verdict = replace(request_.verdict, outcome="BLOCK", rules=(rule, rule, rule), reason=rule.reason * 3)

    assert one_sentence(verdict) == f"{rule.reason} 2 more rules say BLOCK."


def test_every_section_is_there_and_linked(page):
    targets = set(re.findall(r'<section id="([a-z-]+)"', page))

    assert targets == set(re.findall(r'href="#([a-z-]+)"', page))
    assert {"rules", "slices", "unjudged", "classes", "curves", "confusion", "calibration"} <= targets
    assert {"changes", "frames", "labels", "leak", "input", "provenance"} <= targets
    assert {"errors", "dimensions", "others"} <= targets


def test_kinds_of_mistakes_are_drawn_for_both_models_with_what_each_costs(request_, page):
    part = page.split('<section id="errors"')[1].split("</section>")[0]

    for kind in ("Cls", "Loc", "Both", "Dupe", "Bkg", "Miss"):
        assert f"<b>{kind}</b>" in part
    assert f"Miss: missed {request_.challenger.errors.shown.of('Miss')}" in part.split("<desc>")[1]
    assert "costs the champion" in part


def test_dimensions_and_other_metrics_are_on_the_page(request_, page):
    part = page.split('<section id="dimensions"')[1].split("</section>")[0]
    others = page.split('<section id="others"')[1].split("</section>")[0]

    assert "By time of day" in part
    assert all(title in others for title in ("Pascal VOC", "False alarms"))


def test_pictures_show_the_worst_frames_with_a_sentence_each(request_, page):
    pictures = re.findall(r'<img src="data:image/jpeg;base64,[^"]+" alt="(Frame [^"]+)"', page)

    overall = [part for part in page.split("<figure")[1:] if not part.startswith(" hidden") and "missed, " in part]
    assert len(overall) == 12
    assert len([words for words in pictures if "missed" in words]) == len(worst_frames(request_.challenger, 12))
    changed = find_for(request_).changes
    for word, frames in (("newly broken", changed.broken), ("newly fixed", changed.fixed)):
        chosen = [frame for frame in frames if frame.ranks.is_chosen]
        assert len([words for words in pictures if word in words]) == len(chosen) >= 12
    assert re.search(r"<figcaption>(Missed|False|Second) ", page)
    assert re.search(r"<figcaption>No longer finds ", page)
    assert re.search(r"<figcaption>Now finds ", page)


def test_the_same_input_gives_the_same_page_to_the_byte(request_, page):
    assert report_html(report_request()) == page
    assert report_html(request_) == page


def test_a_page_with_many_large_pictures_stays_under_five_megabytes_and_says_what_was_given_up():
    noise = np.random.default_rng(0).integers(0, 255, (380, 520, 3)).astype(np.uint8)

    page = report_html(report_request(pictures=lambda frame_id: noise, worst_frames=20))

    assert len(page.encode()) < 5_000_000
    assert page.count("data:image/jpeg") > 30
    assert re.search(r"Pictures are reduced to \d+ px to keep this page under 5 MB.", page)


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
    assert "There is no champion to compare with." in page
    assert "It takes two models to doubt a label" in page
    assert "dot: challenger" not in page


def test_pictures_of_what_changed_stand_under_a_key_of_their_colours(page):
    changes = page.split('<section id="changes">')[1].split("</section>")[0]

    assert "what the champion said" in changes.split("Newly broken</h3>")[0]


@pytest.mark.parametrize("pictures", [None, lambda frame_ids: render])
def test_one_evaluation_has_a_page_without_a_verdict(request_, pictures):
    shown = EvaluationPage(
        title="predictions.json", evaluation=request_.challenger, draws=Draws(resamples=60), pictures=pictures
    )

    page = evaluation_html(shown)

    assert "Evaluation of " in page
    assert not re.search("PASS|BLOCK|NEEDS DATA|NOT JUDGED|champion<", page)
    assert set(re.findall(r'<section id="([a-z-]+)"', page)) == set(re.findall(r'href="#([a-z-]+)"', page))
    worst = len(worst_frames(request_.challenger, 12))
    assert page.count("data:image/jpeg") == (worst if pictures else 0)
    assert "Missed " in page


def test_what_there_is_nothing_of_is_said_in_words():
    perfect = report_request(first=True, challenger=perfect_evaluation())

    page = report_html(perfect)

    assert "No frame has a missed object or a false detection." in page
    assert "No class was taken for another." in page
    assert "Everything was counted as given." in page


@pytest.mark.parametrize("name", STORABLE_NAMES)
def test_a_hostile_class_name_changes_no_structure(name):
    pages = (report_html(report_request(classes=(name, "zebra"), worst_frames=2)) for name in (name, "car"))
    hostile, harmless = (Tags(page) for page in pages)

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
    changed = find_for(request_).changes
    text = report_markdown("road-users", request_.verdict, request_.challenger, changed)

    assert f"loses {changed.total('broken')} that the champion finds" in text
    assert request_.verdict.outcome in text.splitlines()[0]
    assert all(title in text for title in ("## Rules", "## Numbers", "## Slices"))


@pytest.mark.parametrize("first", [True, False])
def test_the_json_keeps_its_published_schema(first):
    schema = json.loads(report_schema())
    jsonschema.Draft202012Validator.check_schema(schema)

    value = json.loads(json.dumps(report_json(report_request(first=first)), allow_nan=False))

    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
    assert value["challenger"]["AP50"] == pytest.approx(value["comparison"]["overall"]["challenger"])
    assert value["challenger"]["min_score"] == 0.0


def test_kfp_gets_a_square_matrix_of_whole_numbers_and_finite_metrics(request_):
    page = classification_page(request_.challenger)

    assert len(page["matrix"]) == len(page["labels"]) == 3
    assert all(isinstance(count, int) for row in page["matrix"] for count in row)
    assert all(len(row) == 3 for row in page["matrix"])
    assert np.isfinite(list(metrics_page(request_.challenger).values())).all()
    json.dumps(page, allow_nan=False)


def test_boxes_that_are_wrong_are_drawn_dashed_and_missed_objects_solid(request_):
    frame = worst_frames(request_.challenger, 1)[0]

    for box, picture in zip(frame.boxes, map(drawn, frame.boxes), strict=True):
        assert picture[6] == (box.score is not None)
        assert bool(picture[4]) == (not box.right)


TRUTH = [(f"f{k}", name, square(0, side=20.0 * k)) for k in range(1, 6) for name in ("bus", "car")]
FOUND = [(frame, name, (x + 1, y, x2, y2), 0.9 - k / 100) for k, (frame, name, (x, y, x2, y2)) in enumerate(TRUTH[:-3])]


def test_a_number_over_other_overlaps_than_cocos_never_stands_beside_an_interval_of_coco():
    loose = [(frame, name, (x, y, x + 0.65 * (x2 - x), y2), score) for frame, name, (x, y, x2, y2), score in FOUND]
    measured = evaluate(simple(TRUTH, loose, thresholds=(0.3, 0.6)))

    page = evaluation_html(EvaluationPage(title="p", evaluation=measured, draws=Draws(resamples=60)))

    cards = page.split('class="cards"')[1].split("<nav")[0]
    assert f"{measured.numbers['AP']:.3f}" in cards
    assert "AP is the mean over IoU 0.3, 0.6." in cards
    assert " to " not in cards.split("Below each number")[0]


def test_a_slice_of_some_objects_shows_its_own_number():
    by_class = SliceSection(name="class", by=("class",))
    measured = evaluate(simple(TRUTH, FOUND, slices=(by_class,)))

    page = evaluation_html(EvaluationPage(title="p", evaluation=measured, metric="AP50", draws=Draws(resamples=60)))

    part = page.split('<section id="slices"')[1].split("</section>")[0]
    assert len(measured.per_slice) == 2
    for found in measured.per_slice:
        assert f'data-order="{found.numbers["AP50"]}"' in part


def test_pictures_that_the_page_of_one_model_leaves_out_are_not_said_to_be_in_a_report(request_, monkeypatch):
    monkeypatch.setattr("validation.report.MAX_PAGE_BYTES", 150_000)

    page = evaluation_html(
        EvaluationPage(
            title="p",
            evaluation=request_.challenger,
            draws=Draws(resamples=60),
            pictures=lambda _frame_ids: (
                lambda _frame_id: np.random.default_rng(1).integers(0, 255, (600, 900, 3), np.uint8)
            ),
        )
    )

    assert "are left out to keep this page under 5 MB." in page
    assert "report.json" not in page
