"""What LVIS says of a picture, in an evaluation and in an import."""

import json

import pytest

from driveflow.formats.coco import read_coco
from tests.driveflow.formats.in_memory import InMemory, looked_for, pictures
from tests.validation.coco_files import annotation, document, kinds, measured, result
from validation.inputs.coco_document import read_document

CAR, BUS, FAR = (10, 10, 50, 50), (200, 10, 50, 50), (900, 10, 50, 50)


def _lvis(annotations, *said):
    """A document whose images say these `neg_category_ids` and `not_exhaustive_category_ids`."""
    truth = document(annotations, images=len(said))
    for image, (negative, open_) in zip(truth["images"], said, strict=True):
        image |= {"neg_category_ids": negative, "not_exhaustive_category_ids": open_}
    return truth


def test_a_class_of_lvis_counts_where_it_is_labeled_or_said_not_to_be_there(tmp_path):
    car, bus = (10, 10, 50, 50), (200, 10, 50, 50)
    truth = document([annotation(1, 1, car), annotation(2, 3, bus, category_id=2)], images=4)
    for image, said in zip(truth["images"], ([2], [], [], None), strict=True):
        image |= {"neg_category_ids": said, "not_exhaustive_category_ids": [1] if image["id"] == 1 else []}
    found = [result(image, bus, 0.9, 2) for image in (1, 2, 3)]

    evaluation = measured(tmp_path, truth, [*found, result(1, car), result(4, car)])
    numbers = {part.class_name: part.numbers["AP50"] for part in evaluation.per_class}
    as_coco = measured(tmp_path, truth, [*found, result(1, car), result(4, car)], mode="coco")

    assert kinds(evaluation)["detection_of_unannotated_class"] == 1  # the bus in image 2, which says nothing of buses
    assert kinds(evaluation)["classes_not_exhaustive"] == 1
    assert evaluation.detections == 4
    assert numbers == pytest.approx({"car": 0.5, "bus": 0.5})  # false: the bus in image 1, the car in image 4
    assert as_coco.detections == 5


def test_what_is_found_of_a_class_that_is_not_labeled_to_the_end_is_right_or_nothing(tmp_path):
    truth = _lvis([annotation(1, 1, CAR), annotation(2, 1, BUS, category_id=2), annotation(3, 2, CAR)],
                  ([], [1]), ([], []))  # fmt: skip
    found = [result(1, FAR, 0.9), result(1, CAR, 0.8), result(1, FAR, 0.9, 2), result(1, BUS, 0.8, 2), result(2, CAR)]

    strict, as_coco = (measured(tmp_path, truth, found, mode=mode) for mode in ("strict", "coco"))
    missed = measured(tmp_path, truth, [result(1, FAR, 0.9), result(2, CAR)])

    assert {part.class_name: part.numbers["AP50"] for part in strict.per_class} == pytest.approx({"car": 1, "bus": 0.5})
    assert as_coco.per_class[0].numbers["AP50"] < 1
    assert missed.per_class[0].numbers["AR100"] == 0.5
    assert kinds(strict)["classes_not_exhaustive"] == kinds(as_coco)["classes_not_exhaustive"] == 1
    assert "truth_of_unannotated_class" not in kinds(strict)


def test_an_import_looks_for_the_classes_of_an_evaluation_but_for_those_not_labeled_to_the_end(tmp_path):
    boxes = [annotation(1, 1, CAR), annotation(2, 2, BUS, category_id=2), annotation(3, 3, CAR)]
    truth = _lvis(boxes, ([2], []), ([], [2]), ([], [2]), (None, None), ([1], None))
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    names = [image["file_name"] for image in truth["images"]]

    labels = read_coco(InMemory({"truth.json": json.dumps(truth), **pictures(*names)}))
    given = read_document(tmp_path / "truth.json", scored=False)

    evaluated = {name: {one for one, looked in zip(("car", "bus"), row, strict=True) if looked}
                 for name, row in zip(names, given.looked.tolist(), strict=True)}  # fmt: skip
    more = {"2.jpg": {"bus"}, "3.jpg": {"bus"}}  # may be there without a box: no negative, and nothing found is wrong
    assert {name: set(classes) for name, classes in looked_for(labels).items()} == {
        name: classes - more.get(name, set()) for name, classes in evaluated.items() if classes - more.get(name, set())
    }
    assert evaluated == {
        "1.jpg": {"car", "bus"},
        "2.jpg": {"bus"},
        "3.jpg": {"car"},
        "4.jpg": {"car", "bus"},
        "5.jpg": {"car"},
    }
