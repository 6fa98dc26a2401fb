import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.dota import dota_files, read_dota
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, count_in
from tests.shared_data import shared_data

LINE = "10 20 40 20 40 60 10 60 van 1"


def _files(text=LINE, **more):
    files = {"train/labelTxt/a.txt": text, **pictures("train/images/a.jpg", "train/images/b.jpg")}
    return InMemory(files | {path.replace("__", "/") + ".txt": value for path, value in more.items()})


def test_corners_become_the_box_around_them():
    labels = read_dota(_files("imagesource:GoogleEarth\ngsd:0.1\n30 10 50 40 30 70 10 40 small van 1"))

    assert boxes(labels) == [("train/images/a.jpg", "small van", 10, 10, 50, 70)]
    assert json.loads(labels.boxes["attributes"][0].as_py()) == {"difficult": True, "shape": "polygon"}
    assert labels.boxes["line"].to_pylist() == [3]


def test_an_empty_file_is_labeled_and_empty_and_no_file_is_unlabeled():
    files = _files(train__labelTxt__b="")
    files.files |= pictures("train/images/c.jpg")
    labels = read_dota(files)

    assert looked_for(labels) == dict.fromkeys(("train/images/a.jpg", "train/images/b.jpg"), ("van",))
    assert labels.notes == ("1 pictures are in no label file and stay unlabeled: train/images/c.jpg.",)


def test_the_labels_beside_settings_of_yolo_are_found_before_these():
    files = _files()
    files.files["data.yaml"] = "names: [van]\nnc: 1\ntrain: train/images\n"

    assert detect_formats(files)[0] == "dota"


@pytest.mark.parametrize(
    "text",
    [
        "0 0.5 0.5 0.1 0.1",
        "0 0.1 0.1 0.2 0.1 0.2 0.2 0.1 0.2",
        "Car 0.00 0 -10 10.00 10.00 30.00 30.00 -1 -1 -1 -1000 -1000 -1000 -10",
        "1,1,912,484,97,109,0,7,1",
        "1 2 3 4 5 6 7 8 9 10",
        "a.jpg 1 2 3 4 0 van",
        "",
    ],
)
def test_other_texts_are_not_taken_for_dota(text):
    assert dota_files(Sniffer(_files(text))) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("10 20 40 20 40 20 10 20 van 0", "label_bad_box"),
        ("10 20 40", "label_syntax"),
        ("nan 2 3 4 5 6 7 8 van 0", "label_syntax"),
    ],
)
def test_a_line_of_no_use_is_named_and_is_no_example_of_nothing_to_see(line, reason):
    labels = read_dota(_files(LINE, train__labelTxt__b=line))

    assert problems(labels) == [("train/labelTxt/b.txt", 1, reason)]
    assert list(looked_for(labels)) == ["train/images/a.jpg"]


def test_a_file_without_its_picture_loses_its_boxes_by_name():
    labels = read_dota(_files(LINE, train__labelTxt__gone=f"{LINE}\n{LINE}"))

    assert problems(labels) == [("train/labelTxt/gone.txt", None, "label_missing_picture")]
    assert labels.boxes_read == 3


def test_the_fixture_of_roboflow_has_the_boxes_of_its_lines():
    home = shared_data("fmt_datumaro") / "roboflow_dataset" / "yolo_obb"
    labels = read_dota(OnDisk(home))

    assert labels.boxes.num_rows == count_in(home, "**/*.txt", rb"label_\d 0") == 4
    assert boxes(labels)[0] == ("train/images/train_001.jpg", "label_0", 0, 0, 2, 2)
    assert len(looked_for(labels)) == 3
    assert detect_formats(OnDisk(home))[0] == "dota"
