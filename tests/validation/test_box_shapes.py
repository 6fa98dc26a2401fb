"""Boxes that are written as corners, centres or shares where COCO has x, y, width and height are doubted by name."""

from dataclasses import replace

import numpy as np
import pytest

from tests.shared_data import shared_data
from tests.validation.coco_files import annotation, document, kinds, measured, result
from validation.inputs.box_shapes import doubtful_shapes
from validation.inputs.coco_document import read_document

SIDE = 400


def _boxes(seed=1, count=60):
    """Honest boxes, x, y, width and height, of which some reach out of their picture as unclipped detections do."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(5, 160, (count, 2))
    return np.column_stack([rng.uniform(-10, SIDE + 10 - size), size])


def _corners(box):
    return np.column_stack([box[:, :2], box[:, :2] + box[:, 2:]])


def _centres(box):
    return np.column_stack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]])


def _shares(box):
    return _centres(box) / SIDE


def _inside(box):
    low, high = np.clip(box[:, :2], 0, SIDE), np.clip(box[:, :2] + box[:, 2:], 0, SIDE)
    return np.column_stack([low, high - low])


def _truth(box, **changes):
    truth = document([annotation(n, 1, row.tolist()) for n, row in enumerate(box, start=1)])
    return {**truth, "images": [{**image, "width": SIDE, **changes} for image in truth["images"]]}


def _said(box):
    return [result(1, row.tolist(), 0.9 - n / 1_000) for n, row in enumerate(box)]


@pytest.mark.parametrize(("written", "name"), [(_corners, "corners"), (_centres, "centres"), (_shares, "shares")])
@pytest.mark.parametrize("side", ["truth", "detection"])
def test_boxes_that_are_written_in_another_way_are_counted_as_they_stand_and_doubted(tmp_path, written, name, side):
    box = _inside(_boxes())
    other = written(box)

    pair = (other, box) if side == "truth" else (box, other)
    evaluation = measured(tmp_path, _truth(pair[0]), _said(pair[1]))

    told = {item.kind: item for item in evaluation.corrections}
    assert f"{side}_boxes_may_be_{name}" in told
    assert evaluation.numbers["AP50"] < 0.7
    assert told[f"{side}_boxes_may_be_{name}"].done.startswith("counted as")
    assert f"{side.replace('detection', 'prediction')}" in told[f"{side}_boxes_may_be_{name}"].examples[0]


def test_where_nobody_says_how_large_pictures_are_the_boxes_of_the_truth_tell_it(tmp_path):
    box = _inside(_boxes())
    truth = _truth(box, width=None, height=None)

    assert kinds(measured(tmp_path, truth, _said(_corners(box))))["detection_boxes_may_be_corners"] > 10
    assert "detection_boxes_may_be_corners" not in kinds(measured(tmp_path, truth, _said(box)))


@pytest.mark.parametrize("seed", range(20))
def test_boxes_that_only_reach_out_of_their_pictures_are_not_doubted(tmp_path, seed):
    box = _boxes(seed)

    told = "".join(kinds(measured(tmp_path, _truth(box), _said(box))))
    assert "may_be" not in told
    assert "leave_pictures" not in told


@pytest.mark.parametrize(
    ("scale", "name"), [(0.4, "boxes_may_be_scaled"), (0.7, "boxes_may_be_scaled"), (2.5, "boxes_leave_pictures")]
)
def test_boxes_of_pictures_of_another_size_are_doubted(tmp_path, scale, name):
    box = _inside(_boxes())
    evaluation = measured(tmp_path, _truth(box), _said(scale * box))

    assert f"detection_{name}" in kinds(evaluation)
    assert evaluation.numbers["AP50"] < 0.5


def test_objects_of_pictures_whose_sides_are_exchanged_are_doubted(tmp_path):
    box = _inside(_boxes()) * (2.0, 0.5, 2.0, 0.5)
    truth = _truth(box)
    truth["images"] = [{**image, "width": SIDE / 2, "height": 2 * SIDE} for image in truth["images"]]

    told = kinds(measured(tmp_path, truth, _said(box)))

    assert {"truth_boxes_leave_pictures", "detection_boxes_leave_pictures"} <= set(told)


def test_of_two_boxes_nothing_is_said(tmp_path):
    box = _inside(_boxes())

    assert "may_be" not in "".join(kinds(measured(tmp_path, _truth(box), _said(_corners(box)[:2]))))


@pytest.mark.parametrize(
    "path",
    [
        "det_coco_ccby/instances.json",
        "eval_faster_coco/instances_val2014_100.json",
        "eval_made/gt.json",
        "fmt_same_truth/coco/annotations/instances_default.json",
        "seq_udacity_shadow/annotations_coco.json",
    ],
)
def test_boxes_of_real_sets_are_not_doubted_and_their_corners_are(path):
    folder, _, rest = path.partition("/")
    given = read_document(shared_data(folder) / rest, scored=False)
    corners = replace(given.boxes, size=given.boxes.corners[:, 2:].copy())

    assert doubtful_shapes(given, given.boxes, "truth") == []
    assert [item.kind for item in doubtful_shapes(given, corners, "truth")] == ["truth_boxes_may_be_corners"]


def test_a_picture_whose_sides_are_zero_says_nothing_of_how_far_objects_reach(tmp_path):
    box = _inside(_boxes())
    truth = _truth(box)
    truth["images"].append({"id": 7, "file_name": "7.jpg", "width": 0, "height": 0})
    truth["annotations"].append(annotation(1_000, 7, [10.0, 10.0, 20.0, 20.0]))

    assert "detection_boxes_may_be_scaled" in kinds(measured(tmp_path, truth, _said(0.5 * box)))
