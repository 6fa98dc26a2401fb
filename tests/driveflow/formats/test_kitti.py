import json

import pytest

from driveflow.formats.detect import detect_format
from driveflow.formats.kitti import kitti_files, read_kitti
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

CAR = "Car 0.14 1 1.57 100.00 50.00 200.00 120.00 1.5 1.6 3.9 -2.1 1.7 12.3 1.4"
FLAT = "Van 0.00 0 -10 10.00 20.00 30.00 40.00 -1 -1 -1 -1000 -1000 -1000 -10"
DONT_CARE = "DontCare -1 -1 -10 500.00 100.00 550.00 130.00 -1 -1 -1 -1000 -1000 -1000 -10"


def read(text, **more):
    files = pictures("training/image_2/000000.png") | {"training/label_2/000000.txt": text} | more
    return read_kitti(InMemory(files))


def attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def test_pixels_are_taken_as_they_are():
    assert boxes(read(CAR)) == [("training/image_2/000000.png", "Car", 100, 50, 200, 120)]


def test_everything_the_columns_say_is_kept():
    assert attributes(read(CAR)) == [
        {
            "truncated": 0.14,
            "occluded": 1,
            "alpha": 1.57,
            "dimensions": [1.5, 1.6, 3.9],
            "location": [-2.1, 1.7, 12.3],
            "rotation_y": 1.4,
        }
    ]


def test_minus_one_ten_and_thousand_stand_for_nothing():
    assert attributes(read(f"{FLAT}\n{DONT_CARE}")) == [{"truncated": 0.0, "occluded": 0}, {}]


def test_occlusion_level_three_is_unknown_and_not_the_most():
    assert attributes(read(FLAT.replace("0.00 0", "0.00 3"))) == [
        {"truncated": 0.0, "occluded": 3, "visibility": "unknown"}
    ]


def test_dont_care_is_an_ignore_region_and_nobody_looked_for_it():
    labels = read(f"{CAR}\n{DONT_CARE}")

    assert labels.boxes["ignore"].to_pylist() == [False, True]
    assert labels.boxes["class_name"].to_pylist() == ["Car", "DontCare"]
    assert looked_for(labels) == {"training/image_2/000000.png": ("Car",)}


def test_double_blanks_tabs_and_windows_line_ends_separate_as_well():
    text = f"{CAR.replace(' ', '  ')}\r\n\r\n{FLAT.replace(' ', chr(9))}\r\n"

    assert [row[1] for row in boxes(read(text))] == ["Car", "Van"]


def test_a_class_name_may_hold_blanks():
    assert [row[1] for row in boxes(read(FLAT.replace("Van", "Person sitting")))] == ["Person sitting"]


def test_a_file_with_scores_holds_predictions_and_labels_no_picture():
    files = pictures("training/image_2/000000.png", "training/image_2/000001.png")
    files |= {"results/data/000000.txt": f"{CAR} 0.87", "results/data/000001.txt": ""}
    labels = read_kitti(InMemory(files))

    assert labels.boxes["score"].to_pylist() == [0.87]
    assert looked_for(labels) == {}


@pytest.mark.parametrize("score", ["1", "1.0"])
def test_scores_that_are_all_one_are_those_of_a_tool_that_has_none(score):
    files = pictures("image_2/000000.png", "image_2/000001.png")
    files |= {"label_2/000000.txt": f"{CAR} {score}", "label_2/000001.txt": f"{CAR} {score}\n{CAR} {score}\n"}
    labels = read_kitti(InMemory(files))

    assert labels.boxes["score"].to_pylist() == [None] * 3
    assert looked_for(labels) == dict.fromkeys(("image_2/000000.png", "image_2/000001.png"), ("Car",))
    assert "label_2: all scores are 1, as Datumaro and CVAT write them" in labels.notes[0]


@pytest.mark.parametrize(("one", "other"), [(" 1.0", " 0.9"), (" 1.00", " 1.00"), (" 1", "")])
def test_a_score_of_one_among_others_is_a_score(one, other):
    files = pictures("image_2/000000.png", "image_2/000001.png")
    labels = read_kitti(InMemory(files | {"label_2/000000.txt": CAR + one, "label_2/000001.txt": CAR + other}))

    assert labels.boxes["score"].to_pylist()[0] == 1.0
    assert looked_for(labels) == {}


def test_labels_have_no_score():
    assert read(CAR).boxes["score"].to_pylist() == [None]


def test_scores_that_are_no_probabilities_are_kept_and_told():
    labels = read(f"{CAR} 12.5")

    assert labels.boxes["score"].to_pylist() == [12.5]
    assert "reach from 12.5 to 12.5" in labels.notes[0]


def test_an_empty_file_is_labeled_and_no_file_is_not():
    files = pictures(*(f"training/image_2/00000{number}.png" for number in range(3)))
    files |= {"training/label_2/000000.txt": CAR, "training/label_2/000001.txt": "\n"}
    labels = read_kitti(InMemory(files))

    assert looked_for(labels) == {f"training/image_2/00000{number}.png": ("Car",) for number in range(2)}
    assert labels.images.num_rows == 3


def test_label_2_belongs_to_the_left_camera_only():
    files = pictures("training/image_2/000000.png", "training/image_3/000000.png", "testing/image_2/000000.png")
    labels = read_kitti(InMemory(files | {"training/label_2/000000.txt": CAR}))

    assert set(looked_for(labels)) == {"training/image_2/000000.png"}
    assert {row["path"]: (row["camera"], row["source_split"]) for row in labels.images.to_pylist()} == {
        "training/image_2/000000.png": ("image_2", "train"),
        "training/image_3/000000.png": ("image_3", "train"),
        "testing/image_2/000000.png": ("image_2", "test"),
    }


def test_a_picture_of_the_other_camera_does_not_stand_in_for_a_missing_one():
    files = pictures("training/image_2/000001.png", "training/image_3/000000.png")
    labels = read_kitti(InMemory(files | {"training/label_2/000000.txt": f"{CAR}\n{FLAT}"}))

    assert [(problem.reason, problem.boxes) for problem in labels.problems] == [("label_missing_picture", 2)]
    assert looked_for(labels) == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Car 0.00 0 -10 10 20 30", "label_syntax"),
        (f"{CAR} 0.5 7", "label_syntax"),
        (CAR.replace("100.00", "nan"), "label_syntax"),
        (CAR.replace("200.00", "90.00"), "label_bad_box"),
    ],
)
def test_a_bad_line_costs_itself_and_is_named(line, reason):
    labels = read(f"{FLAT}\n{line}\n{FLAT}")

    assert len(boxes(labels)) == 2
    assert problems(labels) == [("training/label_2/000000.txt", 2, reason)]
    assert labels.boxes_read == 3


def test_a_file_of_bad_lines_only_is_no_empty_picture():
    more = {"training/label_2/000001.txt": CAR.replace("200.00", "90.00"), "training/image_2/000001.png": b""}

    assert set(looked_for(read(CAR, **more))) == {"training/image_2/000000.png"}


def test_a_broken_file_among_labels_is_reported_and_not_passed_over():
    more = {"training/label_2/000001.txt": "Car 0.00 0", "training/image_2/000001.png": b""}
    labels = read(CAR, **more)

    assert problems(labels) == [("training/label_2/000001.txt", 1, "label_syntax")]
    assert set(looked_for(labels)) == {"training/image_2/000000.png"}


@pytest.mark.parametrize(
    ("text", "is_kitti"),
    [
        (CAR, True),
        (f"{CAR} 0.5", True),
        (f"\n{DONT_CARE}\n", True),
        ("", False),
        ("0 0.5 0.5 0.1 0.1", False),
        ("1,-1,0,4,4,8,1,3,1.0", False),
        ("0 0.1 0.1 0.2 0.2 0.3 0.3 0.4 0.4 0.5 0.5 0.6 0.6 0.7 0.7", False),
        ("readme of this set", False),
    ],
)
def test_labels_are_told_by_content(text, is_kitti):
    assert bool(kitti_files(Sniffer(InMemory({"any/where.txt": text})))) == is_kitti


def test_the_truth_comes_back_exactly_as_kitti_keeps_its_decimals():
    home = shared_data("fmt_same_truth")
    labels = read_kitti(OnDisk(home / "kitti"))

    truth = json.loads((home / "truth.json").read_text())
    names = {theirs: ours for ours, theirs in json.loads((home / "kitti" / "names.json").read_text()).items()}
    classes = json.loads((home / "class_maps.json").read_text())["kitti"]
    assert_same_boxes(found_rows(labels), truth_rows(truth["images"], names, classes), within_px=1e-6)
    assert len(looked_for(labels)) == 13
    assert labels.problems == ()
    said = {(box["truncated"], box["occluded"]) for image in truth["images"] for box in image["boxes"]}
    assert {round(entry["truncated"], 2) for entry in attributes(labels)} == {round(first, 2) for first, _ in said}


def test_the_fixture_of_another_tool_has_the_boxes_of_its_files():
    home = shared_data("fmt_datumaro") / "kitti_dataset"
    labels = read_kitti(OnDisk(home))

    assert labels.boxes.num_rows == count_in(home, "**/label_2/*.txt", rb"(?m)^[A-Z]\w+ ") == 5
    assert len(looked_for(labels)) == 2
    assert boxes(labels)[0] == ("kitti_detection/training/image_2/000030_10.png", "Truck", 0, 1, 2, 3)


@pytest.mark.parametrize("name", ["fmt_same_truth/kitti", "fmt_datumaro/kitti_dataset"])
def test_kitti_sets_are_found_as_kitti(name):
    assert detect_format(OnDisk(shared_data(name))) == "kitti"


DEVKIT = {
    "devkit/mapping/train_rand.txt": "3,1,2",
    "devkit/mapping/train_mapping.txt": "2011_09_26 2011_09_26_drive_0005_sync 0000000109\n"
    "2011_09_26 2011_09_26_drive_0009_sync 0000000001\n2011_09_28 2011_09_28_drive_0106_sync 0000000048\n",
}


def _drives(**changed):
    more = pictures("training/image_2/000002.png", "training/image_3/000000.png", "testing/image_2/000000.png")
    labels = read(CAR, **more, **(DEVKIT | changed))
    told = zip(labels.images["path"].to_pylist(), labels.images["drive"].to_pylist(), strict=True)
    return {path.partition("/image_")[2].partition(".")[0]: drive for path, drive in told if "training" in path}, labels


def test_the_devkit_says_of_which_drive_a_training_picture_is():
    found, labels = _drives()

    assert found == {
        "2/000000": "2011_09_28_drive_0106_sync",
        "3/000000": "2011_09_28_drive_0106_sync",
        "2/000002": "2011_09_26_drive_0009_sync",
    }
    assert "" in labels.images["drive"].to_pylist()  # the one of testing
    assert set(DEVKIT) <= labels.files


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("train_rand.txt", "3,one,2", "no drives are read: invalid literal for int() with base 10: 'one'"),
        ("train_rand.txt", "3", "no drives are read: picture 000002 has line 0 of 3"),
        ("train_rand.txt", "9,1,2", "no drives are read: picture 000000 has line 9 of 3"),
        ("train_rand.txt", "-1,1,2", "no drives are read: picture 000000 has line -1 of 3"),
        ("train_mapping.txt", "\n\nday drive 1", "no drives are read: picture 000000 has line 3 of 3"),
    ],
)
def test_a_devkit_that_does_not_fit_is_named_and_says_no_drive(name, text, told):
    found, labels = _drives(**{f"devkit/mapping/{name}": text})

    assert set(found.values()) == {""}
    assert [problem.detail for problem in labels.problems if problem.detail.startswith(told)]


def test_many_training_pictures_of_drives_that_nobody_names_are_noted():
    labels = read(CAR, **pictures(*(f"training/image_2/{number:06}.png" for number in range(1, 120))))

    assert [
        note for note in labels.notes if note.startswith("The 120 pictures of training/ may be frames of few drives")
    ]
