"""Faults of time that users of other tools reported, each by the row of the list of cases that it is."""

import json

import pytest

from driveflow.formats.nuscenes import read_nuscenes
from tests.driveflow.formats.in_memory import InMemory
from tests.ingestion.batches import adds_up, bring_in, coco, picture, quarantined, write
from tests.ingestion.recorded import START_NS, STEP_NS, Ros2, mcap
from tests.ingestion.recorded_batches import one

NIGHT = "path,captured_at,lat,lon,timeofday\na.jpg,2023-11-15T23:00:00Z,48.1,11.5,daytime\n"


def test_ac_b16_a_night_picture_tagged_daytime_is_listed_by_the_sun(tmp_path):
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "metadata.csv": NIGHT}))

    assert [row["rule"] for row in batch.beside.conflicts.to_pylist()] == ["sun"]


@pytest.mark.parametrize(("off_us", "joined"), [(2, True), (5000, False)])
def test_ac_b18_a_label_whose_time_is_off_by_microseconds_is_joined_and_listed_else_quarantined(
    tmp_path, off_us, joined
):
    name = f"{1_700_000_000_000_000 + off_us}.jpg"
    labels = coco([(1, name)], [(1, 1, 1, (1, 2, 30, 40))])
    folder = write(tmp_path / "b", {"cam/1700000000000000.jpg": picture(1), "cam/labels.json": labels})
    batch = bring_in(folder, join_tolerance_ms=1)

    reason = "label_nearest_picture" if joined else "label_missing_picture"
    assert set(quarantined(batch).values()) == {reason}
    assert (batch.counts["boxes"], batch.counts["boxes_quarantined"]) == (joined, not joined)
    adds_up(batch)


def test_ac_b19_the_gap_between_camera_and_lidar_is_stored_with_each_picture():
    tables = {
        "sensor": [
            {"token": "c", "channel": "CAM_FRONT", "modality": "camera"},
            {"token": "l", "channel": "LIDAR_CONCAT", "modality": "lidar"},
        ],
        "calibrated_sensor": [
            {"token": key, "sensor_token": key, "translation": [], "rotation": [], "camera_intrinsic": []}
            for key in "cl"
        ],
        "sample_data": [
            {"token": f"{key}1", "sample_token": "s", "calibrated_sensor_token": key, "filename": f"{key}.jpg",
             "timestamp": time_us, "is_key_frame": True}
            for key, time_us in (("c", 1_700_000_000_027_000), ("l", 1_700_000_000_000_000))
        ],
    }  # fmt: skip
    files = {f"t/{name}.json": json.dumps(rows) for name, rows in tables.items()}
    labels = read_nuscenes(InMemory({**files, "c.jpg": b"", "l.jpg": b""}))

    assert [json.loads(text) for text in labels.images["attributes"].to_pylist()] == [{"lidar_gap_ms": 27.0}]


def test_ac_b19_a_batch_declares_the_epoch_that_its_times_count_from(tmp_path):
    folder = write(
        tmp_path / "b", {"a.jpg": picture(1), "metadata.csv": "path,captured_ns\na.jpg,315969904359876000\n"}
    )
    batch = bring_in(folder, epoch_ns=315_964_800 * 10**9, clock="gps")

    assert batch.tables.sources["captured_ns"].to_pylist() == [631_934_704_359_876_000]
    assert batch.tables.sources["clock"].to_pylist() == ["gps"]


@pytest.mark.parametrize("restart_ns", [0, START_NS - 3600 * 10**9])
def test_ac_b23_a_drive_is_cut_where_the_clock_of_a_recording_jumps_and_the_jump_is_listed(tmp_path, restart_ns):
    ros = Ros2()
    stamps = [START_NS + turn * STEP_NS for turn in range(4)]
    stamps += [restart_ns + turn * STEP_NS for turn in range(1, 4)]
    written = [START_NS + turn * STEP_NS for turn in range(7)]
    entries = [
        ("/front", log_ns, ros.picture(picture(turn), stamp))
        for turn, (log_ns, stamp) in enumerate(zip(written, stamps, strict=True))
    ]
    batch = one(tmp_path, mcap(entries, ros))

    drives = batch.tables.sources["drive"].to_pylist()
    assert sorted(drives) == [min(drives)] * 4 + [f"{min(drives)}~2"] * 3
    assert (batch.counts["time_jumps"], set(quarantined(batch).values())) == (1, {"time_jump"})
    adds_up(batch)
