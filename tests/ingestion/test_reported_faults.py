"""Faults that users of other tools reported, and what is right; the numbers are those of the acceptance cases."""

import pytest

from driveflow.errors import BrokenDataError, EmptyBatchError
from driveflow.flow.sections import TaxonomySection
from tests.ingestion.batches import adds_up, bring_in, coco, picture, quarantined, rows, write

CLASSES = TaxonomySection(classes=("car", "truck"))
NAMES = "names: [car, truck]\nnc: 2\n"


def _yolo(folder, yaml, splits=("train", "val", "test"), labels="0 0.5 0.5 0.2 0.2\n"):
    files = {"data.yaml": yaml}
    for number, split in enumerate(splits):
        files |= {f"set/images/{split}/{split}.jpg": picture(number), f"set/labels/{split}/{split}.txt": labels}
    return write(folder, files)


@pytest.mark.parametrize("path", ["set", "./set", "/home/somebody/datasets/set", "../set"])
def test_ac_b11_path_of_data_yaml_is_honoured_and_all_splits_are_read(tmp_path, path):
    yaml = f"path: {path}\ntrain: images/train\nval: images/val\ntest: images/test\n{NAMES}"
    batch = bring_in(_yolo(tmp_path / "may", yaml), CLASSES)

    assert rows(batch.tables.sources, "source_split") == [("test",), ("train",), ("valid",)]
    assert rows(batch.tables.boxes, "class_name") == [("car",)] * 3
    assert batch.counts["label_problems"] == 0


def test_ac_b11_no_frames_is_a_failure_and_no_empty_success(tmp_path):
    write(tmp_path / "may", {"data.yaml": f"path: nowhere\ntrain: images/train\n{NAMES}"})

    with pytest.raises(EmptyBatchError, match="may"):
        bring_in(tmp_path / "may", CLASSES)


def test_ac_b13_a_class_id_beyond_nc_is_told_with_file_and_line_and_its_picture_put_aside(tmp_path):
    folder = _yolo(tmp_path / "may", f"path: set\ntrain: images/train\nval: images/val\n{NAMES}", ("train", "val"))
    write(folder, {"set/labels/val/val.txt": "1 0.5 0.5 0.2 0.2\n7 0.5 0.5 0.1 0.1\n"})

    batch = bring_in(folder, CLASSES)

    assert quarantined(batch)["set/images/val/val.jpg"] == "class_out_of_range"
    told = {row["path"]: (row["reason"], row["line"]) for row in batch.beside.quarantine.to_pylist()}
    assert told["set/labels/val/val.txt"] == ("label_class_out_of_range", 2)
    assert batch.tables.frames.num_rows == 1
    adds_up(batch)


def test_ac_b13_where_every_label_names_such_a_class_the_import_fails_with_file_and_line(tmp_path):
    folder = _yolo(tmp_path / "may", f"path: set\ntrain: images/train\n{NAMES}", ("train",), "2 0.5 0.5 0.2 0.2\n")

    with pytest.raises(BrokenDataError, match=r"train\.txt:1"):
        bring_in(folder, CLASSES)


@pytest.mark.parametrize(("listed", "named"), [("1", 1), (1, "1"), ("1", "1"), (1, 1)])
def test_ac_b20_ids_that_are_text_in_one_place_and_numbers_in_another_are_the_same(tmp_path, listed, named):
    labels = coco([(listed, "a.jpg")], [(1, named, 1, (1, 1, 9, 9))])
    batch = bring_in(write(tmp_path / "may", {"labels.json": labels, "a.jpg": picture(1)}), CLASSES)

    assert rows(batch.tables.boxes, "class_name") == [("car",)]
    assert batch.tables.frames["annotated_classes"].to_pylist() == [["car", "truck"]]
    assert batch.counts["label_problems"] == 0
