import json

import pyarrow as pa
import pytest

from driveflow import tables as columns
from driveflow.formats.coco import read_coco
from driveflow.formats.export import Export
from driveflow.formats.write_coco import write_coco
from driveflow.formats.write_yolo import write_yolo
from driveflow.formats.yolo import read_yolo
from tests.driveflow.formats.in_memory import InMemory, looked_for

CLASSES = ("car", "truck")


def _frame(frame_id, split="train", annotated=CLASSES, attributes="{}"):
    return {
        "frame_id": frame_id, "width": 100, "height": 50, "media_type": "image/png", "byte_count": 3, "split": split,
        "drive_group": "d", "annotated_classes": list(annotated), "attributes": attributes,
    }  # fmt: skip


def _box(frame_id, box_id, class_name="car", corners=(10.25, 5.5, 30.75, 20.0), **more):
    row = {"frame_id": frame_id, "box_id": box_id, "class_name": class_name, "origin": "batch:b", "ignore": False,
           "attributes": "{}", **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True))}  # fmt: skip
    return row | more


def _export(frames, boxes):
    return Export(
        pa.Table.from_pylist(frames, schema=columns.FRAMES),
        pa.Table.from_pylist(boxes, schema=columns.BOXES),
        CLASSES,
        lambda frame_id: frame_id.encode(),
    )


@pytest.fixture
def export():
    frames = [
        _frame("f1", attributes='{"weather":"rain"}'),
        _frame("f2", "val"),
        _frame("f3", "holdout", annotated=()),
        _frame("f4", annotated=("car",)),
    ]
    boxes = [
        _box("f1", "a1"),
        _box("f1", "a2", "truck", attributes='{"track_id":4}'),
        _box("f4", "a1", ignore=True),
        _box("f4", "a3", corners=(-5.0, 10.0, 20.0, 60.0)),
    ]
    return _export(frames, boxes)


def _on_disk(folder):
    return InMemory(
        {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    )


def _corners(labels):
    return sorted(
        (row["path"].rpartition("/")[2][:2], row["class_name"], row["x1"], row["y1"], row["x2"], row["y2"])
        for row in labels.boxes.to_pylist()
    )


def test_ac_b4_ids_of_a_coco_export_are_dense_and_unique_over_all_its_files(export, tmp_path):
    write_coco(export, tmp_path)
    documents = [json.loads(path.read_bytes()) for path in (tmp_path / "annotations").iterdir()]

    assert sorted(image["id"] for document in documents for image in document["images"]) == [1, 2, 3, 4]
    assert sorted(entry["id"] for document in documents for entry in document["annotations"]) == [1, 2, 3, 4]
    assert [category["id"] for category in documents[0]["categories"]] == [1, 2]


def test_a_coco_export_reads_back_as_it_was(export, tmp_path):
    write_coco(export, tmp_path)

    labels = read_coco(_on_disk(tmp_path))

    assert labels.problems == ()
    expected = [("f1", "car"), ("f1", "truck"), ("f4", "car"), ("f4", "car")]
    assert [row[:2] for row in _corners(labels)] == expected
    assert _corners(labels)[2][2:] == (-5.0, 10.0, 20.0, 60.0)
    assert sorted(labels.boxes["own_id"].to_pylist()) == ["a1", "a1", "a2", "a3"]
    looked = {path.rpartition("/")[2][:2]: names for path, names in looked_for(labels).items()}
    assert looked == {"f1": CLASSES, "f2": CLASSES, "f4": ("car",)}
    assert sorted(labels.images["attributes"].to_pylist(), key=len) == ["{}", "{}", "{}", '{"weather":"rain"}']


def test_ignore_regions_and_crowds_survive_coco(tmp_path):
    boxes = [_box("f1", "a", ignore=True), _box("f1", "b", ignore=True, attributes='{"iscrowd":true}'), _box("f1", "c")]
    write_coco(_export([_frame("f1")], boxes), tmp_path)

    found = read_coco(_on_disk(tmp_path)).boxes.to_pylist()

    said = {row["own_id"]: (row["ignore"], row["attributes"]) for row in found}
    assert said == {"a": (True, "{}"), "b": (True, '{"iscrowd":true}'), "c": (False, "{}")}


def test_a_yolo_export_reads_back_with_boxes_cut_at_the_edge(export, tmp_path):
    write_yolo(export, tmp_path)

    labels = read_yolo(_on_disk(tmp_path))

    assert labels.problems == ()
    assert [row[:2] for row in _corners(labels)] == [("f1", "car"), ("f1", "truck"), ("f4", "car")]
    assert _corners(labels)[0][2:] == pytest.approx((0.1025, 0.11, 0.3075, 0.4), abs=1e-8)
    assert _corners(labels)[2][2:] == pytest.approx((0.0, 0.2, 0.2, 1.0), abs=1e-8)


def test_a_yolo_export_tells_negatives_from_unlabeled_frames(export, tmp_path):
    write_yolo(export, tmp_path)

    assert (tmp_path / "labels" / "val" / "f2.txt").read_text() == ""
    assert not (tmp_path / "labels" / "test" / "f3.txt").exists()


def test_what_a_format_cannot_carry_is_said(export, tmp_path):
    assert write_coco(export, tmp_path / "coco").left_out == ()
    assert write_yolo(export, tmp_path / "yolo").left_out == (
        "YOLO has no ignore regions: 1 boxes are left out.",
        "YOLO cannot say which classes were looked for: 1 frames seem complete and are not.",
        "YOLO has no place for the attribute 'track_id' of 1 boxes.",
        "YOLO has no place for the attribute 'weather' of 1 frames.",
        "YOLO has no boxes beyond the edge of the picture: 1 boxes are cut there.",
    )


def test_pictures_are_written_byte_for_byte_under_their_frame_id(export, tmp_path):
    write_coco(export, tmp_path)

    assert (tmp_path / "images" / "train" / "f1.png").read_bytes() == b"f1"


def test_equal_snapshots_make_equal_exports(export, tmp_path):
    for name in ("one", "two"):
        write_coco(export, tmp_path / name)
        write_yolo(export, tmp_path / name)

    assert _on_disk(tmp_path / "one").files == _on_disk(tmp_path / "two").files
