"""The files of each format as its own tools expect them."""

import json
import tracemalloc
from dataclasses import replace

import pytest
from defusedxml import ElementTree

from driveflow import tables as columns
from driveflow.formats.frame_walk import FrameWalk
from driveflow.formats.writers import WRITERS
from tests.driveflow.formats.exports import SIZE, box, export_of, frame, ignored

A, EMPTY, UNLABELED, VAL = frame(0), frame(1), frame(2, annotated=()), frame(3, "val")
BOXES = [
    box(A, "a", attributes={"track_id": "7", "occluded": True}),
    box(A, "b", "truck", (0.0, 0.0, 1 / 3, 48.0)),
    *ignored(A),
    box(VAL, "a", attributes={"track_id": "7"}),
    box(VAL, "p", score=0.5),
]


@pytest.fixture
def export():
    return export_of([A, EMPTY, UNLABELED, VAL], BOXES, drives=["north"] * 4)


def _write(export, name, folder):
    WRITERS[name].write(export, folder)
    return folder


def _json(path):
    return json.loads(path.read_bytes())


def test_ac_b4_ids_are_unique_and_dense_in_every_format_that_has_ids(export, tmp_path):
    coco = [_json(path) for path in sorted((_write(export, "coco", tmp_path / "coco") / "annotations").iterdir())]
    tasks = [task for split in ("train", "val") for task in _json(_write(export, "label_studio", tmp_path / "ls") /
             f"tasks_{split}.json")]  # fmt: skip
    cvat = ElementTree.parse(_write(export, "cvat", tmp_path / "cvat") / "annotations.xml").getroot()
    scene = _json(_write(export, "openlabel", tmp_path / "ol") / "openlabel_train.json")["openlabel"]
    listed = [frame for split in ("train", "val") for frame in
              _json(_write(export, "scalabel", tmp_path / "s") / "labels" / f"det_{split}.json")["frames"]]  # fmt: skip

    assert sorted({image["id"] for file in coco for image in file["images"]}) == [1, 2, 3, 4]
    assert sorted(entry["id"] for file in coco for entry in file["annotations"]) == [1, 2, 3, 4, 5, 6, 7]
    assert [task["id"] for task in tasks] == [1, 2, 3, 4]
    work = [entry["id"] for task in tasks for kind in ("annotations", "predictions") for entry in task[kind]]
    assert sorted(work) == list(range(1, len(work) + 1))
    assert [image.get("id") for image in cvat.iter("image")] == ["1", "2", "3"]
    assert sorted(map(int, scene["objects"])) == [1, 2, 3, 4, 5]
    assert len({frame["name"] for frame in listed}) == len(listed) == 4
    ids = [[label["id"] for label in frame["labels"] or ()] for frame in listed]
    assert [len(set(own)) for own in ids] == [len(own) for own in ids]


def test_predictions_never_stand_among_the_truth(export, tmp_path):
    home = _write(export, "coco", tmp_path / "coco") / "annotations"
    assert all("score" not in entry for entry in _json(home / "instances_val.json")["annotations"])
    assert [entry["score"] for entry in _json(home / "predictions_val.json")["annotations"]] == [0.5]
    assert not (home / "predictions_train.json").exists()
    labels = _write(export, "scalabel", tmp_path / "s") / "labels"
    assert [len(item["labels"]) for item in _json(labels / "det_val.json")["frames"]] == [1]


def test_kitti_lines_have_fifteen_columns_and_minus_one_for_what_is_not_known(export, tmp_path):
    home = _write(export, "kitti", tmp_path / "kitti") / "train" / "label_2"
    lines = (home / f"{A['frame_id']}.txt").read_text().splitlines()

    assert lines[0] == "car -1 -1 -10 10.25 5.50 30.75 20.00 -1 -1 -1 -1000 -1000 -1000 -10"
    assert lines[1].split()[4:8] == ["0.00", "0.00", "0.333333", "48.00"]
    assert lines[2].split()[0] == "DontCare"
    assert len(lines) == 3
    assert all(len(line.split()) == 15 for line in lines)


def test_a_yes_or_no_is_written_as_a_number_in_kitti_where_that_says_the_same(tmp_path):
    said = [{"truncated": True, "occluded": False}, {"truncated": False, "occluded": 3}, {"occluded": True}]
    export = export_of([A], [box(A, str(number), attributes=some) for number, some in enumerate(said)])
    home = _write(export, "kitti", tmp_path / "kitti") / "train" / "label_2"

    lines = (home / f"{A['frame_id']}.txt").read_text().splitlines()
    assert [line.split()[1:3] for line in lines] == [["1.00", "0"], ["0.00", "3"], ["-1", "-1"]]


def test_voc_corners_count_from_one_and_include_the_last_pixel(export, tmp_path):
    home = _write(export, "voc", tmp_path / "voc") / "Annotations"
    root = ElementTree.parse(home / f"{A['frame_id']}.xml").getroot()

    corners = [float(root.findtext(f"object/bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")]
    assert corners == [11.25, 6.5, 30.75, 20.0]
    assert [int(root.findtext(f"size/{side}")) for side in ("width", "height")] == list(SIZE)
    assert [item.findtext("name") for item in root.iter("object")] == ["car", "truck", "DontCare"]
    assert not (home / f"{UNLABELED['frame_id']}.xml").exists()


def test_cvat_declares_every_attribute_that_a_box_has(export, tmp_path):
    root = ElementTree.parse(_write(export, "cvat", tmp_path / "cvat") / "annotations.xml").getroot()

    declared = {
        (label.findtext("name"), entry.findtext("name"))
        for label in root.iter("label")
        for entry in label.iter("attribute")
    }
    used = {(drawn.get("label"), entry.get("name")) for drawn in root.iter("box") for entry in drawn.iter("attribute")}
    assert used == declared == {("car", "track_id")}
    assert [task.findtext("subset") for task in root.iter("task")] == ["train", "val"]


def test_openlabel_objects_are_declared_with_the_frames_they_are_seen_in(export, tmp_path):
    later = frame(4)
    tracked = export_of(
        [A, later], [box(A, "a", attributes={"track_id": "7"}), box(later, "z", attributes={"track_id": "7"})],
        drives=["north", "north"],
    )  # fmt: skip
    scene = _json(_write(tracked, "openlabel", tmp_path / "ol") / "openlabel_train.json")["openlabel"]

    assert scene["metadata"]["schema_version"] == "1.0.0"
    assert scene["objects"].keys() == {"1"}
    assert scene["objects"]["1"]["frame_intervals"] == [{"frame_start": 1, "frame_end": 2}] == scene["frame_intervals"]
    for number in ("1", "2"):
        (shape,) = scene["frames"][number]["objects"]["1"]["object_data"]["bbox"]
        assert shape["val"] == [20.5, 12.75, 20.5, 14.5]
        assert shape["coordinate_system"] in scene["coordinate_systems"]


def test_hostile_classes_and_attributes_make_no_broken_file(tmp_path):
    classes = ("<b>&\"c'", "two\nlines", "Straße 漢字", "]]>", "x\x00y", "\u2028")
    looked = frame(0, annotated=classes)
    boxes = [box(looked, f"b{n}", name, attributes={name: name, "x\x01": "y\x02"}) for n, name in enumerate(classes)]
    export = export_of([looked], boxes, classes)
    for name in WRITERS:
        for path in _write(export, name, tmp_path / name).rglob("*.xml"):
            ElementTree.parse(path)
        for path in (tmp_path / name).rglob("*.json"):
            _json(path)


def test_without_a_way_to_read_pictures_only_labels_are_written(export, tmp_path):
    for name in WRITERS:
        _write(replace(export, read=None), name, tmp_path / name)
        assert not list((tmp_path / name).rglob("*.jpg"))
        assert list((tmp_path / name).iterdir())


def test_a_walk_holds_the_boxes_of_a_few_frames_at_a_time():
    frames = [frame(0) | {"frame_id": f"{number:064d}"} for number in range(3000)]
    export = export_of(frames, [box(row, str(number)) for row in frames for number in range(10)])
    walked = FrameWalk(export.frames, export.boxes, columns.SOURCES.empty_table()).frames()

    tracemalloc.start()
    boxes = sum(len(item.boxes) for item in walked)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert boxes == 30_000
    assert peak_bytes < 30_000 * 100  # a box alone is more
