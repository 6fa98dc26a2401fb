"""The worst frames come first, and what is wrong in them is said in the right words."""

import pytest

from tests.validation.scenes import simple, square
from validation.model.evaluate import evaluate
from validation.model.worst_frames import WorstFrame, worst_frames

TRUTH = [("f1", "car", square(0, side=40)), ("f2", "car", square(0, side=40)), ("f2", "bus", square(100, side=60))]
SURE = [*((*row, 0.9) for row in TRUTH)]


def _worst(truth, found) -> dict[str, WorstFrame]:
    return {frame.frame_id: frame for frame in worst_frames(evaluate(simple(truth, found)), 10)}


def test_a_perfect_model_has_no_worst_frames():
    assert _worst(TRUTH, SURE) == {}


def test_an_object_that_nothing_found_is_missed():
    frame = _worst(TRUTH, SURE[1:])["f1"]

    assert [(item.fault, item.class_name, item.height_px) for item in frame.mistakes] == [("missed", "car", 40.0)]
    assert [box.right for box in frame.boxes] == [False]


def test_a_detection_of_nothing_is_false():
    frame = _worst(TRUTH, [*SURE, ("f1", "bus", square(300), 0.9)])["f1"]

    assert [(item.fault, item.class_name, item.score) for item in frame.mistakes] == [("false", "bus", 0.9)]


def test_an_object_of_another_class_is_taken_for_it_and_said_once():
    frame = _worst(TRUTH, [("f1", "bus", square(0, side=40), 0.95), *SURE[1:]])["f1"]

    assert [(item.fault, item.class_name, item.said) for item in frame.mistakes] == [("taken", "car", "bus")]


def test_a_box_that_overlaps_too_little_is_loose_and_its_object_not_missed_too():
    frame = _worst(TRUTH, [("f1", "car", square(20, side=40), 0.95), *SURE[1:]])["f1"]

    assert [(item.fault, item.overlap) for item in frame.mistakes] == [("loose", pytest.approx(1 / 3))]


def test_a_second_box_on_a_found_object_is_said_so():
    frame = _worst(TRUTH, [*SURE, ("f1", "car", square(2, side=40), 0.9)])["f1"]

    assert [item.fault for item in frame.mistakes] == ["twice"]


def test_frames_come_in_order_of_how_much_is_wrong_and_no_more_than_wanted():
    evaluation = evaluate(simple([*TRUTH, ("f3", "car", square(0, side=40))], [SURE[0]]))

    assert [frame.frame_id for frame in worst_frames(evaluation, 10)] == ["f2", "f3"]
    few = worst_frames(evaluation, 1)
    assert [frame.frame_id for frame in few if frame.ranks.overall is not None] == ["f2"]


def test_what_is_wrong_is_counted_as_the_operating_point_counts_it():
    found = [*SURE, ("f1", "bus", square(300), 0.01)]

    assert _worst(TRUTH, found) == {}
