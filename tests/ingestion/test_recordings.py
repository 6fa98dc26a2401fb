import hashlib
import json

import numpy as np
import pytest
from mcap.writer import CompressionType

from driveflow.images.pixels import PixelReader
from tests.ingestion.batches import adds_up, bring_in, picture, quarantined, rows, write
from tests.ingestion.recorded import PICTURE, START_NS, STEP_NS, Ros2, bag1, mcap
from tests.ingestion.recorded_batches import database, one, pictures
from tests.shared_data import shared_data

CONTAINERS = {
    "ros2_zstd.mcap": True,
    "ros2_none.mcap": True,
    "foxglove_protobuf.mcap": False,
    "rosbag2_mcap": False,
    "rosbag2_sqlite3": False,
    "ros1.bag": False,
}
"""Every container of fmt_recordings, and whether it holds the boxes too."""


def real(tmp_path, name):
    """Import one recording of fmt_recordings."""
    source = shared_data("fmt_recordings") / name
    files = [source] if source.is_file() else sorted(source.iterdir())
    folder = tmp_path / "batch"
    write(folder, {f"{'' if source.is_file() else name + '/'}{path.name}": path.read_bytes() for path in files})
    return bring_in(folder, taxonomy=None)


def truth():
    folder = shared_data("fmt_recordings")
    return folder, json.loads((folder / "truth.json").read_text())["frames"]


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_pictures_byte_for_byte_at_the_times_of_their_headers(tmp_path, name):
    folder, frames = truth()
    batch = real(tmp_path, name)

    expected = {(hashlib.sha256((folder / "frames" / item["file"]).read_bytes()).hexdigest(), item["stamp_ns"])
                for item in frames}  # fmt: skip
    assert set(rows(batch.tables.sources, "frame_id", "captured_ns")) == expected
    assert set(batch.tables.sources["clock"].to_pylist()) == {"utc"}
    assert set(batch.tables.sources["camera"].to_pylist()) == {"camera_front"}
    assert batch.counts["drives"] == 1
    assert batch.counts["files_quarantined"] == 0
    assert batch.counts["frames_labeled"] == (24 if CONTAINERS[name] else 0)
    adds_up(batch)


@pytest.mark.parametrize("name", [name for name, has_boxes in CONTAINERS.items() if has_boxes])
def test_boxes_of_a_recording_are_those_of_its_truth(tmp_path, name):
    _, frames = truth()
    batch = real(tmp_path, name)

    stamps = dict(rows(batch.tables.sources, "frame_id", "captured_ns"))
    names = ("frame_id", "class_name", "x1", "y1", "x2", "y2", "score", "attributes")
    found = {
        (
            stamps[frame],
            kind,
            round(x1, 6),
            round(y1, 6),
            round(x2, 6),
            round(y2, 6),
            json.loads(text)["track_id"],
        ): score
        for frame, kind, x1, y1, x2, y2, score, text in rows(batch.tables.boxes, *names)
    }
    expected = {
        (item["stamp_ns"], box["cls"], *(round(value, 6) for value in box["box"]), str(box["track"]))
        for item in frames
        for box in item["boxes"]
    }
    assert set(found) == expected
    assert set(found.values()) == {None}


def test_what_is_whole_of_a_recording_cut_short_is_imported_and_the_rest_is_named(tmp_path):
    batch = real(tmp_path, "ros2_cut_short.mcap")

    assert batch.counts["frames"] == 11
    assert batch.counts["frames_labeled"] == 10
    (row,) = batch.beside.quarantine.to_pylist()
    assert (row["path"], row["reason"]) == ("ros2_cut_short.mcap", "recording_cut_short")
    assert "byte 198,253 of 309,705" in row["detail"]
    assert row["byte_count"] == 309_705 - 198_253
    adds_up(batch)


def test_a_rosbag2_file_cut_short_gives_the_rows_before_the_cut(tmp_path):
    data = (shared_data("fmt_recordings") / "rosbag2_sqlite3/rosbag2_sqlite3.db3").read_bytes()
    batch = one(tmp_path, data[: len(data) // 2], "cut.db3")

    assert 5 <= batch.counts["frames"] < 24
    assert quarantined(batch) == {"cut.db3": "recording_cut_short"}
    adds_up(batch)


@pytest.mark.parametrize("compression", [None, "BZ2", "LZ4"])
def test_a_bag_whose_recorder_was_killed_gives_the_pictures_of_its_whole_chunks(tmp_path, compression):
    datas = [picture(seed) for seed in range(6)]
    data = bag1(tmp_path / "whole.bag", datas, compression)
    whole = one(tmp_path / "whole", data, "drive.bag")
    cut = one(tmp_path / "cut", data[: len(data) * 6 // 10], "drive.bag")

    assert set(whole.tables.frames["frame_id"].to_pylist()) == {hashlib.sha256(item).hexdigest() for item in datas}
    assert quarantined(whole) == {}
    assert 1 <= cut.counts["frames"] < 6
    assert quarantined(cut) == {"drive.bag": "recording_cut_short"}
    adds_up(cut)


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
@pytest.mark.parametrize("chunk_size", [1 << 10, 1 << 20])
def test_every_compression_gives_the_same_bytes(tmp_path, compression, chunk_size):
    ros = Ros2()
    entries, datas = pictures(5, ros)
    batch = one(tmp_path, mcap(entries, ros, compression, chunk_size))

    assert set(batch.tables.frames["frame_id"].to_pylist()) == {hashlib.sha256(data).hexdigest() for data in datas}
    pixels = PixelReader(batch.beside.locations)
    assert {pixels.read(frame_id) for frame_id in batch.tables.frames["frame_id"].to_pylist()} == set(datas)


def test_times_keep_every_nanosecond(tmp_path):
    ros = Ros2()
    entries, _ = pictures(2, ros)
    batch = one(tmp_path, mcap(entries, ros))

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == [START_NS, START_NS + STEP_NS]


@pytest.mark.parametrize("layout", [3, 4])
def test_boxes_are_read_in_both_layouts_of_vision_msgs(tmp_path, layout):
    ros = Ros2(layout)
    entries, _ = pictures(2, ros)
    entries.append(("/boxes", START_NS, ros.boxes([("car", 1.0, 10.0, 12.0, 30.0, 40.0, "7")], START_NS)))
    entries.append(("/boxes", START_NS, ros.boxes([], START_NS + STEP_NS)))
    batch = one(tmp_path, mcap(entries, ros))

    (box,) = batch.tables.boxes.to_pylist()
    assert [box[name] for name in ("class_name", "x1", "y1", "x2", "y2", "score")] == ["car", 10, 12, 30, 40, None]
    assert json.loads(box["attributes"]) == {"track_id": "7"}
    assert batch.counts["frames_labeled"] == 2  # the empty message says that nothing is there


def test_topics_whose_scores_are_not_all_sure_are_predictions(tmp_path):
    ros = Ros2()
    entries, _ = pictures(1, ros)
    entries.append(("/yolo", START_NS, ros.boxes([("car", 0.75, 10, 12, 30, 40), ("car", 1.0, 1, 2, 9, 9)], START_NS)))
    batch = one(tmp_path, mcap(entries, ros))

    assert batch.counts["frames_labeled"] == 0
    assert sorted(batch.tables.boxes["score"].to_pylist()) == [0.75, 1.0]


def test_a_turned_box_is_kept_as_the_box_around_it_with_its_turn(tmp_path):
    ros = Ros2()
    entries, _ = pictures(1, ros)
    turned = ("car", 1.0, 20, 20, 40, 30, "", np.pi / 2)
    batch = one(tmp_path, mcap([*entries, ("/boxes", START_NS, ros.boxes([turned], START_NS))], ros))

    (box,) = batch.tables.boxes.to_pylist()
    assert [round(box[name], 6) for name in ("x1", "y1", "x2", "y2")] == [25, 15, 35, 35]
    assert json.loads(box["attributes"]) == {"rotation_deg": 90.0}


def test_a_satellite_fix_near_in_time_places_a_picture_and_one_without_a_fix_does_not(tmp_path):
    ros = Ros2()
    entries, _ = pictures(8, ros)
    entries.append(("/fix", START_NS, ros.fix(48.5, 9.25, START_NS - 100_000_000)))
    entries.append(("/fix", START_NS, ros.fix(1.0, 1.0, START_NS + 7 * STEP_NS, status=-1)))
    batch = one(tmp_path, mcap(entries, ros))

    places = [(lat, lon) for _, lat, lon in rows(batch.tables.sources, "captured_ns", "lat", "lon")]
    assert places == [(48.5, 9.25)] * 5 + [(None, None)] * 3


def test_ac_b21_a_topic_of_unknown_type_is_listed_with_its_reason(tmp_path):
    ros = Ros2()
    entries, _ = pictures(1, ros)
    entries += [("/odd", START_NS, ("acme_msgs/msg/Thing", b"\0\1\0\0xxxx"))] * 3
    batch = one(tmp_path, mcap(entries, ros))

    (row,) = batch.beside.quarantine.to_pylist()
    assert row["reason"] == "recording_unknown_type"
    assert row["detail"] == "3 messages of acme_msgs/msg/Thing on /odd are not read: the type is not known"


def test_boxes_whose_type_the_recording_does_not_define_are_named(tmp_path):
    ros = Ros2()
    entries, _ = pictures(1, ros)
    entries.append(("/boxes", START_NS, ros.boxes([], START_NS)))
    batch = one(tmp_path, mcap(entries, ros, undefined=("vision_msgs/msg/Detection2DArray",)))

    (row,) = batch.beside.quarantine.to_pylist()
    assert row["reason"] == "recording_unreadable_topic"
    assert "does not define vision_msgs/msg/Detection2DArray" in row["detail"]


def test_pictures_are_read_without_a_definition_because_ros_itself_has_it(tmp_path):
    ros = Ros2()
    entries, _ = pictures(2, ros)
    batch = one(tmp_path, mcap(entries, ros, undefined=(PICTURE,)))

    assert batch.counts["frames"] == 2


def test_topics_without_pictures_are_summed_up_in_a_note(tmp_path):
    ros = Ros2()
    entries, _ = pictures(1, ros)
    imu = ("std_msgs/msg/String", ros.make("std_msgs/msg/String", "hello"))
    batch = one(tmp_path, mcap([*entries, ("/chatter", 1, imu), ("/chatter", 2, imu)], ros))

    assert any("2 messages on 1 topics hold no pictures or boxes: /chatter (std_msgs/msg/String, 2)" in note
               for note in batch.notes)  # fmt: skip
    assert batch.beside.quarantine.num_rows == 0


def test_messages_packed_one_by_one_in_a_rosbag2_file_are_unpacked(tmp_path):
    import zstandard

    ros = Ros2()
    entries, datas = pictures(3, ros)
    path = tmp_path / "packed.db3"
    database(path, [zstandard.compress(ros.packed(message)[1]) for _, _, message in entries])
    batch = one(tmp_path, path.read_bytes(), "packed.db3")

    assert set(batch.tables.frames["frame_id"].to_pylist()) == {hashlib.sha256(data).hexdigest() for data in datas}


def test_a_second_import_of_a_recording_is_the_same_import(tmp_path):
    ros = Ros2()
    entries, _ = pictures(3, ros)
    raw = [("/raw", START_NS, ros.raw(np.full((48, 64, 3), 77, np.uint8), "rgb8", START_NS, "raw"))]
    first = one(tmp_path, mcap([*entries, *raw], ros))
    again = one(tmp_path, mcap([*entries, *raw], ros))

    assert first.tables == again.tables
    assert first.beside.locations.equals(again.beside.locations)


def test_labels_of_another_format_keep_the_times_of_the_recording(tmp_path):
    ros = Ros2()
    entries, _ = pictures(2, ros)
    labels = {"images": [{"id": 1, "file_name": f"drive.mcap!/front/{START_NS}.jpg", "width": 64, "height": 48}],
              "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40]}],
              "categories": [{"id": 1, "name": "car"}]}  # fmt: skip
    folder = write(tmp_path / "batch", {"drive.mcap": mcap(entries, ros), "labels.json": labels})
    batch = bring_in(folder, taxonomy=None)

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == [START_NS, START_NS + STEP_NS]
    assert batch.counts["boxes"] == 1
    adds_up(batch)
