import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.kitti_tracking import read_kitti_tracking
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems

CAR = "0 7 Car 1 2 -1.79 296.5 161.5 455.5 292.5 2.0 1.82 4.43 -4.55 1.86 13.41 -2.11"
NOTHING = "0 -1 DontCare -1 -1 -10 0.0 0.0 50.0 40.0 -1000 -1000 -1000 -10 -1 -1 -1"
CYCLIST = "2 3 Cyclist 0 0 0.5 10 20 30 60 1.7 0.6 1.8 1 1 9 0.1"
FILE = "training/label_02/0004.txt"
FRAMES = pictures(*(f"training/image_02/0004/{number:06}.png" for number in range(3)))


def read(*lines, **more):
    return read_kitti_tracking(InMemory(FRAMES | {FILE: "\n".join(lines)} | more))


def test_a_box_belongs_to_the_picture_of_its_frame():
    labels = read(CAR, CYCLIST)

    assert boxes(labels) == [
        ("training/image_02/0004/000000.png", "Car", 296.5, 161.5, 455.5, 292.5),
        ("training/image_02/0004/000002.png", "Cyclist", 10, 20, 30, 60),
    ]
    assert labels.boxes["line"].to_pylist() == [1, 2]


def test_tracks_and_levels_are_kept():
    first, second = (json.loads(text) for text in read(CAR, CYCLIST).boxes["attributes"].to_pylist())

    assert {name: first[name] for name in ("track_id", "truncated", "truncation_level", "occluded")} == {
        "track_id": "7", "truncated": True, "truncation_level": 1, "occluded": 2,
    }  # fmt: skip
    assert (second["track_id"], second["truncated"], second["rotation_y"]) == ("3", False, 0.1)


def test_a_region_that_nobody_looked_at_is_ignored_and_has_no_track():
    labels = read(CAR, NOTHING)

    assert labels.boxes["ignore"].to_pylist() == [False, True]
    assert "track_id" not in json.loads(labels.boxes["attributes"][1].as_py())
    assert set(looked_for(labels).values()) == {("Car",)}


def test_each_frame_of_a_sequence_is_labeled_and_each_sequence_a_drive():
    other = pictures("training/image_02/0009/000000.png", "training/image_03/0004/000000.png")
    labels = read(CAR, **{**other, "training/label_02/0009.txt": CYCLIST.replace("2 3", "0 3", 1)})

    assert set(looked_for(labels)) == {*FRAMES, "training/image_02/0009/000000.png"}
    assert set(looked_for(labels).values()) == {("Car", "Cyclist")}
    drives = {(row["drive"], row["camera"], row["source_split"]) for row in labels.images.to_pylist()}
    assert drives == {
        ("training/0004", "image_02", "train"),
        ("training/0004", "image_03", "train"),
        ("training/0009", "image_02", "train"),
    }


def test_a_sequence_without_objects_is_looked_at_and_empty():
    more = pictures("training/image_02/0005/000000.png") | {"training/label_02/0005.txt": ""}

    assert looked_for(read(CAR, **more))["training/image_02/0005/000000.png"] == ("Car",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Car 1 2 -1.79 296.5 161.5 455.5 292.5 2.0 1.82 4.43 -4.55 1.86 13.41 -2.11", "label_syntax"),
        ("0 7 Car 1 2", "label_syntax"),
        ("0 7 Car 1 2 -1.79 296.5 161.5 96.5 292.5 2.0 1.82 4.43 -4.55 1.86 13.41 -2.11", "label_bad_box"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(line, reason):
    labels = read(CAR, line)

    assert problems(labels) == [(FILE, 2, reason)]
    assert labels.boxes_read == 2


def test_frames_without_a_picture_are_named_with_their_boxes():
    labels = read(CAR, CYCLIST.replace("2 3", "9 3", 1), CYCLIST.replace("2 3", "9 4", 1))

    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 2)]
    assert "training/image_02/0004 has the number of frame 9" in labels.problems[0].detail


def test_results_are_predictions_and_label_nothing():
    labels = read(f"{CAR} 0.75")

    assert labels.boxes["score"].to_pylist() == [0.75]
    assert looked_for(labels) == {}


@pytest.mark.parametrize("lines", [[CAR], [NOTHING], [f"{CAR} 0.5"], ["", CAR]])
def test_content_tells_the_format(lines):
    assert detect_formats(InMemory(FRAMES | {FILE: "\n".join(lines)})) == ["kitti_tracking"]


@pytest.mark.parametrize("name", ["7" * 6000, "²", "one"])
def test_a_picture_whose_name_is_the_number_of_no_frame_stays_without_labels(name):
    odd = f"training/image_02/0004/{name}.png"
    labels = read(CAR, **pictures(odd))

    assert len(boxes(labels)) == 1
    assert odd not in looked_for(labels)
