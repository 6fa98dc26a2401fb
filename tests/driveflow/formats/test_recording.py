import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.recording import read_recording
from driveflow.formats.recording_text import (
    RecordedBox,
    RecordedFrame,
    RecordedLabels,
    RecordedPlace,
    RecordedProblem,
    RecordedSpeed,
    RecordingText,
    write_recording,
)
from tests.driveflow.formats.in_memory import InMemory, boxes, problems

START_NS = 1_700_000_000_000_000_001
MS = 10**6
TEXT = "a/d.mcap!/recording.json"


def frames(*stamps, camera="front", log_ns=None):
    """Return frames at `stamps`, in milliseconds after the start."""
    return tuple(
        RecordedFrame(f"{camera}/{turn}.jpg", camera, f"/{camera}", camera, START_NS + stamp * MS, log_ns)
        for turn, stamp in enumerate(stamps)
    )


def said(at_ms, *drawn, topic="/truth", sensor="front"):
    """Return a message of boxes: (class, score)."""
    items = tuple(RecordedBox(name, 1, 2, 30, 40, score=score) for name, score in drawn)
    return RecordedLabels(topic, sensor, START_NS + at_ms * MS, START_NS + at_ms * MS, items)


def read(text, path=TEXT, **more):
    pictures = [f"{path.rpartition('/')[0]}/{frame.path}" for frame in text.frames]
    return read_recording(InMemory({path: write_recording(text), **dict.fromkeys(pictures, b"")} | more))


def rows(labels, *names):
    return [tuple(row[name] for name in names) for row in labels.images.to_pylist()]


def test_a_recording_is_known_by_its_text_and_not_by_its_name():
    text = write_recording(RecordingText(frames=frames(0)))

    assert detect_formats(InMemory({TEXT: text})) == ["recording"]
    assert detect_formats(InMemory({TEXT: b"{}"})) == ["folder"]


def test_frames_have_their_camera_time_clock_and_drive():
    labels = read(RecordingText(frames=frames(0, 100)))

    found = rows(labels, "path", "camera", "captured_ns", "clock", "drive", "class_list")
    assert found == [
        ("a/d.mcap!/front/0.jpg", "front", START_NS, "utc", "a/d", None),
        ("a/d.mcap!/front/1.jpg", "front", START_NS + 100 * MS, "utc", "a/d", None),
    ]
    assert TEXT in labels.files


def test_boxes_belong_to_the_picture_with_exactly_their_stamp():
    labels = read(RecordingText(frames=frames(0, 100), labels=(said(100, ("car", 1.0)),)))

    assert boxes(labels) == [("a/d.mcap!/front/1.jpg", "car", 1, 2, 30, 40)]
    assert labels.boxes["score"].to_pylist() == [None]
    assert labels.notes == ()


def test_boxes_between_two_pictures_go_to_the_nearest_and_are_told():
    labels = read(RecordingText(frames=frames(0, 100, 200), labels=(said(140, ("car", 0.0)),)))

    assert [path for path, *_ in boxes(labels)] == ["a/d.mcap!/front/1.jpg"]
    assert labels.notes == ("a/d.mcap: 1 messages on /truth were matched to the picture with the nearest stamp.",)


def test_boxes_further_off_than_half_a_frame_period_are_lost_by_name():
    labels = read(RecordingText(frames=frames(0, 100, 200), labels=(said(260, ("car", 1.0)),)))

    assert problems(labels) == [(TEXT, None, "label_missing_picture")]
    assert labels.boxes_read == 1


def test_a_topic_with_one_unsure_score_is_of_predictions_and_labels_nothing():
    text = RecordingText(
        frames=frames(0, 100),
        labels=(said(0, ("car", 1.0), topic="/yolo"), said(100, ("car", 0.4), topic="/yolo"), said(0, ("bus", 1.0))),
    )
    labels = read(text)

    found = {(row["path"][-5], row["class_name"], row["score"]) for row in labels.boxes.to_pylist()}
    assert found == {("0", "car", 1.0), ("1", "car", 0.4), ("0", "bus", None)}
    assert labels.class_lists == (("bus",),)
    assert [listed for listed in rows(labels, "listing", "class_list") if listed[1] is not None] == [(1, 0)]


def test_classes_looked_for_are_those_of_all_recordings_of_the_batch():
    other = "b/e.mcap!/recording.json"
    texts = {
        TEXT: write_recording(RecordingText(frames=frames(0), labels=(said(0, ("car", 1.0)),))),
        other: write_recording(RecordingText(frames=frames(0), labels=(said(0, ("bus", 1.0)),))),
    }
    labels = read_recording(InMemory(texts))

    assert labels.class_lists == (("bus", "car"),)
    assert len(read_recording(InMemory(texts), "b").images) == 1


def test_boxes_without_a_class_are_counted_as_lost():
    labels = read(RecordingText(frames=frames(0), labels=(said(0, ("", 0.0), ("car", 1.0)),)))

    assert problems(labels) == [(TEXT, None, "label_no_class")]
    assert labels.boxes_read == 2


def test_boxes_without_a_sensor_belong_to_the_only_camera_and_to_none_of_two():
    lone = read(RecordingText(frames=frames(0), labels=(said(0, ("car", 1.0), sensor=""),)))
    both = frames(0) + frames(0, camera="rear")
    torn = read(RecordingText(frames=both, labels=(said(0, ("car", 1.0), sensor=""),)))

    assert len(lone.boxes) == 1
    assert problems(torn) == [(TEXT, None, "label_unknown_camera")]


@pytest.mark.parametrize(("off_ms", "near"), [(499, True), (501, False)])
def test_places_and_speeds_count_within_half_a_second(off_ms, near):
    stamp = START_NS + off_ms * MS
    text = RecordingText(
        frames=frames(0), places=(RecordedPlace(stamp, 48.5, 9.5),), speeds=(RecordedSpeed(stamp, 13.5),)
    )

    assert rows(read(text), "lat", "lon", "speed_mps") == [(48.5, 9.5, 13.5) if near else (None, None, None)]


def test_a_video_counts_from_its_beginning_or_from_the_time_it_says():
    shown = (RecordedFrame("video/frame_000000.jpg"), RecordedFrame("video/frame_000001.jpg", stamp_ns=40 * MS))
    bare, dated = RecordingText(frames=shown), RecordingText(frames=shown, start_ns=START_NS)

    assert rows(read(bare), "captured_ns", "clock") == [(0, "drive_relative"), (40 * MS, "drive_relative")]
    assert rows(read(dated), "captured_ns", "clock") == [(START_NS, "utc"), (START_NS + 40 * MS, "utc")]


def test_parts_listed_beside_a_bag_are_one_drive_also_under_the_old_paths():
    listed = {"rosbag2_bagfile_information": {"relative_file_paths": ["run/run_0.db3", "run_1.db3"]}}
    files = {"run/metadata.yaml": json.dumps(listed)}
    for part in ("run_0", "run_1"):
        files[f"run/{part}.db3!/recording.json"] = write_recording(RecordingText(frames=frames(0)))
    labels = read_recording(InMemory(files))

    assert [drive for (drive,) in rows(labels, "drive")] == ["run", "run"]
    assert "run/metadata.yaml" in labels.files
    assert labels.problems == ()


@pytest.mark.parametrize("content", ["", "[", "rosbag2_bagfile_information: 3", "&a [*a]", "{" * 5000, "- " * 5000])
def test_metadata_that_makes_no_sense_is_left_alone(content):
    labels = read(RecordingText(frames=frames(0)), **{"a/metadata.yaml": content + "# rosbag2_bagfile_information"})

    assert "a/metadata.yaml" not in labels.files
    assert rows(labels, "drive") == [("a/d",)]


def test_what_a_recording_could_not_read_is_told():
    text = RecordingText(
        frames=frames(0), problems=(RecordedProblem("recording_unknown_type", "/odd", 2),), notes=("N.",)
    )
    labels = read(text)

    assert problems(labels) == [(TEXT, None, "recording_unknown_type")]
    assert labels.notes == ("a/d.mcap: N.",)


def test_a_text_that_only_begins_as_one_is_a_problem_of_its_own():
    labels = read_recording(InMemory({TEXT: b'{"driveflow_recording":1,"frames":3}'}))

    assert problems(labels) == [(TEXT, None, "label_syntax")]


@pytest.mark.parametrize(
    "says",
    [
        {"places": [{"stamp_ns": START_NS, "lat": 500.0, "lon": 11.0}]},
        {"places": [{"stamp_ns": START_NS, "lat": 48.0, "lon": -1e308}]},
        {"speeds": [{"stamp_ns": START_NS, "mps": -5.0}]},
    ],
)
def test_a_text_that_a_stranger_wrote_says_no_place_and_no_speed_that_cannot_be(says):
    whole = json.loads(write_recording(RecordingText(frames=frames(0))))
    labels = read_recording(InMemory({TEXT: '{"driveflow_recording":1,' + json.dumps(whole | says)[1:]}))

    assert [problem.reason for problem in labels.problems] == ["label_syntax"]
    assert labels.images.num_rows == 0


def test_boxes_without_a_size_are_counted_as_lost():
    drawn = (RecordedBox("car", 30, 2, 1, 40), RecordedBox("car", 1, 2, 30, 2), RecordedBox("car", 1, 2, 30, 40))
    labels = read(RecordingText(frames=frames(0), labels=(RecordedLabels("/truth", "front", START_NS, 0, drawn),)))

    assert labels.boxes.num_rows == 1
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_no_class", 2)]
