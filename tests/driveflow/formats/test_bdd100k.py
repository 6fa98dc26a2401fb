import json

import pytest

from driveflow.formats.bdd100k import bdd100k_files, read_bdd100k
from driveflow.formats.bdd100k_names import CLASSES_2018, CLASSES_2020
from driveflow.formats.detect import detect_formats
from driveflow.formats.scalabel import scalabel_files
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, found_rows, truth_rows
from tests.shared_data import shared_data

DAY = {"weather": "clear", "scene": "highway", "timeofday": "daytime"}
NAME = "0000f77c-6257be58.jpg"


def _label(category="car", box=(1, 2, 30, 40), **more):
    return {"category": category, "box2d": dict(zip(("x1", "y1", "x2", "y2"), box, strict=True)), "id": 7, **more}


def _frame(name=NAME, **more):
    return {"name": name, "attributes": DAY, "timestamp": 10000, "labels": [_label()], **more}


def _files(document, *names, path="labels.json"):
    return InMemory({path: json.dumps(document), **pictures(*(names or (NAME,)))})


def _read(document, *names, **more):
    return read_bdd100k(_files(document, *names, **more))


def _attributes(labels, row=0):
    return json.loads(labels.boxes["attributes"][row].as_py())


@pytest.mark.parametrize(
    "document",
    [
        [_frame()],
        {"frames": [_frame()]},
        {"frames": {"first": _frame()}},
        {"name": NAME[:-4], "attributes": DAY, "frames": [{"timestamp": 10000, "objects": [_label()]}]},
    ],
    ids=["list", "dict", "dict of frames", "one picture a file"],
)
def test_ac_b15_a_list_and_a_dict_of_frames_are_told_by_content_and_say_the_same(document):
    files = _files(document)

    assert bdd100k_files(Sniffer(files)) == ["labels.json"]
    assert detect_formats(files) == ["bdd100k"]
    assert boxes(read_bdd100k(files)) == [(NAME, "car", 1, 2, 30, 40)]


def test_ac_b14_pictures_that_the_file_of_2018_does_not_list_stay_unlabeled_and_are_counted():
    labels = _read([_frame()], NAME, "b.jpg", "c.jpg")

    assert list(looked_for(labels)) == [NAME]
    assert labels.notes == ("2 pictures are in no label file and stay unlabeled: b.jpg, c.jpg.",)


@pytest.mark.parametrize("said", [{"labels": []}, {"labels": None}, {}], ids=["empty", "null", "no key"])
def test_a_listed_picture_without_labels_was_looked_at_and_is_empty(said):
    frame = {"name": NAME, "attributes": DAY, "timestamp": 10000, **said}

    assert list(looked_for(_read([frame, _frame("b.jpg")], NAME, "b.jpg"))) == [NAME, "b.jpg"]


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        (_label("person"), CLASSES_2018),
        (_label("car", manualShape=True), CLASSES_2018),
        (_label("pedestrian"), CLASSES_2020),
        (_label("car"), CLASSES_2020),
        (_label("other person"), CLASSES_2020),
    ],
)
def test_the_ten_classes_of_the_edition_were_looked_for(label, classes):
    assert looked_for(_read([_frame(labels=[label])])) == {NAME: classes}


@pytest.mark.parametrize(
    ("category", "name"), [("other person", "pedestrian"), ("other vehicle", "car"), ("trailer", "truck")]
)
def test_what_the_evaluation_of_2020_ignores_is_an_ignore_region_of_the_class_it_is_ignored_for(category, name):
    labels = _read([_frame(labels=[_label(category)])])

    assert labels.boxes["ignore"].to_pylist() == [True]
    assert boxes(labels)[0][1] == name
    assert _attributes(labels)["category"] == category


def test_lanes_and_drivable_areas_are_no_boxes_and_are_counted():
    line = {"vertices": [[1, 1], [9, 9]], "types": "LL", "closed": False}
    area = {"vertices": [[1, 1], [9, 9], [1, 9]], "types": "LLL", "closed": True}
    labels = _read(
        [
            _frame(
                labels=[
                    _label(),
                    {"category": "lane", "poly2d": [line]},
                    {"category": "area/drivable", "poly2d": [area]},
                ]
            )
        ]
    )

    assert labels.boxes.num_rows == labels.boxes_read == 1
    assert labels.notes == ("2 lanes and areas of the road: left out, they are no boxes.",)


def test_the_time_of_day_keeps_its_slash_and_undefined_is_no_value():
    said = {"weather": "undefined", "scene": "city street", "timeofday": "dawn/dusk"}
    labels = _read([_frame(attributes=said)])

    assert json.loads(labels.images["attributes"][0].as_py()) == {"scene": "city street", "time_of_day": "dawn/dusk"}


def test_a_picture_listed_twice_is_two_listings_and_no_overwrite():
    labels = _read([_frame(), _frame(labels=[_label("truck")])])

    assert labels.images["listing"].to_pylist() == labels.boxes["listing"].to_pylist() == [0, 1]
    assert "lists 1 pictures more than once" in labels.notes[0]


def test_the_timestamp_counts_from_the_start_of_the_video_that_the_name_tells():
    image = _read([_frame()]).images.to_pylist()[0]

    assert (image["captured_ns"], image["clock"]) == (10_000_000_000, "drive_relative")
    assert image["drive"] == NAME[:-4]


def test_a_name_that_is_no_video_makes_no_drive():
    assert _read([_frame("shadow_000120.jpg")], "shadow_000120.jpg").images["drive"].to_pylist() == [""]


def test_flags_are_kept_and_the_colour_of_a_lamp_only_on_lamps():
    said = {"occluded": True, "truncated": False, "trafficLightColor": "none"}
    labels = _read([_frame(labels=[_label(attributes=said), _label("traffic light", attributes=said)])])

    assert _attributes(labels, 0) == {"occluded": True, "truncated": False}
    assert _attributes(labels, 1) == said


def test_the_set_of_100k_pictures_is_meant_where_the_set_of_10k_has_the_name_too():
    names = [f"images/{size}/train/{NAME}" for size in ("100k", "10k")]
    labels = _read([_frame()], *names, path="labels/det_20/det_train.json")

    assert boxes(labels)[0][0] == names[0]
    assert labels.images["source_split"].to_pylist() == ["train"]


def test_a_picture_that_is_not_there_loses_its_boxes_by_name():
    labels = _read([_frame("gone.jpg", labels=[_label(), _label("bus")])], NAME)

    assert problems(labels) == [("labels.json", None, "label_missing_picture")]
    assert labels.problems[0].boxes == labels.boxes_read == 2


def test_other_classes_or_videos_make_it_plain_scalabel():
    for frame in (_frame(labels=[_label("ambulance")]), _frame(videoName="clip")):
        sniffer = Sniffer(_files([frame]))

        assert (bdd100k_files(sniffer), scalabel_files(sniffer)) == ([], ["labels.json"])


def test_the_truth_comes_back_exactly_as_bdd100k_keeps_its_decimals():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "bdd100k_2018")
    labels = read_bdd100k(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    classes = json.loads((home / "class_maps.json").read_text())["bdd100k_2018"]
    assert_same_boxes(found_rows(labels), truth_rows(truth, classes=classes), within_px=1e-9)
    assert set(looked_for(labels).values()) == {CLASSES_2018}
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()
    assert labels.notes == ("3 lanes and areas of the road: left out, they are no boxes.",)
    assert detect_formats(files) == ["bdd100k"]
