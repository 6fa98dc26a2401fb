import pytest
from rosbags.typesys import get_types_from_msg

from tests.ingestion.batches import adds_up, bring_in, picture, quarantined, rows, write
from tests.ingestion.recorded import START_NS, STEP_NS, Ros2, mcap
from tests.ingestion.recorded_batches import one, pictures


def test_two_cameras_keep_their_own_pictures_and_boxes(tmp_path):
    ros = Ros2()
    front, _ = pictures(2, ros, "/front", sensor="cam_front")
    rear = [
        ("/rear", START_NS, ros.picture(picture(50 + turn), START_NS + turn * STEP_NS, "cam_rear")) for turn in (0, 1)
    ]
    boxes = ("/boxes", START_NS, ros.boxes([("car", 1.0, 1, 2, 30, 40)], START_NS, "cam_rear"))
    batch = one(tmp_path, mcap([*front, *rear, boxes], ros))

    cameras = dict(rows(batch.tables.sources, "frame_id", "camera"))
    assert sorted(cameras.values()) == ["cam_front"] * 2 + ["cam_rear"] * 2
    assert [cameras[frame] for frame in batch.tables.boxes["frame_id"].to_pylist()] == ["cam_rear"]


def test_boxes_of_a_camera_that_is_not_there_are_counted_as_lost(tmp_path):
    ros = Ros2()
    front, _ = pictures(1, ros, "/front", sensor="cam_front")
    rear = [("/rear", START_NS, ros.picture(picture(50), START_NS, "cam_rear"))]
    boxes = ("/boxes", START_NS, ros.boxes([("car", 1.0, 1, 2, 30, 40)], START_NS, "cam_left"))
    batch = one(tmp_path, mcap([*front, *rear, boxes], ros))

    assert set(quarantined(batch).values()) == {"label_unknown_camera"}
    assert batch.counts["boxes_quarantined"] == 1
    adds_up(batch)


def test_pictures_without_a_stamp_get_the_time_of_writing_and_a_note(tmp_path):
    ros = Ros2()
    entries = [("/front", START_NS + turn, ros.picture(picture(turn), 0)) for turn in range(3)]
    batch = one(tmp_path, mcap(entries, ros))

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == [START_NS, START_NS + 1, START_NS + 2]
    assert any("3 pictures have no stamp of their own" in note for note in batch.notes)


def test_a_clock_that_begins_at_zero_counts_from_the_beginning_of_the_drive(tmp_path):
    ros = Ros2()
    entries = [("/front", START_NS + turn, ros.picture(picture(turn), turn * STEP_NS)) for turn in range(3)]
    batch = one(tmp_path, mcap(entries, ros))

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == [0, STEP_NS, 2 * STEP_NS]
    assert set(batch.tables.sources["clock"].to_pylist()) == {"drive_relative"}


def test_parts_of_a_bag_are_one_drive_and_messages_in_two_parts_are_one_frame(tmp_path):
    ros = Ros2()
    entries, _ = pictures(6, ros)
    info = {"rosbag2_bagfile_information": {"relative_file_paths": ["b_0.mcap", "b_1.mcap", "b_2.mcap"]}}
    parts = {"bag/b_0.mcap": mcap(entries[:4], ros), "bag/b_1.mcap": mcap(entries[3:], ros)}
    batch = bring_in(write(tmp_path / "batch", {"bag/metadata.yaml": info, **parts}), taxonomy=None)

    assert batch.counts["frames"] == 6
    assert batch.counts["frames_repeated"] == 1
    assert set(batch.tables.sources["drive"].to_pylist()) == {"batch/bag"}
    assert quarantined(batch) == {"bag/metadata.yaml": "recording_missing_part"}
    adds_up(batch)


@pytest.mark.parametrize("listed", [[], ["bag_0.mcap"]])
def test_parts_that_a_killed_recorder_listed_nowhere_are_one_drive_by_their_names(tmp_path, listed):
    ros = Ros2()
    entries, _ = pictures(6, ros)
    files = {f"run/bag/bag_{turn}.mcap": mcap(entries[2 * turn : 2 * turn + 2], ros) for turn in range(2)}
    files |= {"run/other/bag_2.mcap": mcap(entries[4:], ros)}
    info = {"rosbag2_bagfile_information": {"relative_file_paths": listed}}
    files |= {"run/bag/metadata.yaml": info} if listed else {}
    batch = bring_in(write(tmp_path / "batch", files), taxonomy=None)

    assert set(batch.tables.sources["drive"].to_pylist()) == {"batch/run/bag", "batch/run/other/bag_2"}


def test_a_list_of_parts_that_spells_out_gigabytes_costs_nothing(tmp_path):
    laughs = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'ha'] * 9)}]" for n in range(12)]
    info = "\n".join([*laughs, "rosbag2_bagfile_information:", "  relative_file_paths: [b_0.mcap, *a11, c.mcap]"])
    ros = Ros2()
    files = {"bag/metadata.yaml": info, "bag/b_0.mcap": mcap(pictures(2, ros)[0], ros)}
    batch = bring_in(write(tmp_path / "batch", files), taxonomy=None)

    why = "belongs to the recording, but is no file of the batch that can be read"
    assert sorted(batch.beside.quarantine["detail"].to_pylist()) == [f"c.mcap {why}", f"what is no name {why}"]
    assert set(batch.tables.sources["drive"].to_pylist()) == {"batch/bag"}


def test_times_that_no_table_can_hold_are_no_times(tmp_path):
    ros = Ros2()
    entries = [("/front", 2**64 - 1, ros.picture(picture(1), 0)), ("/front", 5, ros.picture(picture(2), START_NS))]
    batch = one(tmp_path, mcap(entries, ros))

    assert sorted(batch.tables.sources["captured_ns"].to_pylist()) == [0, START_NS]


def test_a_recording_packed_as_a_whole_is_refused_by_name(tmp_path):
    files = {"a.db3.zstd": b"\x28\xb5\x2f\xfd", "good.jpg": picture(1)}
    batch = bring_in(write(tmp_path / "batch", files), taxonomy=None)

    assert quarantined(batch) == {"a.db3.zstd": "unsupported"}


ANNOTATIONS = """builtin_interfaces/Time[] circles
foxglove_msgs/PointsAnnotation[] points
foxglove_msgs/TextAnnotation[] texts
================================================================================
MSG: foxglove_msgs/PointsAnnotation
builtin_interfaces/Time timestamp
uint8 type
foxglove_msgs/Point2[] points
================================================================================
MSG: foxglove_msgs/TextAnnotation
builtin_interfaces/Time timestamp
foxglove_msgs/Point2 position
string text
================================================================================
MSG: foxglove_msgs/Point2
float64 x
float64 y
"""


def test_upright_rectangles_of_foxglove_are_boxes_called_by_the_text_beside_them(tmp_path):
    ros = Ros2()
    kind = "foxglove_msgs/msg/ImageAnnotations"
    defined = get_types_from_msg(ANNOTATIONS, kind)
    ros.store.register({name: what for name, what in defined.items() if name not in ros.store.fielddefs})

    def point(x, y):
        return ros.make("foxglove_msgs/msg/Point2", float(x), float(y))

    def drawn(*corners):
        stamp = ros.header(START_NS, "").stamp
        return ros.make("foxglove_msgs/msg/PointsAnnotation", stamp, 2, [point(*corner) for corner in corners])

    stamp = ros.header(START_NS, "").stamp
    texts = [
        ros.make("foxglove_msgs/msg/TextAnnotation", stamp, point(41, 8), "bus"),
        ros.make("foxglove_msgs/msg/TextAnnotation", stamp, point(1, 2), "car"),
    ]
    car, bus = drawn((1, 2), (20, 2), (20, 30), (1, 30)), drawn((40, 10), (60, 10), (60, 40), (40, 40))
    entries, _ = pictures(2, ros)
    entries.append(("/drawn", START_NS, (kind, ros.make(kind, [], [car, bus, drawn((1, 1), (9, 3), (4, 8))], texts))))
    entries.append(("/drawn", START_NS + STEP_NS, (kind, ros.make(kind, [stamp], [], []))))
    batch = one(tmp_path, mcap(entries, ros))

    assert rows(batch.tables.boxes, "class_name", "x1", "y1", "x2", "y2") == [
        ("bus", 40, 10, 60, 40),
        ("car", 1, 2, 20, 30),
    ]
    assert batch.counts["frames_labeled"] == 1  # a message of circles does not say that there are no boxes
    assert any("1 messages on /drawn draw, but no upright rectangle" in note for note in batch.notes)
