"""A snapshot as a folder, in each shape a trainer may ask for."""

import json

import pyarrow.parquet as pq
import pytest

from tests.training.made import make_snapshot
from training.export import WRITERS, export_snapshot


@pytest.mark.parametrize("shape", sorted(WRITERS))
def test_every_shape_has_all_pictures_byte_for_byte(tmp_path, shape):
    snapshot, pixels = make_snapshot(tmp_path, train=3, val=2)

    export_snapshot(snapshot, pixels, shape, tmp_path / "out")

    found = {path.stem: path.read_bytes() for path in (tmp_path / "out" / "images").rglob("*.png")}
    assert found == {frame_id: pixels.read(frame_id) for frame_id in snapshot.frames()["frame_id"].to_pylist()}
    assert len(list((tmp_path / "out" / "images" / "val").iterdir())) == 2


def test_the_tables_are_those_of_the_snapshot(tmp_path):
    snapshot, pixels = make_snapshot(tmp_path, train=3)

    export_snapshot(snapshot, pixels, "tables", tmp_path / "out")

    assert pq.read_table(tmp_path / "out" / "frames.parquet").equals(snapshot.frames())
    assert pq.read_table(tmp_path / "out" / "boxes.parquet").equals(snapshot.boxes())
    assert json.loads((tmp_path / "out" / "classes.json").read_text()) == ["car", "person", "tram"]


def test_coco_and_yolo_have_their_own_label_files(tmp_path):
    snapshot, pixels = make_snapshot(tmp_path, train=3, val=1)

    export_snapshot(snapshot, pixels, "coco", tmp_path / "coco")
    export_snapshot(snapshot, pixels, "yolo", tmp_path / "yolo")

    assert (tmp_path / "coco" / "annotations" / "instances_train.json").is_file()
    assert len(list((tmp_path / "yolo" / "labels" / "train").glob("*.txt"))) == 3
    assert (tmp_path / "yolo" / "data.yaml").is_file()


def test_a_whole_export_is_kept_and_an_interrupted_one_made_anew(tmp_path):
    snapshot, pixels = make_snapshot(tmp_path, train=2)
    out = tmp_path / "out"
    export_snapshot(snapshot, pixels, "tables", out)
    written = (out / "frames.parquet").stat().st_mtime_ns

    export_snapshot(snapshot, pixels, "tables", out)
    assert (out / "frames.parquet").stat().st_mtime_ns == written

    (out / "export.json").unlink()
    (out / "left-over").write_text("x")
    export_snapshot(snapshot, pixels, "tables", out)
    assert not (out / "left-over").exists()


def test_an_export_of_other_data_is_not_taken_for_this_one(tmp_path):
    one, pixels_one = make_snapshot(tmp_path / "one", train=2)
    other, pixels_other = make_snapshot(tmp_path / "other", train=2, first_seed=50)
    out = tmp_path / "out"
    export_snapshot(one, pixels_one, "tables", out)

    export_snapshot(other, pixels_other, "tables", out)

    assert pq.read_table(out / "frames.parquet").equals(other.frames())
