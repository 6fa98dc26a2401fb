"""Every format that is written: what is not refused comes back as it was."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from driveflow.formats.losses import losses
from driveflow.formats.writers import WRITERS
from tests.driveflow.formats.exports import (
    SPLIT_NAMES,
    box,
    boxes_of,
    come_back,
    export_of,
    frame,
    ignored,
    imported,
    looked_for,
    on_disk,
    without,
)


def world():
    """Return frames of all splits: with boxes, empty, unlabeled, with an ignore region and with tracks."""
    train = frame(0, attributes={"weather": "rain"})
    empty = frame(1)
    unlabeled = frame(2, annotated=())
    val, val_empty = frame(3, "val"), frame(4, "val", attributes={"weather": 'clear, and "dry"', "road": "städtisch"})
    holdout = frame(5, "holdout")
    boxes = [
        box(train, "a", attributes={"track_id": "7", "truncated": 0.25, "occluded": True, "colour": "dark blue"}),
        box(train, "b", "traffic_light", (0.0, 0.0, 64.0, 48.0)),
        box(train, "c", "truck", (1 / 3, 2.0001, 33.3337, 47.123)),
        *ignored(train),
        box(val, "a", attributes={"track_id": "7", "occluded": False, "difficult": True}),
        box(val, "p", "truck", (5.0, 6.0, 25.0, 26.0), score=0.875),
        box(holdout, "a", "truck", (12.0, 13.0, 14.0, 15.0), attributes={"occluded": 2, "visibility": "40-60 %"}),
        box(holdout, "d", "traffic_light", (50.0, 40.0, 64.0, 48.0)),
    ]
    frames = [train, empty, unlabeled, val, val_empty, holdout]
    return export_of(frames, boxes, drives=["north", "north", "north", "east", "east", "west"])


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_what_is_not_refused_comes_back(name, tmp_path):
    export = without(world(), WRITERS[name].carries)
    assert losses(export, WRITERS[name].carries) == ()

    back = come_back(export, name, tmp_path / "out").tables

    assert boxes_of(back.boxes, "score") == boxes_of(export.boxes, "score")
    assert looked_for(back.frames) == looked_for(export.frames)
    assert back.frames["frame_id"].to_pylist() == sorted(export.frames["frame_id"].to_pylist())
    splits = dict(zip(export.frames["frame_id"].to_pylist(), export.frames["split"].to_pylist(), strict=True))
    places = {row["frame_id"]: row for row in export.sources.to_pylist()}
    for row in back.sources.to_pylist():
        assert row["source_split"] == SPLIT_NAMES[splits[row["frame_id"]]]
        for key in ("drive", "camera", "captured_ns", "clock", "lat"):
            assert row[key] == places[row["frame_id"]][key]
    assert back.frames["attributes"].to_pylist() == [
        row["attributes"] for row in sorted(export.frames.to_pylist(), key=lambda row: row["frame_id"])
    ]


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_attributes_of_boxes_come_back(name, tmp_path):
    export = without(world(), WRITERS[name].carries)

    back = come_back(export, name, tmp_path / "out").tables

    found = {_key(row): json.loads(row["attributes"]) for row in back.boxes.to_pylist() if not row["ignore"]}
    for row in export.boxes.to_pylist():
        if not row["ignore"]:
            assert found[_key(row)].items() >= json.loads(row["attributes"]).items()


def _key(row):
    return row["frame_id"], row["class_name"], round(row["x1"], 3), round(row["y2"], 3), row["score"]


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_equal_snapshots_make_equal_exports(name, tmp_path):
    export = world()
    shuffled = export_of(
        export.frames.to_pylist()[::-1], export.boxes.to_pylist()[::-1], drives=["west", "east", "east", *["north"] * 3]
    )
    WRITERS[name].write(export, tmp_path / "one")
    WRITERS[name].write(shuffled, tmp_path / "two")

    one, two = on_disk(tmp_path / "one"), on_disk(tmp_path / "two")
    one.pop("metadata.csv"), two.pop("metadata.csv")
    assert one == two


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_an_export_is_known_by_its_content(name, tmp_path):
    WRITERS[name].write(world(), tmp_path / "out")

    assert imported(tmp_path / "out").label_format == name


@pytest.mark.parametrize("name", ["kitti", "voc", "cvat", "label_studio", "yolo"])
def test_a_prediction_that_is_ignored_is_no_region_that_people_drew(name, tmp_path):
    seen = frame(0)
    guessed = [row | {"score": 0.5} for row in ignored(seen)]

    back = come_back(export_of([seen], [box(seen, "a"), *guessed]), name, tmp_path / "out").tables.boxes

    truth = back.filter(pc.is_null(back["score"]))
    assert truth["class_name"].to_pylist() == ["car"]
    assert truth["ignore"].to_pylist() == [False]


@pytest.mark.parametrize("turn", [30, "30"])
def test_an_attribute_called_rotation_turns_no_box_of_our_own(turn, tmp_path):
    seen = frame(0)
    export = export_of([seen], [box(seen, "a", attributes={"occluded": False, "rotation": turn})])

    back = come_back(export, "coco", tmp_path / "out").tables.boxes

    assert boxes_of(back) == boxes_of(export.boxes)
    assert json.loads(back["attributes"][0].as_py()) == {"occluded": False, "rotation": turn}


def test_unlabeled_frames_with_weather_and_scene_stay_unlabeled_in_scalabel(tmp_path):
    unlabeled = frame(0, annotated=(), attributes={"scene": "highway", "time_of_day": "night", "weather": "rain"})

    back = come_back(export_of([unlabeled], [], classes=()), "scalabel", tmp_path / "out")

    assert imported(tmp_path / "out").label_format == "scalabel"
    assert looked_for(back.tables.frames) == looked_for(pa.Table.from_pylist([unlabeled]))


@pytest.mark.parametrize("name", ["coco", "label_studio", "scalabel"])
def test_attributes_called_as_columns_of_times_move_no_time(name, tmp_path):
    said = {"captured_at": "2024-05-01T10:00:00Z", "epoch_ns": "315964800000000000"}
    seen = frame(0, attributes=said)
    export = export_of([seen], [box(seen, "a")], drives=["north"])

    back = come_back(export, name, tmp_path / "out").tables

    assert back.sources["captured_ns"].to_pylist() == export.sources["captured_ns"].to_pylist()
    assert json.loads(back.frames["attributes"][0].as_py()) == said
