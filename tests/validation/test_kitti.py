"""KITTI's levels, and what formats say of hidden and cut-off objects."""

import json

import polars as pl
import pyarrow as pa
import pytest

from driveflow import tables
from tests.validation.scenes import boxes_table, simple
from validation.model.box_facts import box_facts
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation


def _of(height: float, said: dict[str, object], found: list[tuple[str, str, tuple[float, ...], float]]) -> Evaluation:
    rows = boxes_table([("f", "car", (0.0, 0.0, 50.0, height))]).to_pylist()
    rows[0]["attributes"] = json.dumps(said)
    return evaluate(simple([], found, boxes=pa.Table.from_pylist(rows, tables.BOXES)))


@pytest.mark.parametrize(
    ("height", "occluded", "truncated", "levels"),
    [
        (40, 0, 0.15, [1, 1, 1]),
        (39.9, 0, 0.15, [0, 1, 1]),
        (40, 1, 0.15, [0, 1, 1]),
        (40, 0, 0.16, [0, 1, 1]),
        (25, 1, 0.30, [0, 1, 1]),
        (24.9, 1, 0.30, [0, 0, 0]),
        (25, 2, 0.30, [0, 0, 1]),
        (25, 1, 0.31, [0, 0, 1]),
        (25, 2, 0.50, [0, 0, 1]),
        (25, 2, 0.51, [0, 0, 0]),
    ],
)
def test_height_occlusion_and_truncation_decide_from_which_level_on_an_object_counts(
    height, occluded, truncated, levels
):
    evaluation = _of(height, {"occluded": occluded, "truncated": truncated}, [("f", "bus", (0, 0, 9, 9), 0.1)])

    assert [part.level.name for part in evaluation.kitti] == ["easy", "moderate", "hard"]
    assert [part.objects for part in evaluation.kitti] == levels
    assert [part.ignored for part in evaluation.kitti] == [1 - count for count in levels]


def test_who_found_an_object_of_another_level_and_who_is_too_low_are_not_wrong():
    found = [("f", "car", (0, 0, 50, 50), 0.9), ("f", "car", (200, 0, 210, 24), 0.95)]

    easy, moderate, _ = _of(50, {"occluded": 1, "truncated": 0}, found).kitti

    assert (easy.ap, moderate.ap) == ((None, None), (pytest.approx(1.0), pytest.approx(1.0)))


def test_a_false_detection_as_high_as_the_level_asks_is_wrong():
    found = [("f", "car", (0, 0, 50, 50), 0.9), ("f", "car", (200, 0, 210, 30), 0.95)]

    easy, moderate, _ = _of(50, {"occluded": 0, "truncated": 0}, found).kitti

    assert (easy.ap[0], moderate.ap[0]) == (pytest.approx(1.0), pytest.approx(0.5))


def test_the_overlap_that_is_asked_of_cars_is_told_beside_that_of_pedestrians():
    (easy, *_) = _of(50, {"occluded": 0, "truncated": 0}, [("f", "car", (0, 0, 50, 30), 0.9)]).kitti

    assert easy.ap == (pytest.approx(1.0), pytest.approx(0.0))


def test_without_a_word_on_occlusion_and_truncation_there_are_no_levels():
    assert _of(50, {"occluded": 0}, [("f", "car", (0, 0, 50, 50), 0.9)]).kitti == ()
    assert _of(50, {}, [("f", "car", (0, 0, 50, 50), 0.9)]).kitti == ()


@pytest.mark.parametrize(
    ("said", "occlusion"),
    [
        ({"occluded": False}, 0),
        ({"occluded": True}, 2),
        ({"occluded": 1}, 1),
        ({"occluded": 3, "visibility": "unknown"}, None),
        ({"occluded": "partially"}, 1),
        ({"visibility": "v80-100"}, 0),
        ({"visibility": "v0-40"}, 2),
        ({"visibility": 0.8}, 0),
        ({"visibility": 0.5}, 1),
        ({"visibility": 0.1}, 2),
        ({"visibility": "hazy"}, None),
        ({"truncated": 0.5}, None),
    ],
)
def test_formats_words_for_hidden_objects_become_kittis_levels(said, occlusion):
    found = box_facts(pl.Series([json.dumps(said)])).occlusion[0]

    assert (None if found != found else found) == occlusion  # noqa: PLR0124 not a number is not itself


def test_boxes_that_say_nothing_have_no_facts_and_the_rows_of_others_stay_in_place():
    facts = box_facts(pl.Series(["{}", '{"truncated":true}', None, '{"distance_m":7,"difficult":true}']))

    assert facts.truncation.tolist()[1] == 0.5
    assert facts.distance_m.tolist()[3] == 7.0
    assert facts.difficult.tolist() == [False, False, False, True]
    assert box_facts(pl.Series(["{}", '{"track_id":"7"}'])) is None
