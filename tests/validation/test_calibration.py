"""Calibration and false alarms, worked by hand."""

import pytest

from tests.validation.scenes import boxes_table, frames_table, simple, square
from validation.model.evaluate import evaluate

TRUTH = [("f", "car", square(100 * number)) for number in range(4)]


def test_half_of_what_is_said_with_nine_tenths_being_right_is_an_error_of_four_tenths():
    found = [("f", "car", square(0), 0.9), ("f", "car", square(1000), 0.9)]

    calibration = evaluate(simple(TRUTH, found)).calibration

    assert calibration.d_ece == pytest.approx(0.4)
    assert (calibration.max_error, calibration.signed) == (pytest.approx(0.4), pytest.approx(-0.4))
    (row,) = calibration.rows
    assert (row.low, row.high, row.count, row.share_right) == (pytest.approx(0.88), pytest.approx(0.92), 2, 0.5)


def test_bins_weigh_as_many_detections_as_they_hold():
    found = [("f", "car", square(0), 0.9), ("f", "car", square(100), 0.9), ("f", "car", square(1000), 0.5)]

    # Two of three are said with 0.9 and right (off by 0.1), one with 0.5 and wrong (off by 0.5).
    assert evaluate(simple(TRUTH, found)).calibration.d_ece == pytest.approx(2 / 3 * 0.1 + 1 / 3 * 0.5)


def test_a_second_detection_of_an_object_is_wrong_and_one_in_a_region_does_not_count():
    boxes = boxes_table(TRUTH[:1]).to_pylist() + boxes_table([("f", "car", (500, 500, 600, 600))], start=9).to_pylist()
    boxes[1]["ignore"] = True
    found = [("f", "car", square(0), 0.8), ("f", "car", square(0), 0.6), ("f", "car", square(520, 520), 0.3)]
    table = boxes_table([])

    calibration = evaluate(simple([], found, boxes=table.from_pylist(boxes, table.schema))).calibration

    assert calibration.detections == 2
    assert [(row.mean_score, row.share_right) for row in calibration.rows] == [(0.6, 0.0), (0.8, 1.0)]


def test_how_well_right_boxes_lie_counts_in_the_error_with_localisation():
    found = [("f", "car", (0, 0, 10, 8), 0.8)]  # overlap 0.8

    calibration = evaluate(simple(TRUTH[:1], found)).calibration

    assert (calibration.d_ece, calibration.la_ece) == (pytest.approx(0.2), pytest.approx(0.0))
    assert calibration.rows[0].mean_overlap == pytest.approx(0.8)


@pytest.mark.parametrize(("score", "low"), [(0.0, 0.0), (0.0399, 0.0), (0.04, 0.04), (0.96, 0.96), (1.0, 0.96)])
def test_a_bin_begins_with_its_lower_edge_and_one_belongs_to_the_last(score, low):
    calibration = evaluate(simple(TRUTH[:1], [("f", "car", square(0), score)])).calibration

    assert [row.low for row in calibration.rows] == [pytest.approx(low)]


def test_without_detections_there_is_no_error_and_none_is_made_up():
    calibration = evaluate(simple(TRUTH, [])).calibration

    assert (calibration.d_ece, calibration.la_ece, calibration.signed, calibration.rows) == (None, None, None, ())


def test_false_alarms_count_classes_without_an_object_and_frames_in_which_they_were_looked_for():
    found = [("a", "car", square(0), 0.9), ("a", "bus", square(0), 0.9), ("b", "bus", square(50), 0.95)]
    frames = frames_table("abcd", ("bus", "car"), annotated_classes={"d": ["car"]})

    evaluation = evaluate(simple([("a", "car", square(0))], found, frames=frames))

    bus, car = evaluation.false_alarms.per_class
    assert (bus.false, bus.frames, bus.per_frame, bus.objects) == (2, 3, pytest.approx(2 / 3), 0)
    assert car.false == 0
    assert evaluation.false_alarms.per_frame == pytest.approx(2 / 4)


def test_the_miss_rate_is_that_of_the_lowest_score_with_so_few_false_alarms():
    frames = [f"{number:03d}" for number in range(100)]
    truth = [(frame, "car", square(0)) for frame in frames[:4]]
    found = [(frame, "car", square(0), 0.9 - 0.1 * number) for number, frame in enumerate(frames[:4])]
    found += [(frames[50], "car", square(500), 0.75), (frames[51], "car", square(500), 0.65)]

    alarms = evaluate(simple(truth, found, frames=frames_table(frames, ("bus", "car")))).false_alarms

    # One in 100 frames, and so 0.01 and 0.0178: down to 0.7 three of four are found. From 0.0316 on all are.
    assert alarms.missed_at == pytest.approx((0.25, 0.25, 0, 0, 0, 0, 0, 0, 0))


def test_the_operating_point_of_all_classes_together_is_cut_at_one_score():
    found = [("f", "car", square(0), 0.9), ("f", "car", square(100), 0.5), ("f", "bus", square(0), 0.3)]

    point = evaluate(simple(TRUTH, found)).point

    assert (point.score, point.right, point.false, point.missed) == (0.5, 2, 0, 2)
    assert (point.precision, point.recall, point.f1) == (1.0, 0.5, pytest.approx(2 / 3))
