import json

import pytest

from driveflow.formats.detect import detect_format, detect_formats
from driveflow.formats.mot import mot_files, read_mot
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

INFO = "[Sequence]\nname=drive-7\nimDir=img1\nframeRate=20\nseqLength=3\nimWidth=100\nimHeight=80\nimExt=.jpg\n"
NAMES = tuple(f"s/img1/{number:06d}.jpg" for number in (1, 2, 3))


def read(text, *names, path="s/gt/gt.txt", **more):
    return read_mot(InMemory(pictures(*(names or NAMES)) | {path: text} | more))


def attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def test_frames_and_pixels_count_from_one():
    assert boxes(read("2,7,11,21,20,30,1,3,0.5")) == [("s/img1/000002.jpg", "car", 10, 20, 30, 50)]


def test_a_box_may_begin_outside_of_its_picture():
    assert boxes(read("1,7,-9,1,20,30,1,1,1"))[0][2:] == (-10, 0, 10, 30)


def test_tracks_and_visibility_are_kept():
    assert attributes(read("1,7,1,1,2,2,1,1,0.25\n1,-1,1,1,2,2,1,1,-1")) == [{"track_id": 7, "visibility": 0.25}, {}]


def test_what_is_not_to_be_counted_is_an_ignore_region():
    labels = read("1,7,1,1,2,2,0,8,1\n1,8,1,1,2,2,1,1,1")

    assert labels.boxes["ignore"].to_pylist() == [True, False]
    assert labels.boxes["class_name"].to_pylist() == ["distractor", "pedestrian"]
    assert labels.boxes["score"].to_pylist() == [None, None]


@pytest.mark.parametrize("line", ["1,7,1,1,2,2,1,-1,-1,-1", "1,7,1,1,2,2,1"])
def test_lines_without_a_class_are_pedestrians_as_in_the_challenge(line):
    assert [row[1] for row in boxes(read(line))] == ["pedestrian"]


def test_a_list_of_labels_names_the_classes_from_one_on():
    labels = read("1,7,1,1,2,2,1,2,1", **{"s/gt/labels.txt": "bike\r\ntram\r\n"})

    assert [row[1:] for row in boxes(labels)] == [("tram", 1, 1, 3, 3)]  # who writes such a list counts from 0
    assert set(looked_for(labels).values()) == {("bike", "tram")}
    assert "s/gt/labels.txt" in labels.files


@pytest.mark.parametrize(("number", "more"), [(14, {}), (0, {}), (3, {"s/gt/labels.txt": "bike\ntram"})])
def test_a_class_that_is_not_listed_breaks_its_picture_and_names_the_line(number, more):
    labels = read(f"1,7,1,1,2,2,1,1,1\n2,7,1,1,2,2,1,{number},1", **more)

    assert problems(labels) == [("s/gt/gt.txt", 2, "label_class_out_of_range")]
    broken = {row["path"]: row["broken"] for row in labels.images.to_pylist() if row["broken"]}
    assert list(broken) == ["s/img1/000002.jpg"]
    assert broken["s/img1/000002.jpg"].startswith("s/gt/gt.txt:2: class")


def test_every_picture_of_the_sequence_is_labeled():
    assert looked_for(read("2,7,1,1,2,2,1,3,1")) == dict.fromkeys(NAMES, ("car",))


def test_detections_are_predictions_and_label_no_picture():
    labels = read("1,-1,1,1,2,2,0.75\n1,-1,1,1,2,2,-0.5", path="s/det/det.txt")

    assert labels.boxes["score"].to_pylist() == [0.75, -0.5]
    assert labels.boxes["ignore"].to_pylist() == [False, False]
    assert looked_for(labels) == {}


def test_scores_that_are_no_probabilities_are_told():
    labels = read("1,-1,1,1,2,2,45.5\n1,-1,1,1,2,2,-0.5", path="s/det/det.txt")

    assert labels.notes[-1] == "s/det/det.txt: scores reach from -0.5 to 45.5: no probabilities."


def test_truth_and_detections_of_one_sequence_are_told_apart():
    labels = read("1,7,1,1,2,2,1,1,1", **{"s/det/det.txt": "1,-1,1,1,2,2,0.5"})

    assert sorted(labels.boxes["score"].to_pylist(), key=str) == [0.5, None]
    assert len(looked_for(labels)) == 3


def test_seqinfo_gives_drive_time_and_size():
    labels = read("1,7,1,1,2,2,1,1,1", **{"s/seqinfo.ini": INFO})

    rows = labels.images.to_pylist()
    assert [(row["drive"], row["captured_ns"], row["clock"]) for row in rows] == [
        ("drive-7", 0, "drive_relative"),
        ("drive-7", 50_000_000, "drive_relative"),
        ("drive-7", 100_000_000, "drive_relative"),
    ]
    assert (rows[0]["width"], rows[0]["height"]) == (100, 80)


@pytest.mark.parametrize(
    "info", ["", "no ini", "[Sequence]\nframeRate=x\nseqLength=-4", "[Other]\nname=x", "[Sequence"]
)
def test_without_a_usable_seqinfo_the_folder_is_the_drive_and_there_are_no_times(info):
    row = read("1,7,1,1,2,2,1,1,1", **{"s/seqinfo.ini": info}).images.to_pylist()[0]

    assert (row["drive"], row["captured_ns"], row["clock"]) == ("s", None, "")


def test_pictures_with_other_names_go_by_their_order():
    labels = read("1,7,1,1,2,2,1,3,1\n3,7,5,1,2,2,1,3,1", "s/img1/f9.jpg", "s/img1/f10.jpg", "s/img1/f11.jpg")

    assert [row[0] for row in boxes(labels)] == ["s/img1/f11.jpg", "s/img1/f9.jpg"]
    assert "frame 1 is s/img1/f9.jpg" in labels.notes[0]


def test_pictures_numbered_from_zero_go_by_their_order():
    labels = read("1,7,1,1,2,2,1,3,1", *(f"s/img1/{number:06d}.jpg" for number in range(3)))

    assert [row[0] for row in boxes(labels)] == ["s/img1/000000.jpg"]


def test_some_of_the_numbered_pictures_are_enough():
    labels = read("1,7,1,1,2,2,1,3,1\n3,7,5,1,2,2,1,3,1", "s/img1/000002.jpg", "s/img1/000003.jpg")

    assert [row[0] for row in boxes(labels)] == ["s/img1/000003.jpg"]
    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 1)]


def test_frames_of_a_video_file_are_counted_in_the_order_of_their_times():
    labels = read("2,7,1,1,2,2,1,3,1", *(f"clip.mp4!/video/{stamp}.jpg" for stamp in (0, 40, 100)), path="gt/gt.txt")

    assert [row[0] for row in boxes(labels)] == ["clip.mp4!/video/40.jpg"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,7,1,1,0,2,1,1,1", "label_bad_box"),
        ("1,7,1,1,nan,2,1,1,1", "label_syntax"),
        ("1,7,1,1", "label_syntax"),
        ("0,7,1,1,2,2,1,1,1", "label_syntax"),
        ("one,7,1,1,2,2,1,1,1", "label_syntax"),
    ],
)
def test_a_bad_line_costs_itself_and_is_named(line, reason):
    labels = read(f"2,7,1,1,2,2,1,1,1\n{line}\n")

    assert problems(labels) == [("s/gt/gt.txt", 2, reason)]
    assert labels.boxes_read == 2


def test_a_frame_all_of_whose_boxes_are_useless_is_no_empty_one():
    assert set(looked_for(read("2,7,1,1,2,2,1,1,1\n1,7,1,1,0,2,1,1,1"))) == set(NAMES[1:])


@pytest.mark.parametrize(
    ("files", "is_mot"),
    [
        ({"s/gt/gt.txt": "1,-1,0,4,4,8,1,3,1.0"}, True),
        ({"s/gt/any.txt": "1,-1,0,4,4,8,1,3,1.0", "s/seqinfo.ini": INFO}, True),
        ({"s/gt/gt.txt": "0 0.5 0.5 0.1 0.1"}, False),
        ({"gt.txt": "Car 0.00 0 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10"}, False),
        ({"numbers.txt": "1,-1,0,4,4,8,1,3,1.0"}, False),
        ({"s/gt/labels.txt": "car"}, False),
    ],
)
def test_files_are_told_by_content_and_place(files, is_mot):
    assert bool(mot_files(Sniffer(InMemory(files)))) == is_mot


@pytest.mark.parametrize("patterns", [("mot/**/*", "frames/*"), ("mot/**/*", "frames/*", "cvat_video/*")])
def test_the_tracks_of_the_recording_are_those_of_its_truth(patterns):
    home = shared_data("fmt_recordings")
    labels = read_mot(OnDisk(home, *patterns))

    truth = json.loads((home / "truth.json").read_text())["frames"]
    assert_same_boxes(found_rows(labels), truth_rows(truth), within_px=1e-6)
    first = truth[0]["stamp_ns"]
    assert {row["path"].rpartition("/")[2]: row["captured_ns"] for row in labels.images.to_pylist()} == {
        frame["file"]: frame["stamp_ns"] - first for frame in truth
    }
    assert labels.problems == ()


def test_the_fixtures_of_another_tool_have_the_lines_of_their_files():
    home = shared_data("fmt_datumaro") / "mot_dataset"
    labels = read_mot(OnDisk(home))

    assert labels.boxes_read == count_in(home, "**/gt.txt", rb"(?m)^\d") == 2
    assert boxes(labels) == [("mot_seq/img1/000001.jpg", "label_2", 0, 4, 4, 12)]
    assert [problem.reason for problem in labels.problems] == ["label_missing_picture"]


def test_mot_sets_are_found_as_mot():
    assert detect_format(OnDisk(shared_data("fmt_datumaro") / "mot_dataset")) == "mot"
    assert detect_formats(OnDisk(shared_data("fmt_recordings"), "mot/**/*", "frames/*")) == ["mot"]
