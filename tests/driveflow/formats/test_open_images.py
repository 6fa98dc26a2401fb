import json

import pytest

from driveflow.formats.detect import detect_formats
from driveflow.formats.open_images import open_images_files, read_open_images
from driveflow.formats.sniff import Sniffer
from tests.driveflow.formats.in_memory import InMemory, boxes, looked_for, pictures, problems
from tests.driveflow.formats.on_disk import OnDisk, assert_same_boxes, count_in, found_rows, truth_rows
from tests.shared_data import shared_data

HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
NAMES = "/m/01,Van\n/m/02,Tram\n/m/03,Bus\n"
PICTURES = ("images/train/a.jpg", "images/train/b.jpg", "images/train/c.jpg")


def _files(*rows, header=HEADER, names=NAMES, verified=(), path="oidv6-train-annotations-bbox.csv"):
    files = {path: "\n".join([header, *rows]) + "\n", "class-descriptions-boxable.csv": names}
    if verified:
        text = "\n".join(["ImageID,Source,LabelName,Confidence", *verified])
        files["train-annotations-human-imagelabels.csv"] = text
    return InMemory(files | pictures(*PICTURES))


def _read(*rows, **more):
    return read_open_images(_files(*rows, **more))


def _attributes(labels):
    return [json.loads(text) for text in labels.boxes["attributes"].to_pylist()]


def test_boxes_are_shares_of_the_picture_with_the_names_of_their_classes():
    labels = _read("a,xclick,/m/01,1,0.25,0.5,0.125,0.75,0,0,0,0,0")

    assert boxes(labels) == [("images/train/a.jpg", "Van", 0.25, 0.125, 0.5, 0.75)]
    assert labels.boxes["normalised"].to_pylist() == [True]
    assert labels.boxes["line"].to_pylist() == [2]
    assert labels.images["source_split"].to_pylist() == ["train"]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (HEADER, "a,xclick,/m/01,1,0.25,0.5,0.125,0.75,0,0,0,0,0"),
        (HEADER + ",XClick1X,XClick2X", "a,xclick,/m/01,1,0.25,0.5,0.125,0.75,0,0,0,0,0,0.2,0.3"),
        ("ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf", "a,/m/01,0.25,0.5,0.125,0.75,0"),
        ("\ufeffimageid;labelname;xmin;ymin;xmax;ymax", "a;/m/01;0.25;0.125;0.5;0.75"),
    ],
    ids=["v4", "v6", "challenge", "other separator"],
)
def test_headers_of_all_versions_are_told_by_their_columns(header, row):
    files = _files(row, header=header)

    assert open_images_files(Sniffer(files)) == ["oidv6-train-annotations-bbox.csv"]
    assert detect_formats(files)[0] == "open_images"
    assert boxes(read_open_images(files)) == [("images/train/a.jpg", "Van", 0.25, 0.125, 0.5, 0.75)]


def test_ac_b25_only_the_classes_that_were_drawn_or_verified_to_be_absent_were_looked_for():
    labels = _read(
        "a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0",
        "b,xclick,/m/02,1,0.1,0.2,0.1,0.2,0,0,0,0,0",
        verified=["a,verification,/m/02,0", "a,verification,/m/03,1", "c,crowdsource-verification,/m/03,0"],
    )

    assert looked_for(labels) == {
        "images/train/a.jpg": ("Tram", "Van"),
        "images/train/b.jpg": ("Tram",),
        "images/train/c.jpg": ("Bus",),
    }


def test_guesses_of_a_machine_verify_nothing():
    labels = _read("a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0", verified=["a,machine,/m/02,0", "b,machine,/m/01,0.9"])

    assert looked_for(labels) == {"images/train/a.jpg": ("Van",)}


def test_groups_are_ignore_regions_and_flags_are_kept_where_they_say_something():
    labels = _read(
        "a,activemil,/m/01,1,0.1,0.2,0.1,0.2,1,0,1,0,0",
        "a,xclick,/m/01,1,0.3,0.4,0.1,0.2,-1,-1,-1,-1,-1",
    )

    assert labels.boxes["ignore"].to_pylist() == [True, False]
    flags = {"IsDepiction": False, "IsGroupOf": True, "IsInside": False, "occluded": True, "truncated": False}
    assert _attributes(labels) == [{**flags, "source": "activemil"}, {"source": "xclick"}]


def test_confidence_is_a_score_only_of_a_machine():
    labels = _read(
        "a,xclick,/m/01,0.7,0.1,0.2,0.1,0.2,0,0,0,0,0",
        "b,machine,/m/01,0.7,0.1,0.2,0.1,0.2,0,0,0,0,0",
        "c,machine,/m/01,7,0.1,0.2,0.1,0.2,0,0,0,0,0",
    )

    assert labels.boxes["score"].to_pylist() == [None, 0.7]
    assert list(looked_for(labels)) == ["images/train/a.jpg"]
    assert problems(labels) == [("oidv6-train-annotations-bbox.csv", 4, "label_bad_score")]


def test_a_class_without_a_name_keeps_its_id():
    assert boxes(_read("a,xclick,/m/09,1,0.1,0.2,0.1,0.2,0,0,0,0,0"))[0][1] == "/m/09"


@pytest.mark.parametrize("corners", ["0.2,0.2,0.1,0.2", "0.3,0.2,0.1,0.2", ",,,", "nan,0.2,0.1,0.2", "x,y,z,w"])
def test_a_box_that_is_none_is_named_with_its_line(corners):
    labels = _read("a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0", f"b,xclick,/m/01,1,{corners},0,0,0,0,0")

    assert problems(labels) == [("oidv6-train-annotations-bbox.csv", 3, "label_bad_box")]
    assert list(looked_for(labels)) == ["images/train/a.jpg"]


def test_a_box_without_a_class_is_named():
    labels = _read("a,xclick,,1,0.25,0.5,0.125,0.75,0,0,0,0,0")

    assert boxes(labels) == []
    assert problems(labels) == [("oidv6-train-annotations-bbox.csv", 2, "label_no_class")]


def test_pictures_that_are_not_in_the_batch_are_one_problem_with_all_their_boxes():
    rows = [f"x{number},xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0" for number in range(9)]
    labels = _read("a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0", *rows, rows[0])

    (problem,) = labels.problems
    assert (problem.reason, problem.boxes) == ("label_missing_picture", 10)
    assert problem.detail == "9 pictures are no files of this batch: x0, x1, x2, x3, x4 ..."


def test_pictures_that_no_table_lists_are_unlabeled_and_counted():
    labels = _read("a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0")

    assert labels.notes == (
        "2 pictures are in no label file and stay unlabeled: images/train/b.jpg, images/train/c.jpg.",
    )


def test_a_picture_of_several_folders_is_that_of_the_split_of_its_table():
    files = _files("a,xclick,/m/01,1,0.1,0.2,0.1,0.2,0,0,0,0,0", path="validation-annotations-bbox.csv")
    files.files |= pictures("images/validation/a.jpg")

    assert boxes(read_open_images(files))[0][0] == "images/validation/a.jpg"


@pytest.mark.parametrize(
    "text", ["", HEADER, "ImageID\na\n", HEADER + "\na\n", '"' + HEADER, HEADER + "\n\x00\xff,,,\n"]
)
def test_no_content_makes_the_reader_raise(text):
    files = InMemory({"x.csv": text.encode("latin-1"), **pictures(*PICTURES)})

    assert read_open_images(files, "x.csv").boxes.num_rows == 0
    assert detect_formats(files)


def test_the_truth_comes_back_as_exactly_as_six_digits_of_a_share_are():
    home = shared_data("fmt_same_truth")
    files = OnDisk(home / "open_images")
    labels = read_open_images(files)

    truth = json.loads((home / "truth.json").read_text())["images"]
    sizes = {image["file"]: (image["width"], image["height"]) for image in truth}
    found = [
        (name, kind, *(corner * side for corner, side in zip(corners, sizes[name] * 2, strict=True)))
        for name, kind, *corners in found_rows(labels)
    ]
    assert_same_boxes(found, truth_rows(truth), within_px=max(map(max, sizes.values())) * 0.5e-6)
    drawn = {image["file"]: {box["cls"] for box in image["boxes"]} for image in truth if image["boxes"]}
    assert {path.rpartition("/")[2]: set(names) for path, names in looked_for(labels).items()} == drawn
    assert labels.problems == ()
    assert detect_formats(files) == ["open_images"]


def test_the_fixture_of_another_tool_has_the_boxes_of_its_files_and_partial_labels():
    home = shared_data("fmt_datumaro") / "open_images_dataset" / "v6"
    labels = read_open_images(OnDisk(home))

    assert labels.boxes.num_rows == count_in(home, "**/*-bbox.csv", rb"(?m)^\w,xclick") == 2
    assert boxes(labels)[1] == ("images/train/b.jpg", "Generic label #0", 0.2, 0.3, 1, 0.5)
    assert looked_for(labels) == {
        "images/test/c.jpg": ("Generic label #3",),
        "images/train/b.jpg": ("Generic label #0",),
    }
    assert labels.boxes["ignore"].to_pylist() == [False, True]  # the one of the test part is a group
    assert labels.problems == ()
