"""Kinds of mistakes: the made set's construction, each kind by hand, and the laws of their sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared_data import shared_data
from tests.validation.scenes import boxes_table, from_coco, random_coco, read_json, simple, square
from validation.model.errors import KINDS, ErrorKind
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation
from validation.model.match import NONE

CAR = ("f", "car", (0.0, 0.0, 100.0, 100.0))


def _kinds(evaluation: Evaluation, *, shown: bool = False) -> dict[ErrorKind, int]:
    tally = evaluation.errors.shown if shown else evaluation.errors.every
    return {kind: tally.of(kind) for kind in KINDS if tally.of(kind)}


def test_the_made_set_shows_what_was_made_of_it():
    """24 were kept, 30 shifted, 15 missed, 13 given a wrong class, 11 doubled, 8 invented."""
    folder = shared_data("eval_made")
    made = read_json(folder / "expected.json")["construction"]

    evaluation = evaluate(from_coco(read_json(folder / "gt.json"), read_json(folder / "pred.json")))

    kinds = _kinds(evaluation)
    assert int(evaluation.matches.right()[0].sum()) == made["kept_exact"] + made["kept_shifted"]
    assert kinds["Miss"] == made["missed"]
    assert kinds["Cls"] == made["wrong_class"]
    assert kinds["Dupe"] == made["duplicate"]  # one doubles a box of a wrong class, and doubles that mistake
    # One of the invented boxes happens to overlap an object of another class, by 0.13.
    assert (kinds["Bkg"], kinds["Both"]) == (made["false_positive"] - 1, 1)
    assert evaluation.errors.every.explained == made["wrong_class"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (("f", "bus", (0, 0, 100, 100), 0.9), {"Cls": 1}),
        (("f", "bus", (0, 0, 100, 50), 0.9), {"Cls": 1}),
        (("f", "bus", (0, 0, 100, 49), 0.9), {"Both": 1, "Miss": 1}),
        (("f", "bus", (0, 0, 100, 10), 0.9), {"Both": 1, "Miss": 1}),
        (("f", "bus", (0, 0, 100, 9), 0.9), {"Bkg": 1, "Miss": 1}),
        (("f", "car", (0, 0, 100, 49), 0.9), {"Loc": 1}),
        (("f", "car", (0, 0, 100, 10), 0.9), {"Loc": 1}),
        (("f", "car", (0, 0, 100, 9), 0.9), {"Bkg": 1, "Miss": 1}),
        (("f", "car", (0, 0, 100, 50), 0.9), {}),
    ],
)
def test_the_overlap_and_the_class_decide_the_kind_from_each_limit_on(found, expected):
    assert _kinds(evaluate(simple([CAR], [found]))) == expected


def test_a_second_detection_of_an_object_is_a_duplicate_whether_the_class_is_right_or_wrong():
    right = [("f", "car", CAR[2], 0.9), ("f", "car", CAR[2], 0.8)]
    wrong = [("f", "bus", CAR[2], 0.9), ("f", "bus", CAR[2], 0.8)]

    assert _kinds(evaluate(simple([CAR], right))) == {"Dupe": 1}
    assert _kinds(evaluate(simple([CAR], wrong))) == {"Cls": 1, "Dupe": 1}


def test_of_several_objects_the_one_overlapped_most_names_the_mistake():
    truth = [CAR, ("f", "bus", (0.0, 0.0, 100.0, 60.0))]
    found = [("f", "car", CAR[2], 0.9), ("f", "car", (0, 0, 100, 62), 0.8)]  # 0.97 of the bus, 0.62 of the car

    evaluation = evaluate(simple(truth, found))

    assert _kinds(evaluation) == {"Cls": 1}
    assert evaluation.errors.about[evaluation.errors.kind != NONE].tolist() == [0]


def test_what_lies_in_an_ignore_region_is_no_mistake():
    region = boxes_table([("f", "car", (200, 200, 300, 300))], ignore=True)

    assert _kinds(evaluate(simple([], [("f", "car", square(220, 220), 0.9)], boxes=region))) == {}


def test_mistakes_under_the_operating_score_are_counted_but_not_shown():
    found = [("f", "car", CAR[2], 0.9), ("f", "car", (500, 500, 600, 600), 0.1)]

    evaluation = evaluate(simple([CAR], found))

    assert (_kinds(evaluation), _kinds(evaluation, shown=True)) == ({"Bkg": 1}, {})


def test_mending_a_wrong_class_adds_what_the_class_lost():
    truth = [("a", "car", CAR[2]), ("b", "car", CAR[2])]
    found = [("a", "car", CAR[2], 0.9), ("b", "bus", CAR[2], 0.8)]

    delta = evaluate(simple(truth, found)).delta_ap

    assert delta.ap50 == pytest.approx(51 / 101)  # recalls 0 to 0.5 of 101
    assert delta.of("Cls") == pytest.approx(50 / 101)
    assert (delta.of("Loc"), delta.of("Bkg"), delta.false) == (pytest.approx(0), pytest.approx(0), pytest.approx(0))
    assert delta.missed == pytest.approx(50 / 101)


def test_mending_boxes_duplicates_and_background_gives_full_marks_where_nothing_else_is_wrong():
    truth = [("a", "car", CAR[2])]
    loose = [("a", "car", (0, 0, 100, 40), 0.8)]
    twice = [("a", "car", CAR[2], 0.8), ("a", "car", CAR[2], 0.9)]
    beside = [("a", "car", CAR[2], 0.8), ("a", "car", (500, 500, 600, 600), 0.9)]

    of_boxes, of_twice, of_beside = (evaluate(simple(truth, found)).delta_ap for found in (loose, twice, beside))

    assert (of_boxes.ap50, of_boxes.of("Loc")) == (0.0, pytest.approx(1.0))
    assert (of_twice.ap50, of_twice.of("Dupe")) == (pytest.approx(1.0), pytest.approx(0.0))
    assert (of_beside.ap50, of_beside.of("Bkg")) == (pytest.approx(0.5), pytest.approx(0.5))


def test_objects_that_nobody_saw_cost_what_their_class_lacks_even_where_none_is_left():
    truth = [("a", "car", CAR[2]), ("b", "car", CAR[2]), ("a", "bus", (300, 300, 400, 400))]

    delta = evaluate(simple(truth, [("a", "car", CAR[2], 0.9)])).delta_ap

    assert delta.of("Miss") == pytest.approx((1.0 + 50 / 101) / 2)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_kinds_add_up_to_wrong_detections_and_missed_objects_and_deltas_start_from_ap50(seed):
    truth, predictions = random_coco(seed)

    evaluation = evaluate(from_coco(truth, predictions))

    errors, matches = evaluation.errors, evaluation.matches
    wrong, objects = int(matches.wrong()[0].sum()), evaluation.objects
    right = int(matches.right()[0].sum())
    assert sum(errors.every.of(kind) for kind in KINDS[:5]) == wrong == int((errors.kind != NONE).sum())
    assert errors.every.of("Miss") + errors.every.explained == objects - right
    points = [part.point for part in evaluation.per_class]
    assert sum(errors.shown.of(kind) for kind in KINDS[:5]) == sum(point.false for point in points)
    assert errors.shown.of("Miss") + errors.shown.explained == sum(point.missed for point in points)
    if objects:
        assert evaluation.delta_ap.ap50 == pytest.approx(evaluation.numbers["AP50"], abs=1e-9)
        assert all(found >= -1e-12 for found in (evaluation.delta_ap.false, evaluation.delta_ap.of("Bkg")))


@settings(max_examples=8)
@given(st.integers(0, 2**32))
def test_the_order_of_the_tables_changes_no_kind(seed):
    truth, predictions = random_coco(seed)
    rng = np.random.default_rng(seed)
    annotations = truth["annotations"]
    turned = truth | {"annotations": [annotations[row] for row in rng.permutation(len(annotations))]}

    first = evaluate(from_coco(truth, predictions))
    second = evaluate(from_coco(turned, [predictions[row] for row in rng.permutation(len(predictions))]))

    assert first.errors.every.counts.tolist() == second.errors.every.counts.tolist()
    assert first.errors.shown.counts.tolist() == second.errors.shown.counts.tolist()
    assert first.delta_ap.kinds == pytest.approx(second.delta_ap.kinds, nan_ok=True, abs=1e-12)
    assert first.calibration == second.calibration
    assert (first.voc, first.false_alarms) == (second.voc, second.false_alarms)
