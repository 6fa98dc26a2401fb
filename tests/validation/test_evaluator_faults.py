"""What standard evaluators get silently wrong, and what is right."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.errors import InvalidInputError
from driveflow.flow.sections import SliceSection, WhereSection
from tests.strategies import box_row
from tests.validation.scenes import boxes_table, frames_table, from_coco, random_coco, simple, square
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation
from validation.model.scene import EvaluationRequest

PERFECT_TRUTH = [("f1", "car", square(0)), ("f2", "car", square(20))]
PERFECT_FOUND = [("f1", "car", square(0), 0.9), ("f2", "car", square(20), 0.8)]


def _kinds(evaluation: Evaluation) -> dict[str, int]:
    return {item.kind: item.count for item in evaluation.corrections}


def _shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def _said(evaluation: Evaluation) -> dict[str, object]:
    """Everything an evaluation says, in plain values."""
    return {
        "numbers": dict(evaluation.numbers),
        "classes": [(part.numbers, part.point, part.objects, part.curve) for part in evaluation.per_class],
        "slices": [(part.name, part.numbers, part.frames, part.objects) for part in evaluation.per_slice],
        "confusion": evaluation.confusion.counts.tolist(),
        "bins": evaluation.bins,
        "corrections": evaluation.corrections,
    }


def test_ac_d1_perfect_boxes_score_one_whatever_their_ids():
    """AC-D1: other evaluators take an object with id 0 for no object."""
    assert evaluate(simple(PERFECT_TRUTH, PERFECT_FOUND)).numbers["AP"] == pytest.approx(1.0)


def test_two_objects_with_one_id_are_two_objects():
    boxes = pa.Table.from_pylist([box_row("f1", "0", "car"), box_row("f2", "0", "car")], tables.BOXES)
    found = [("f1", "car", (1, 2, 11, 12), 0.9), ("f2", "car", (1, 2, 11, 12), 0.8)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, boxes=boxes))

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert evaluation.objects == 2


def test_ac_d2_an_ignore_region_is_neither_missed_nor_a_false_alarm():
    """AC-D2: a region that is not detected costs nothing, and what lies inside it is no false alarm."""
    region = boxes_table([("f1", "car", (100, 100, 200, 200))], ignore=True, start=10)
    boxes = pa.concat_tables([boxes_table(PERFECT_TRUTH), region])
    inside = [("f1", "car", square(110, 110), 0.95), ("f1", "car", square(150, 150), 0.94)]

    without, within = (
        evaluate(simple(PERFECT_TRUTH, found, boxes=boxes)) for found in (PERFECT_FOUND, PERFECT_FOUND + inside)
    )

    assert without.numbers["AP"] == pytest.approx(1.0)
    assert within.numbers["AP"] == pytest.approx(1.0)
    assert within.per_class[1].point.false == 0


def test_an_ignore_region_of_no_class_covers_every_class():
    region = boxes_table([("f1", "blurred", (100, 100, 200, 200))], ignore=True, start=10)
    found = [*PERFECT_FOUND, ("f1", "bus", square(110, 110), 0.95), ("f1", "car", square(150, 150), 0.94)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, boxes=pa.concat_tables([boxes_table(PERFECT_TRUTH), region])))

    assert [part.point.false for part in evaluation.per_class] == [0, 0]


def test_more_than_a_hundred_objects_in_a_frame_are_all_counted():
    truth = [("f1", "car", square(20.0 * number)) for number in range(150)]
    found = [(*row, 0.5 + number / 1000) for number, row in enumerate(truth)]

    evaluation = evaluate(simple(truth, found))

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert evaluation.numbers["AR100"] == pytest.approx(100 / 150)
    assert _kinds(evaluation) == {"more_detections_than_coco_counts": 1}


def test_a_class_without_objects_shows_its_false_alarms_per_frame():
    found = [
        *PERFECT_FOUND,
        ("f1", "bus", square(50), 0.9),
        ("f2", "bus", square(50), 0.9),
        ("f2", "bus", square(80), 0.9),
    ]

    bus, car = evaluate(simple(PERFECT_TRUTH, found)).per_class

    assert bus.numbers["AP"] is None
    assert bus.false_per_frame == pytest.approx(1.5)
    assert car.numbers["AP"] == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_ac_d4_equal_scores_give_the_same_numbers_in_any_file_order(seed):
    """AC-D4: when all scores are tied, other evaluators' AP depends on the order of the file."""
    truth, predictions = random_coco(seed, images=4)
    request = from_coco(truth, [row | {"score": 0.5} for row in predictions])
    turned = EvaluationRequest(
        frames=_shuffled(request.frames, seed),
        boxes=_shuffled(request.boxes, seed),
        predictions=_shuffled(request.predictions, seed),
        classes=request.classes,
    )

    assert _said(evaluate(turned)) == _said(evaluate(request))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_ac_d6_no_number_depends_on_the_order_of_frames_boxes_or_predictions(seed, order):
    """AC-D6: order invariance, slices and confusion included."""
    truth, predictions = random_coco(seed, images=4)
    request = from_coco(truth, predictions)
    slices = (SliceSection(name="with-one", where=WhereSection(classes=("class-1",))),)

    plain, turned = (
        evaluate(
            EvaluationRequest(frames=frames, boxes=boxes, predictions=found, classes=request.classes, slices=slices)
        )
        for frames, boxes, found in (
            (request.frames, request.boxes, request.predictions),
            (_shuffled(request.frames, order), _shuffled(request.boxes, order), _shuffled(request.predictions, order)),
        )
    )

    assert _said(plain) == _said(turned)


def test_ac_d6_empty_frames_count_for_false_alarms_per_frame():
    """AC-D6: frames without objects are part of the hold-out, wherever they stand in it."""
    frames = frames_table(["f1", "f2", "f3", "f4"], ("bus", "car"))
    found = [*PERFECT_FOUND, ("f4", "car", square(0), 0.99)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, frames=frames))

    assert evaluation.frames == 4
    assert evaluation.per_class[1].false_per_frame == pytest.approx(0.25)
    assert evaluation.numbers["AP"] < 1.0


def test_ac_d8_a_higher_score_chooses_first_even_where_it_takes_the_better_pair_of_another():
    """AC-D8: COCO's greedy rule, on the vector that shows it."""
    truth = [("f1", "car", (0, 0, 10, 10)), ("f1", "car", (4, 0, 14, 10))]
    found = [("f1", "car", (3, 0, 13, 10), 0.9), ("f1", "car", (4.5, 0, 14.5, 10), 0.8)]

    evaluation = evaluate(simple(truth, found))

    # The first takes the second object (IoU 0.82); the second, left with the first object (0.38), is false.
    assert evaluation.matches.truth[0].tolist() == [1, -1]
    assert evaluation.per_class[1].point.right == 1


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_a_score_that_is_no_number_is_an_error(score):
    with pytest.raises(InvalidInputError, match="score that is no number"):
        evaluate(simple(PERFECT_TRUTH, [("f1", "car", square(0), score)]))


def test_a_corner_that_is_no_number_is_an_error():
    with pytest.raises(InvalidInputError, match="corner that is no number"):
        evaluate(simple(PERFECT_TRUTH, [("f1", "car", (0, 0, float("nan"), 1), 0.5)]))


def test_a_box_turned_inside_out_is_an_error():
    with pytest.raises(InvalidInputError, match="ends before it begins"):
        evaluate(simple([("f1", "car", (10, 0, 0, 10))], PERFECT_FOUND))


def test_no_detections_at_all_score_zero():
    evaluation = evaluate(simple(PERFECT_TRUTH, []))

    assert evaluation.numbers["AP"] == 0.0
    assert evaluation.per_class[1].point.missed == 2


def test_no_objects_at_all_score_nothing():
    evaluation = evaluate(simple([], PERFECT_FOUND))

    assert set(evaluation.numbers.values()) == {None}


def test_an_empty_holdout_is_no_error():
    evaluation = evaluate(simple([], []))

    assert (evaluation.frames, evaluation.drive_groups, set(evaluation.numbers.values())) == (0, 0, {None})


def test_detections_for_unknown_frames_and_classes_are_listed_and_change_nothing():
    frames = frames_table(["f1", "f2"], ("bus", "car"))
    found = [*PERFECT_FOUND, ("elsewhere", "car", square(0), 0.99), ("f1", "tram", square(0), 0.99)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, frames=frames))

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert _kinds(evaluation) == {"detection_in_unknown_frame": 1, "detection_of_unknown_class": 1}
    assert "elsewhere" in evaluation.corrections[0].examples[0]


def test_ac_d10_boxes_without_area_are_listed_and_count_as_what_they_are():
    """AC-D10: a flat detection matches nothing, a flat object cannot be missed; neither crashes."""
    truth = [*PERFECT_TRUTH, ("f1", "car", (5, 5, 5, 9))]
    found = [*PERFECT_FOUND, ("f1", "car", (50, 5, 50, 9), 0.1)]

    evaluation = evaluate(simple(truth, found))

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert _kinds(evaluation) == {"truth_without_area": 1, "detection_without_area": 1}


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_labels_that_were_read_twice_are_told(mode):
    twice = [*PERFECT_TRUTH, *PERFECT_TRUTH, ("f2", "car", square(21))]

    evaluation = evaluate(replace(simple(twice, PERFECT_FOUND), mode=mode))

    told = next(item for item in evaluation.corrections if item.kind == "truth_twice")
    assert told.count == 2
    assert told.examples == ("car in frame f1", "car in frame f2")
    assert evaluation.objects == 5


def test_a_frame_where_a_class_was_not_looked_for_does_not_count_for_it():
    frames = frames_table(["f1", "f2"], ("bus", "car"), annotated_classes={"f2": ["car"]})
    found = [*PERFECT_FOUND, ("f2", "bus", square(60), 0.99)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, frames=frames))

    assert evaluation.per_class[0].frames == 1
    assert evaluation.per_class[0].point.false == 0
    assert _kinds(evaluation) == {"detection_of_unannotated_class": 1}


def test_an_unlabeled_frame_does_not_count_at_all():
    frames = frames_table(["f1", "f2", "f3"], ("bus", "car"), annotated_classes={"f3": []})

    evaluation = evaluate(simple(PERFECT_TRUTH, [*PERFECT_FOUND, ("f3", "car", square(0), 0.99)], frames=frames))

    assert evaluation.frames == 2
    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert _kinds(evaluation) == {"unlabeled_frame": 1, "detection_of_unannotated_class": 1}


def test_detections_under_the_least_score_are_not_counted():
    found = [*PERFECT_FOUND, ("f1", "car", square(60), 0.04)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, min_score=0.05))

    assert evaluation.detections == 2
    assert evaluation.scene.under_min_score == 1


def test_a_frame_that_is_there_twice_is_an_error():
    frames = frames_table(["f1", "f1", "f2"], ("bus", "car"))

    with pytest.raises(InvalidInputError, match="frames twice"):
        evaluate(simple(PERFECT_TRUTH, PERFECT_FOUND, frames=frames))


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_the_truth_scores_one_against_itself(seed):
    truth, _ = random_coco(seed)
    own = [row | {"score": 0.5 + row["id"] / 1000} for row in truth["annotations"] if not row["iscrowd"]]

    numbers = evaluate(from_coco(truth, own)).numbers

    assert numbers["AP"] is None or numbers["AP"] == pytest.approx(1.0)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_ac_d16_ac_d17_the_confusion_matrix_adds_up_to_objects_and_detections(seed):
    """AC-D16, AC-D17: one matching, so margins are the counts of precision and recall, and support is the input's."""
    truth, predictions = random_coco(seed)

    evaluation = evaluate(from_coco(truth, predictions))

    counts = evaluation.confusion.counts
    objects = [row for row in truth["annotations"] if not row["iscrowd"]]
    assert counts[:-1].sum() == len(objects) == evaluation.objects
    for label, part in enumerate(evaluation.per_class):
        assert counts[label].sum() == sum(row["category_id"] == label + 1 for row in objects) == part.objects
        assert counts[label, label] == part.point.right
        assert counts[:, label].sum() == part.point.right + part.point.false


def test_an_object_taken_for_another_class_is_one_entry_of_the_confusion_matrix():
    truth = [("f1", "car", square(0)), ("f2", "bus", square(0)), ("f3", "bus", square(30))]
    found = [("f1", "car", square(0), 0.9), ("f2", "car", square(0), 0.9), ("f3", "bus", square(30), 0.9)]

    evaluation = evaluate(simple(truth, found))

    assert evaluation.confusion.classes == ("bus", "car", "background")
    assert evaluation.confusion.counts.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_slices_are_measured_on_their_frames_only():
    frames = frames_table(["f1", "f2"], ("bus", "car"), attributes={"f2": '{"time_of_day":"night"}'})
    night = SliceSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}))
    found = [("f1", "car", square(0), 0.9)]

    evaluation = evaluate(simple(PERFECT_TRUTH, found, frames=frames, slices=(night,)))

    part = evaluation.per_slice[0]
    assert (part.name, part.frames, part.drive_groups, part.objects) == ("night", 1, 1, 1)
    assert part.numbers["AP50"] == 0.0


def test_a_slice_without_frames_has_no_numbers():
    rain = SliceSection(name="rain", where=WhereSection(attributes={"weather": ("rain",)}))

    part = evaluate(simple(PERFECT_TRUTH, PERFECT_FOUND, slices=(rain,))).per_slice[0]

    assert (part.frames, part.numbers["AP"]) == (0, None)


def test_the_operating_point_has_the_best_f1_and_takes_equal_scores_together():
    truth = [("f1", "car", square(20.0 * number)) for number in range(3)]
    found = [*((*row, 0.9) for row in truth[:2]), ("f1", "car", square(500), 0.5), ("f1", "car", square(40), 0.5)]

    point = evaluate(simple(truth, found)).per_class[1].point

    assert (point.score, point.right, point.false, point.missed) == (0.5, 3, 1, 0)
    assert (point.precision, point.recall, point.f1) == (0.75, 1.0, pytest.approx(6 / 7))


def test_a_prediction_among_the_boxes_of_a_snapshot_is_no_object_to_find():
    guess = pa.Table.from_pylist([box_row("f1", "guess", "car", score=0.9)], tables.BOXES)
    boxes = pa.concat_tables([boxes_table(PERFECT_TRUTH), guess])

    evaluation = evaluate(simple(PERFECT_TRUTH, PERFECT_FOUND, boxes=boxes))

    assert evaluation.objects == 2
    assert evaluation.numbers["AP"] == pytest.approx(1.0)
