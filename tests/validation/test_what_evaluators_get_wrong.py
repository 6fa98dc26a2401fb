"""Every case in which an evaluator of COCO's line is silently wrong, read from files, gives the right number."""

import dataclasses
import json

import numpy as np
import pytest

from driveflow.errors import InvalidInputError
from tests.validation.coco_files import annotation, document, kinds, measured, result, write
from validation.inputs.read_inputs import EvaluationInputs, read_request
from validation.model.evaluate import evaluate

BOX = (10, 10, 50, 50)
FAR = (100, 100, 80, 80)
FOUND = [result(1, BOX, 0.9), result(2, BOX, 0.8)]


@pytest.mark.parametrize("ids", [(1, 2), (0, 1), (7, 7)], ids=["ids 1, 2", "ids 0, 1", "one id twice"])
def test_two_perfect_boxes_score_one_whatever_their_ids(tmp_path, ids):
    truth = document([annotation(ids[0], 1, BOX), annotation(ids[1], 2, BOX)])

    evaluation = measured(tmp_path, truth, FOUND)

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert evaluation.objects == 2
    expected = {(0, 1): {"annotation_id_zero": 1}, (7, 7): {"annotation_id_twice": 1}}.get(ids, {})
    assert kinds(evaluation) == expected


def test_a_region_with_ignore_that_is_not_detected_costs_nothing(tmp_path):
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX), annotation(3, 1, FAR, ignore=1)])

    strict, coco = (measured(tmp_path, truth, FOUND, mode=mode) for mode in ("strict", "coco"))

    assert strict.numbers["AP"] == pytest.approx(1.0)
    assert coco.numbers["AR100"] == pytest.approx(2 / 3), "COCO's evaluator overwrites the flag"
    assert kinds(strict)["ignore_beside_iscrowd"] == kinds(coco)["ignore_beside_iscrowd"] == 1


def test_a_crowd_that_is_not_detected_costs_nothing(tmp_path):
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX), annotation(3, 1, FAR, iscrowd=1)])

    assert measured(tmp_path, truth, FOUND).numbers["AP"] == pytest.approx(1.0)


@pytest.mark.parametrize("limit", [0, 300], ids=["limit of the data", "limit 300"])
def test_a_hundred_and_fifty_perfect_boxes_in_one_image_score_one(tmp_path, limit):
    boxes = [(20 * n, 0, 10, 10) for n in range(150)]
    truth = document([annotation(n + 1, 1, box) for n, box in enumerate(boxes)])
    paths = write(tmp_path, truth, [result(1, box, 0.5 + n / 1000) for n, box in enumerate(boxes)])
    request = read_request(EvaluationInputs(truth=paths[0], predictions=paths[1]))

    evaluation = evaluate(dataclasses.replace(request, max_detections=limit))

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert kinds(evaluation) == {"more_detections_than_coco_counts": 1}


def test_a_class_with_detections_and_no_object_shows_its_false_alarms(tmp_path):
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX)])

    car, bus = measured(tmp_path, truth, [*FOUND, result(1, FAR, 0.9, category=2)]).per_class

    assert (car.numbers["AP"], bus.numbers["AP"]) == (pytest.approx(1.0), None)
    assert bus.false_per_frame == pytest.approx(0.5)


def test_tied_scores_give_the_same_numbers_in_any_order_of_the_files(tmp_path):
    truth = document([annotation(n + 1, 1 + n % 2, (60 * n, 0, 50, 50)) for n in range(6)])
    found = [result(1 + n % 2, (60 * n + 3 * (n % 4), 0, 50, 50), 0.5) for n in range(6)]
    found += [result(1, (900, 0, 50, 50), 0.5), result(2, (5, 5, 40, 40), 0.5)]
    orders = [np.random.default_rng(seed).permutation(len(found)) for seed in range(5)]

    numbers = [measured(tmp_path, truth, [found[n] for n in order]).numbers for order in orders]

    assert all(one == numbers[0] for one in numbers)


def test_a_score_that_is_nan_is_an_error_that_names_file_and_line(tmp_path):
    truth = document([annotation(1, 1, BOX)])
    lines = ["[", json.dumps(result(1, BOX)) + ",", json.dumps(result(2, BOX, float("nan"))), "]"]

    with pytest.raises(InvalidInputError, match=r"predictions\.json:3: a number is NaN or infinite"):
        measured(tmp_path, truth, "\n".join(lines))


def test_a_score_that_is_missing_is_an_error_that_names_the_entry(tmp_path):
    broken = {key: value for key, value in result(1, BOX).items() if key != "score"}

    with pytest.raises(InvalidInputError, match=r"score that is no number: .*predictions\.json: entry 1"):
        measured(tmp_path, document([annotation(1, 1, BOX)]), [result(1, BOX), broken])


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_no_detections_at_all_score_zero_and_are_named(tmp_path, mode):
    evaluation = measured(tmp_path, document([annotation(1, 1, BOX)]), [], mode=mode)

    assert evaluation.numbers["AP"] == 0.0
    assert kinds(evaluation) == {"no_detections": 1}


@pytest.mark.parametrize("key", ["iscrowd", "area"])
def test_a_field_that_is_missing_changes_nothing_and_is_named(tmp_path, key):
    truth = document([annotation(1, 1, BOX, **{key: ...}), annotation(2, 2, BOX, **{key: ...})])

    evaluation = measured(tmp_path, truth, FOUND)

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert kinds(evaluation) == {f"{key}_missing": 2}


def test_an_object_of_negative_width_is_an_error_that_names_it(tmp_path):
    truth = document([annotation(1, 1, BOX), annotation(25, 2, (60, 10, -50, 50))])

    with pytest.raises(InvalidInputError, match=r"ends before it begins .*truth\.json: annotation 25"):
        measured(tmp_path, truth, FOUND)


def test_a_detection_of_an_unknown_image_is_listed(tmp_path):
    evaluation = measured(tmp_path, document([annotation(1, 1, BOX), annotation(2, 2, BOX)]), [*FOUND, result(99, BOX)])

    assert evaluation.numbers["AP"] == pytest.approx(1.0)
    assert [(item.kind, item.examples) for item in evaluation.corrections] == [
        ("detection_in_unknown_frame", ("car in frame 99",))
    ]


def test_a_category_that_the_truth_does_not_list_is_named(tmp_path):
    evaluation = measured(tmp_path, document([annotation(1, 1, BOX)]), [result(1, BOX), result(1, BOX, category=9)])

    assert kinds(evaluation) == {"detection_of_unknown_class": 1}


def test_an_id_of_two_different_pictures_is_an_error(tmp_path):
    truth = document([annotation(1, 1, BOX)])
    truth["images"] += [{"id": 1, "file_name": "another.jpg"}]

    with pytest.raises(InvalidInputError, match=r"truth\.json: id 1 is '1\.jpg' and 'another\.jpg': give each an id"):
        measured(tmp_path, truth, FOUND)
    with pytest.raises(InvalidInputError, match=r"truth\.json: without an id are '1\.jpg' and '2\.jpg'"):
        measured(tmp_path, {**truth, "images": [{"file_name": f"{n}.jpg"} for n in (1, 2)]}, FOUND)


def test_ac_d7_any_list_of_thresholds_gives_its_own_numbers(tmp_path):
    """AC-D7: AP at a custom overlap is that of pycocotools with the same list, and no 0."""
    truth = document([annotation(1, 1, (0, 0, 100, 100)), annotation(2, 2, (0, 0, 100, 100))])
    found = [result(1, (0, 0, 100, 40), 0.9), result(2, (0, 0, 100, 80), 0.8)]

    evaluation = measured(tmp_path, truth, found, thresholds=(0.3, 0.5, 0.9))

    assert evaluation.by_threshold["0.3"] == pytest.approx(1.0)
    assert evaluation.by_threshold["0.5"] == pytest.approx(0.2524752475)
    assert evaluation.by_threshold["0.9"] == 0.0
    assert evaluation.numbers["AP"] == pytest.approx((1 + 0.2524752475) / 3)
    assert evaluation.numbers["AP75"] is None


def test_a_file_whose_list_is_cut_short_is_an_error_that_names_file_and_line(tmp_path):
    text = json.dumps(FOUND, indent=1)

    with pytest.raises(InvalidInputError, match=r"predictions\.json:\d+: the list is cut short"):
        measured(tmp_path, document([annotation(1, 1, BOX)]), text[: len(text) - 40])


def test_an_entry_that_is_no_result_is_an_error_that_names_file_and_line(tmp_path):
    lines = ["[", json.dumps(result(1, BOX)) + ",", '{"image_id": 1, "category_id": 1, "bbox": [1, 2]}', "]"]

    with pytest.raises(InvalidInputError, match=r"predictions\.json:3: entry 1 of the list: .*length 4"):
        measured(tmp_path, document([annotation(1, 1, BOX)]), "\n".join(lines))


@pytest.mark.parametrize("mode", ["strict", "coco"])
@pytest.mark.parametrize("scale", [lambda score: score - 2, lambda score: 100 * score, lambda score: -score - 1])
def test_scores_that_are_no_chances_count_in_their_order_and_are_named(tmp_path, scale, mode):
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX)])
    rows = [(1, BOX, 0.9), (1, FAR, 0.5), (2, FAR, 0.8), (2, BOX, 0.2)]
    order = [scale(score) for _, _, score in rows]
    ranks = sorted(order)
    plain = [
        result(image, box, 0.1 + 0.2 * ranks.index(score)) for (image, box, _), score in zip(rows, order, strict=True)
    ]
    said = [result(image, box, score) for (image, box, _), score in zip(rows, order, strict=True)]

    one, other = (measured(tmp_path, truth, found, mode=mode) for found in (plain, said))

    assert other.numbers == one.numbers
    assert (kinds(other)["score_outside_0_to_1"], other.calibration, other.bins) == (4, None, ())
    assert "score_outside_0_to_1" not in kinds(one)
    assert one.calibration is not None


def test_a_least_score_still_cuts_scores_under_it(tmp_path):
    truth = document([annotation(1, 1, BOX)])

    assert measured(tmp_path, truth, [result(1, BOX, -0.5), result(1, BOX, 0.5)], min_score=0.1).detections == 1


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_predictions_that_are_there_twice_count_twice_and_are_named(tmp_path, mode):
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX)])
    other = [result(1, BOX, 0.8), result(1, FAR, 0.9), result(1, BOX, 0.9, category=2)]

    once = measured(tmp_path, truth, [*FOUND, *other], mode=mode)
    again = measured(tmp_path, truth, [*FOUND, *other, *FOUND], mode=mode)

    assert "detection_twice" not in kinds(once)
    assert (kinds(again)["detection_twice"], again.detections) == (2, 7)


@pytest.mark.parametrize(("area", "odd"), [(0, 1), (-4, 1), (2500, 0), (52 * 52, 0), (52 * 52 + 1, 1), (0.02, 0)])
def test_a_stated_area_that_no_object_in_the_box_has_is_named(tmp_path, area, odd):
    truth = document([annotation(1, 1, BOX, area=area), annotation(2, 2, BOX, area=0, iscrowd=1)])

    assert kinds(measured(tmp_path, truth, FOUND)).get("truth_area_beyond_box", 0) == odd
