import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.by_hand import Said
from driveflow.errors import UsageError
from filtering.album import Album
from filtering.corner_cases import SELECTION
from filtering.review import (
    Case,
    answer_sheet,
    bands,
    dropped_by,
    found_by,
    overall,
    precisions,
    read_answers,
)
from filtering.review_page import review_page
from tests.driveflow.pages.hostile import STORABLE_NAMES
from tests.filtering.made import Made, snapshot
from tests.filtering.test_gallery import Shown

RULE = "near_duplicates.same_drive"
CASES = [Case(f"{score}-{at:02}", RULE, float(score), "twin") for score in (2, 4) for at in range(40)]


def said(case, yes, at="2026-11-29T08:00:00"):
    return Said(
        about="review",
        frame_id=case.frame_id,
        twin=case.twin,
        rule=case.rule,
        score=case.score,
        yes=yes,
        who="a",
        at=at,
    )


def ids(drawn):
    return [case.frame_id for band in drawn for case in band.sample]


def test_a_band_a_score_where_scores_are_few_and_quarters_where_they_are_many():
    many = [Case(f"{at:02}", "blur.relative", -at / 10) for at in range(40)]

    assert [(band.name, len(band.cases)) for band in bands(CASES, 5, 0)] == [("2", 40), ("4", 40)]
    assert [(band.name, len(band.cases)) for band in bands(many, 5, 0)] == [
        ("-3.9 to -3", 10),
        ("-2.9 to -2", 10),
        ("-1.9 to -1", 10),
        ("-0.9 to 0", 10),
    ]


def test_every_case_is_in_one_band_whatever_its_score():
    mixed = [*CASES, Case("x", RULE), Case("y", RULE)]
    drawn = bands(mixed, 5, 0)

    assert sorted(case.frame_id for band in drawn for case in band.cases) == sorted(case.frame_id for case in mixed)
    assert drawn[-1].name == "no score"


def test_a_sample_is_drawn_by_its_seed_and_by_no_order_of_the_cases():
    assert ids(bands(CASES, 5, 0)) == ids(bands(CASES[::-1], 5, 0))
    assert ids(bands(CASES, 5, 0)) != ids(bands(CASES, 5, 1))
    assert len(ids(bands(CASES, 5, 0))) == 10


def test_ac_a11_precision_is_told_by_band_with_the_interval_of_wilson():
    drawn = bands(CASES, 10, 0)
    words = [said(case, yes=number < 8) for number, case in enumerate(drawn[0].sample)]

    found = precisions(drawn, words)

    assert (found[0].judged, found[0].right, found[0].precision) == (10, 8, 0.8)
    assert (found[0].low, found[0].high) == (0.4902, 0.9433)
    assert (found[1].judged, found[1].precision, found[1].low, found[1].high) == (0, None, 0.0, 1.0)


def test_the_last_word_on_a_case_counts_and_a_word_on_another_twin_does_not():
    case, other = CASES[0], Case("2-01", RULE, 2.0, "another twin")
    words = [said(case, yes=True), said(case, yes=False, at="2026-11-29T09:00:00"), said(other, yes=True)]

    found = precisions(bands(CASES, 5, 0), words)

    assert (found[0].judged, found[0].right) == (1, 0)


def test_over_all_bands_each_weighs_as_much_as_it_holds():
    drawn = bands([*CASES[:40], *CASES[40:44]], 4, 0)
    words = [said(case, yes=True) for case in drawn[0].sample] + [said(case, yes=False) for case in drawn[1].sample]

    assert overall(precisions(drawn, words)) == round(40 / 44, 4)
    assert overall(precisions(drawn, [])) is None


def test_a_rule_is_asked_with_all_rules_under_it():
    row = {"step": "filter_frames", "reason": "r", "limit": 4.0, "detail": ""}
    rows = [
        row | {"frame_id": "a", "rule": RULE, "verdict": "dropped", "score": 2.0, "twin": "k"},
        row
        | {"frame_id": "b", "rule": "near_duplicates.across_drives", "verdict": "dropped", "score": 1.0, "twin": "k"},
        row | {"frame_id": "c", "rule": "blur.dead", "verdict": "dropped", "score": 1.0},
        row | {"frame_id": "k", "rule": "filters", "verdict": "kept"},
    ]
    decisions = pa.Table.from_pylist(rows, tables.DECISIONS)

    assert [case.frame_id for case in dropped_by(decisions, "near_duplicates")] == ["a", "b"]
    assert [case.frame_id for case in dropped_by(decisions, RULE)] == ["a"]
    assert dropped_by(decisions, "filters") == []
    assert dropped_by(decisions, "near") == []


def test_finds_of_a_miner_are_asked_by_their_place():
    rows = [
        {"frame_id": name, "rank": rank, "reason": "corner_case", "rule": rule}
        for rank, (name, rule) in enumerate([("a", "night"), ("b", "rain"), ("c", "night")])
    ]

    found = found_by(pa.Table.from_pylist(rows, SELECTION), "night")

    assert [(case.frame_id, case.score) for case in found] == [("a", 1.0), ("c", 2.0)]


def test_an_answer_sheet_comes_back_as_it_was_answered():
    drawn = bands(CASES, 2, 0)
    first = drawn[0].sample[0].frame_id
    sheet = answer_sheet(drawn, {first: "no"}, {first: "day/1.jpg"})

    assert len(sheet.splitlines()) == 5
    assert sheet.splitlines()[1].startswith("1,day/1.jpg,")
    assert read_answers(sheet, "sheet.csv") == {first: False}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("frame_id,answer\na,perhaps\n", "sheet.csv:2 answers 'perhaps'"),
        ("frame_id,answer\na,no\na,No\na,yes\n", "sheet.csv:4 answers .yes. for a, a line before it the contrary"),
        ("a,b\n1,2\n", "no columns frame_id and answer"),
    ],
)
def test_a_sheet_that_is_none_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        read_answers(text, "sheet.csv")


def test_the_page_says_who_is_asked_what_and_lets_no_name_out():
    drawn = bands([Case("a", RULE, 2.0, detail=STORABLE_NAMES[0])], 2, 0)

    page = review_page(STORABLE_NAMES[0], drawn, precisions(drawn, []), Album(snapshot([Made("a")]), Shown({})))

    assert "Nobody has judged yet." in page
    assert "<script>window" not in page
