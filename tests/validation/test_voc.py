"""PASCAL VOC's average precision: published values, and vectors worked by hand."""

from pathlib import Path

import pytest

from tests.shared_data import shared_data
from tests.validation.scenes import boxes_table, read_json, simple, square
from validation.model.build_scene import build_scene
from validation.model.evaluate import evaluate
from validation.model.nearest import find_nearest
from validation.model.precision import by_falling_score
from validation.model.scene import EvaluationRequest
from validation.model.voc import Voc, voc


def _voc(request: EvaluationRequest, overlaps: tuple[float, ...] = (0.5,)) -> tuple[Voc, ...]:
    scene = build_scene(request)
    nearest = find_nearest(scene, ~scene.truth.ignore)
    return voc(scene, nearest, by_falling_score(scene), overlaps)


def _rows(folder: Path, *, scored: bool) -> list[tuple[object, ...]]:
    """The rows of upstream's files: class, score, x, y, width, height; it counts both edges, so a side is one more."""
    rows = []
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text("utf-8").split("\n"):
            if line.strip():
                name, *values = line.split()
                score, (x, y, width, height) = (values[:1] if scored else []), map(float, values[-4:])
                corners = (x, y, x + width + 1, y + height + 1)
                rows.append((path.stem, name, corners, *map(float, score)))
    return rows


def test_upstreams_seven_pictures_give_its_values_by_both_rules_at_each_overlap():
    folder = shared_data("eval_padilla")
    expected = read_json(folder / "expected.json")["test_case_1"]
    truth, found = (_rows(folder / "test_case_1" / part, scored=part == "dets") for part in ("gts", "dets"))
    overlaps = tuple(map(float, expected["method_11_point"]))

    results = _voc(simple(truth, found, classes=("object",), mode="coco"), overlaps)

    assert {f"{one.overlap:g}": one.eleven_point for one in results} == pytest.approx(
        expected["method_11_point"], abs=1e-9
    )
    assert {f"{one.overlap:g}": one.every_point for one in results} == pytest.approx(
        expected["method_every_point"], abs=1e-9
    )


def test_two_right_then_a_wrong_then_a_right_one_of_four_objects():
    truth = [("f", "car", square(100 * number)) for number in range(4)]
    found = [
        ("f", "car", square(0), 0.9),
        ("f", "car", square(100), 0.8),
        ("f", "car", square(1000), 0.7),
        ("f", "car", square(200), 0.6),
    ]

    (result,) = _voc(simple(truth, found))

    # Recall 1/4, 2/4, 2/4, 3/4; precision 1, 1, 2/3, 3/4. Recalls 0 to 0.5 have 1, 0.6 and 0.7 have 3/4, the rest 0.
    assert result.eleven_point == pytest.approx((6 * 1 + 2 * 0.75) / 11)
    assert result.every_point == pytest.approx(0.5 * 1 + 0.25 * 0.75)


def test_a_detection_looks_at_the_object_it_overlaps_most_even_where_that_is_taken():
    truth = [("f", "car", (0, 0, 10, 10)), ("f", "car", (4, 0, 14, 10))]
    found = [("f", "car", (0, 0, 10, 10), 0.9), ("f", "car", (1, 0, 11, 10), 0.8)]

    (result,) = _voc(simple(truth, found))

    assert result.every_point == pytest.approx(0.5)


def test_of_equal_scores_the_order_decides_in_mode_coco_and_none_in_mode_strict():
    truth = [("a", "car", square(0)), ("b", "car", square(0))]
    found = [("a", "car", square(0), 0.5), ("b", "car", square(500), 0.5)]

    (in_order,), (together,) = (_voc(simple(truth, found, mode=mode)) for mode in ("coco", "strict"))

    assert in_order.every_point == pytest.approx(0.5)
    assert together.every_point == pytest.approx(0.25)


def test_a_difficult_object_is_neither_missed_nor_found_and_what_lies_in_a_region_is_not_wrong():
    boxes = boxes_table([("f", "car", square(0)), ("f", "car", square(100)), ("f", "car", (200, 0, 300, 100))])
    rows = boxes.to_pylist()
    rows[1]["attributes"], rows[2]["ignore"] = '{"difficult":true}', True
    found = [
        ("f", "car", square(100), 0.95),
        ("f", "car", square(101), 0.94),
        ("f", "car", square(220, 20), 0.93),
        ("f", "car", square(0), 0.9),
    ]

    (result,) = _voc(simple([], found, boxes=boxes.from_pylist(rows, boxes.schema)))

    assert (result.every_point, result.per_class[1].objects) == (pytest.approx(1.0), 1)


def test_an_evaluation_tells_vocs_numbers_and_none_where_there_is_no_object():
    evaluation = evaluate(
        simple([("f", "car", square(0))], [("f", "car", square(0), 0.9), ("f", "bus", square(0), 0.9)])
    )

    (result,) = evaluation.voc
    assert (result.overlap, result.eleven_point) == (0.5, pytest.approx(1.0))
    assert [part.every_point for part in result.per_class] == [None, pytest.approx(1.0)]
