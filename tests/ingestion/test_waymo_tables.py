import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow.errors import BrokenDataError
from driveflow.flow.sections import TaxonomySection
from ingestion.archives import ArchiveLimits
from ingestion.waymo_tables import open_waymo
from tests.ingestion.batches import bring_in, picture, write
from tests.shared_data import shared_data

TAXONOMY = TaxonomySection(classes=("vehicle", "pedestrian", "cyclist"))
SEGMENT = "1005081002024129653_5313_150_5333_150"
BOX = "[CameraBoxComponent]."
IMAGE = "[CameraImageComponent]."


def _key(micros, camera=1, segment=SEGMENT):
    return {"key.segment_context_name": segment, "key.frame_timestamp_micros": micros, "key.camera_name": camera}


def _image(micros, data, camera=1, **more):
    return _key(micros, camera) | {IMAGE + "image": data} | more


def _box(micros, camera=1, kind=1, sides=(20.0, 10.0), level=1, **more):
    row = _key(micros, camera) | {"key.camera_object_id": "t1", BOX + "type": kind}
    row |= {BOX + "box.center.x": 30.0, BOX + "box.center.y": 20.0}
    row |= dict(zip((BOX + "box.size.x", BOX + "box.size.y"), sides, strict=True))
    return row | {BOX + "difficulty_level.detection": level, BOX + "difficulty_level.tracking": 0} | more


def _table(path, rows, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **options)


def _bring_in(folder, images, boxes=(), **tables):
    for name, rows in {"camera_image": images, "camera_box": boxes, **tables}.items():
        if rows:
            _table(folder / name / "s.parquet", rows)
    return bring_in(folder, TAXONOMY)


def _opened(path, limits=None):
    return open_waymo(lambda: path.open("rb"), path.stat().st_size, limits or ArchiveLimits())


def test_one_truth_in_waymo_tables_is_read_to_the_last_digit(tmp_path):
    folder = shared_data("fmt_same_truth")
    truth = json.loads((folder / "truth.json").read_text())["images"]
    maps = json.loads((folder / "class_maps.json").read_text())["waymo_v2_parquet"]
    names = {1: "vehicle", 2: "pedestrian", 4: "cyclist"}
    batch = tmp_path / "waymo"
    batch.symlink_to(folder / "waymo_v2_parquet")

    found = bring_in(batch, TAXONOMY)

    times = dict(zip(found.tables.sources["frame_id"].to_pylist(), found.tables.sources["captured_ns"].to_pylist(),
                     strict=True))  # fmt: skip
    boxes = sorted(
        (times[row["frame_id"]], row["class_name"], *(round(row[side], 6) for side in ("x1", "y1", "x2", "y2")))
        for row in found.tables.boxes.to_pylist()
    )
    expected = sorted(
        (image["timestamp_us"] * 1000, names[maps[box["cls"]]], *map(float, box["box"]))
        for image in truth
        for box in image["boxes"]
        if maps[box["cls"]] in names
    )
    assert boxes == expected
    assert (found.counts["frames_labeled"], found.counts["label_problems"]) == (13, 0)
    assert found.counts["files_quarantined"] == 0


def test_length_is_the_extent_along_x_and_width_that_along_y(tmp_path):
    found = _bring_in(tmp_path / "b", [_image(5, picture(1))], [_box(5)])

    box = found.tables.boxes.to_pylist()[0]
    assert [box[side] for side in ("x1", "y1", "x2", "y2")] == [20, 15, 40, 25]
    assert json.loads(box["attributes"]) == {"difficulty_detection": 1, "track_id": "t1"}


def test_cameras_have_names_times_are_nanoseconds_and_speed_is_that_of_the_pose(tmp_path):
    velocity = {f"{IMAGE}velocity.linear_velocity.{axis}": value for axis, value in zip("xyz", (3, 4, 0), strict=True)}
    found = _bring_in(tmp_path / "b", [_image(1_700_000_000_000_001, picture(1), 4, **velocity)])

    source = found.tables.sources.to_pylist()[0]
    assert source["path"] == "camera_image/s.parquet!SIDE_LEFT/1700000000000001000.jpg"
    assert (source["camera"], source["captured_ns"], source["clock"]) == ("SIDE_LEFT", 1_700_000_000_000_001_000, "utc")
    assert (source["drive"], source["speed_mps"]) == (f"b/{SEGMENT}", 5.0)


def test_pictures_of_a_segment_with_a_table_of_boxes_are_labeled_even_where_they_have_none(tmp_path):
    found = _bring_in(tmp_path / "b", [_image(5, picture(1)), _image(6, picture(2))], [_box(5)])

    assert found.counts["frames_labeled"] == 2


def test_without_a_table_of_boxes_pictures_are_unlabeled(tmp_path):
    assert _bring_in(tmp_path / "b", [_image(5, picture(1))]).counts["frames_labeled"] == 0


def test_what_the_stats_say_of_weather_and_time_of_day_is_an_attribute_of_the_frame(tmp_path):
    stats = [{"key.segment_context_name": SEGMENT, "key.frame_timestamp_micros": 5}]
    stats[0] |= {f"[StatsComponent].{name}": value for name, value in
                 {"time_of_day": "Dawn/Dusk", "weather": "rain", "location": "location_sf"}.items()}  # fmt: skip
    found = _bring_in(tmp_path / "b", [_image(5, picture(1))], stats=stats)

    attributes = json.loads(found.tables.frames["attributes"][0].as_py())
    assert attributes == {"time_of_day": "dawn/dusk", "weather": "rain", "location": "location_sf"}


def test_boxes_without_their_picture_and_boxes_that_are_none_are_counted(tmp_path):
    boxes = [_box(5), _box(9), _box(9, camera=2), _box(5, sides=(0.0, 4.0)), _box(5, sides=(float("nan"), 4.0))]
    found = _bring_in(tmp_path / "b", [_image(5, picture(1))], boxes)

    assert (found.counts["boxes_read"], found.counts["boxes"], found.counts["boxes_quarantined"]) == (5, 1, 4)
    reasons = found.beside.quarantine["reason"].to_pylist()
    assert sorted(reasons) == ["label_bad_box", "label_bad_box", "label_missing_picture"]


def test_a_type_that_waymo_does_not_have_keeps_the_picture_out(tmp_path):
    found = _bring_in(tmp_path / "b", [_image(5, picture(1)), _image(6, picture(2))], [_box(5, kind=9), _box(6)])

    rows = {(row["path"], row["reason"]) for row in found.beside.quarantine.to_pylist()}
    assert ("camera_image/s.parquet!FRONT/5000.jpg", "class_out_of_range") in rows
    assert (found.counts["files_kept"], found.counts["boxes"], found.counts["boxes_quarantined"]) == (1, 1, 1)


def test_a_row_without_a_usable_picture_is_quarantined_and_the_others_count(tmp_path):
    found = _bring_in(tmp_path / "b", [_image(5, None), _image(6, b"no picture"), _image(7, picture(1))])

    reasons = {row["path"].rpartition("/")[2]: row["reason"] for row in found.beside.quarantine.to_pylist()}
    assert reasons == {"5000.jpg": "empty", "6000.jpg": "not_an_image"}
    assert found.counts["files_kept"] == 1


def test_a_picture_that_is_there_twice_is_labeled_once(tmp_path):
    images = [_image(5, picture(1)), _image(5, picture(2))]
    found = _bring_in(tmp_path / "b", images, [_box(5)])

    assert (found.counts["frames"], found.counts["frames_labeled"], found.counts["boxes"]) == (2, 1, 1)


def test_other_components_and_tables_of_others_are_no_pictures(tmp_path):
    _table(tmp_path / "b/lidar/s.parquet", [{"key.segment_context_name": SEGMENT, "[LiDARComponent].x": 1.0}])
    _table(tmp_path / "b/own.parquet", [{"a": 1}])
    found = _bring_in(tmp_path / "b", [_image(5, picture(1))])

    assert found.beside.quarantine["path"].to_pylist() == ["own.parquet"]
    assert found.counts["archives"] == 2


def test_a_table_that_is_cut_short_is_named(tmp_path):
    _table(tmp_path / "b/camera_image/s.parquet", [_image(5, picture(1))])
    whole = (tmp_path / "b/camera_image/s.parquet").read_bytes()
    write(tmp_path / "b", {"camera_image/s.parquet": whole[:-20], "a.jpg": picture(3)})

    assert bring_in(tmp_path / "b", TAXONOMY).beside.quarantine["reason"].to_pylist() == ["not_an_image"]


def test_pages_that_are_broken_cost_the_table_and_not_the_batch(tmp_path):
    _table(tmp_path / "b/camera_image/s.parquet", [_image(number, picture(number)) for number in range(1, 4)])
    path = tmp_path / "b/camera_image/s.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(bytes(data))
    write(tmp_path / "b", {"a.jpg": picture(3)})

    assert bring_in(tmp_path / "b", TAXONOMY).beside.quarantine["reason"].to_pylist() == ["archive_broken"]


def test_a_table_that_unpacks_to_far_more_than_it_has_is_refused(tmp_path):
    path = tmp_path / "camera_image.parquet"
    _table(path, [_image(number, bytes(1 << 20)) for number in range(8)], compression="zstd", use_dictionary=False)
    table = _opened(path)

    with pytest.raises(BrokenDataError, match="bytes from"):
        table.members()


def test_pictures_are_read_a_few_rows_at_a_time(tmp_path):
    path = tmp_path / "camera_image.parquet"
    rows = [_image(number, bytes([number]) * (1 << 20)) for number in range(64)]
    _table(path, rows, compression="none", use_dictionary=False, write_batch_size=2, data_page_size=1 << 20)
    del rows
    pool = pa.default_memory_pool()
    start, most = pool.bytes_allocated(), 0

    table = _opened(path)
    for _ in table.read(range(len(table.members()))):
        most = max(most, pool.bytes_allocated() - start)

    assert most < 40 << 20


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("camera_image", "key.camera_name", None),
        ("camera_image", "key.frame_timestamp_micros", "soon"),
        ("camera_image", IMAGE + "image", 5),
        ("camera_box", "key.camera_name", "front"),
        ("camera_box", BOX + "type", b"\xff"),
        ("camera_box", BOX + "box.size.x", [1.0]),
    ],
)
def test_columns_that_are_not_what_they_should_be_cost_the_table_and_not_the_batch(tmp_path, table, column, value):
    rows = {"camera_image": [_image(5, picture(1))], "camera_box": [_box(5)]}
    for row in rows[table]:
        row[column] = value
        if value is None:
            del row[column]
    write(tmp_path / "b", {"z.jpg": picture(9)})
    found = _bring_in(tmp_path / "b", rows["camera_image"], rows["camera_box"])

    refused = {(row["path"], row["reason"]) for row in found.beside.quarantine.to_pylist()}
    assert (f"{table}/s.parquet", "archive_broken") in refused
    assert found.counts["files_kept"] >= 1
