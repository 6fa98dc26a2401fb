"""A past failure that was mended must stay so: an object missed, a false alarm, an object taken for another class."""

from dataclasses import replace

import pytest

from tests.validation.scenes import boxes_table, simple, square
from validation.model.evaluate import evaluate
from validation.model.scored import Scored, scored_of
from validation.regression import FalseAlarm, RegressionObject, RegressionSet, WrongClass
from validation.regression_rule import objects_there, regression_rule, states
from validation.scored_file import read_scored, write_scored

CAR, BUS = ("f1", "car", square(0, side=40)), ("f2", "bus", square(100, side=60))
TRUTH = [CAR, ("f2", "car", square(0, side=40)), BUS]
SURE = [(*row, 0.9) for row in TRUTH]
GHOST = ("f1", "car", square(200, side=30))
TWICE = ("f1", "car", square(6, side=40))
MISTAKEN = [row for row in SURE if row[:3] != BUS] + [("f2", "car", BUS[2], 0.9)]


def _scored(found, truth=TRUTH, **changes) -> Scored:
    return scored_of(evaluate(simple(truth, found, **changes)))


def _judged(model: Scored, *failures, champion: Scored | None = None):
    return regression_rule(model, champion, RegressionSet("may", "", failures))


GONE_GHOST, GONE_TWIN = FalseAlarm(*GHOST, "Bkg"), FalseAlarm(*TWICE, "Dupe", 1)
KEPT_BUS = WrongClass(*BUS, "car")


@pytest.mark.parametrize("alarm", [GONE_GHOST, GONE_TWIN])
def test_a_false_alarm_that_stays_gone_passes(alarm):
    rule = _judged(_scored(SURE), alarm)

    assert (rule.outcome, rule.value, rule.counts.objects) == ("PASS", 1.0, 1)
    assert rule.reason == "All 1 past failures of the set stay right: 1 false alarms gone."


@pytest.mark.parametrize(
    ("alarm", "found"),
    [(GONE_GHOST, (*GHOST, 0.9)), (GONE_TWIN, (*TWICE, 0.9)), (GONE_GHOST, ("f1", "car", square(204, side=30), 0.9))],
)
def test_a_false_alarm_that_is_back_at_its_place_blocks(alarm, found):
    rule = _judged(_scored([*SURE, found]), alarm, champion=_scored(SURE))

    assert (rule.outcome, rule.value) == ("BLOCK", 0.0)
    assert "1 of 1 false alarms that must stay gone are back: false car in f1." in rule.reason
    assert "The champion has 1 right." in rule.reason


@pytest.mark.parametrize(
    "found", [("f1", "bus", GHOST[2], 0.9), ("f2", "car", GHOST[2], 0.9), ("f1", "car", square(230, side=30), 0.9)]
)
def test_another_class_frame_or_place_is_another_false_alarm(found):
    assert _judged(_scored([*SURE, found]), GONE_GHOST).outcome == "PASS"


def test_a_false_detection_under_the_operating_score_is_none():
    unsure = (*GHOST, 0.01)

    assert _judged(_scored([*SURE, unsure]), GONE_GHOST).outcome == "PASS"


def test_the_right_detection_of_an_object_is_no_duplicate_of_it():
    moved = [("f1", "car", TWICE[2], 0.9), *SURE[1:]]

    assert _judged(_scored(moved), GONE_TWIN).outcome == "PASS"


def test_an_object_that_keeps_its_class_passes_and_one_that_is_taken_for_another_again_blocks():
    assert _judged(_scored(SURE), KEPT_BUS).outcome == "PASS"

    rule = _judged(_scored(MISTAKEN), KEPT_BUS)

    assert rule.outcome == "BLOCK"
    assert "bus taken for car in f2" in rule.reason


def test_an_object_that_is_called_both_its_class_and_the_wrong_one_blocks_too():
    both = [*SURE, ("f2", "car", BUS[2], 0.9)]

    assert _judged(_scored(both), KEPT_BUS).outcome == "BLOCK"
    assert _judged(_scored([row for row in SURE if row[:3] != BUS]), KEPT_BUS).outcome == "BLOCK"


def test_a_place_that_was_labeled_since_needs_data_and_is_not_passed_silently():
    labeled = _scored([*SURE, (*GHOST, 0.9)], [*TRUTH, GHOST])

    rule = _judged(labeled, GONE_GHOST)

    assert (rule.outcome, rule.value) == ("NEEDS DATA", None)
    assert "1 of 1 past failures of the set lie where the labels have changed: false car in f1." in rule.reason
    assert _judged(labeled, replace(GONE_GHOST, objects=1)).outcome == "PASS"


def test_a_place_that_is_an_ignore_region_since_needs_data():
    import pyarrow as pa

    region = boxes_table([GHOST], ignore=True, start=90)
    model = _scored([*SURE, (*GHOST, 0.9)], boxes=pa.concat_tables([boxes_table(TRUTH), region]))

    assert states(model, [GONE_GHOST]) == ["relabeled"]


@pytest.mark.parametrize(
    "gone",
    [
        FalseAlarm("nobody", "car", GHOST[2]),
        FalseAlarm("f1", "tram", GHOST[2]),
        RegressionObject("f1", "car", square(1, side=40)),
        WrongClass("f2", "bus", square(101, side=60), "car"),
    ],
)
def test_what_is_not_in_the_holdout_needs_data(gone):
    rule = _judged(_scored(SURE), gone)

    assert rule.outcome == "NEEDS DATA"
    assert "not in this hold-out" in rule.reason


def test_a_class_that_nobody_looked_for_in_the_frame_needs_data():
    from tests.validation.scenes import frames_table

    frames = frames_table(["f1", "f2"], ("bus", "car"), annotated_classes={"f1": ["bus"]})

    assert states(_scored(SURE, frames=frames), [GONE_GHOST]) == ["gone"]


def test_what_is_back_blocks_even_where_others_are_not_in_the_holdout():
    rule = _judged(_scored([*SURE, (*GHOST, 0.9)]), GONE_GHOST, RegressionObject("nobody", "car", square(0)))

    assert (rule.outcome, rule.value) == ("BLOCK", 0.0)
    assert "1 of 2 past failures that must stay right are back: false car in f1." in rule.reason
    assert "1 of 2 past failures of the set are not in this hold-out: car in nobody." in rule.reason


@pytest.mark.parametrize(("frame", "told"), [("cam/000071.jpg", "cam/000071.jpg"), ("a" * 64, "a" * 12)])
def test_a_frame_is_named_as_a_person_finds_it(frame, told):
    rule = _judged(_scored(SURE), RegressionObject(frame, "car", square(0)))

    assert rule.reason == f"1 of 1 objects of the set are not in this hold-out: car in {told}."


def test_a_set_of_all_kinds_says_how_many_of_each_stay_right():
    rule = _judged(_scored(SURE), RegressionObject(*CAR), GONE_GHOST, GONE_TWIN, KEPT_BUS)

    assert rule.outcome == "PASS"
    assert rule.reason.endswith("1 objects found, 1 told by their right class, 2 false alarms gone.")


@pytest.mark.parametrize("found", [SURE, MISTAKEN, [*SURE, (*GHOST, 0.9), (*TWICE, 0.8)], []])
def test_the_matches_in_a_file_judge_alike(found):
    model = _scored(found)
    read = read_scored(write_scored(model), "there")
    failures = [GONE_GHOST, GONE_TWIN, KEPT_BUS, *(RegressionObject(*row) for row in TRUTH)]

    assert states(read, failures) == states(model, failures)
    assert [objects_there(read, one) for one in (GONE_GHOST, GONE_TWIN)] == [0, 1]
