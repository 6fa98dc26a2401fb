import json

import pytest

from driveflow.formats.coco import read_coco
from driveflow.formats.near_time import NearTimes, TimedPaths, time_in_name
from driveflow.formats.picture_finder import PictureFinder
from tests.driveflow.formats.in_memory import InMemory


@pytest.mark.parametrize(
    ("name", "time_ns"),
    [
        ("1700000000.jpg", 1700000000 * 10**9),
        ("1700000000123.jpg", 1700000000123 * 10**6),
        ("cam_1700000000123456_left.jpg", 1700000000123456 * 10**3),
        ("315969904359876000.jpg", 315_969_904_359_876_000),  # of a clock that did not begin in 1970
        ("1700000000123456789.png", 1700000000123456789),
        ("1700000000.25.jpg", 1700000000250000000),
        ("20231114T221320.5Z.jpg", 1700000000500000000),
        ("2023-11-14_22-13-20.jpg", 1700000000 * 10**9),
        ("2023-13-14_22-13-20.jpg", None),
        ("frame_000123.jpg", None),
    ],
)
def test_times_in_names_are_told_by_their_digits(name, time_ns):
    said = time_in_name(f"folder/{name}")

    assert (said.time_ns if said else None) == time_ns


def test_of_two_files_the_nearer_is_found_and_never_one_of_another_name():
    near = NearTimes(["a/1700000000000100.jpg", "a/1700000000000900.jpg", "b/1700000000000410.jpg"], 10**6)

    joined = near.find("a/1700000000000400.jpg")

    assert (joined.found, joined.gap_ns) == ("a/1700000000000100.jpg", -300_000)
    assert near.find("a/1700000000000400.png") is None


def _coco(tolerance_ns):
    paths = TimedPaths.of(["l.json", "img/1700000000000001.jpg"], tolerance_ns)
    document = {
        "images": [{"id": 1, "file_name": "1700000000000000.jpg", "width": 9, "height": 9}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2]}],
        "categories": [{"id": 1, "name": "car"}],
    }
    files = InMemory({"img/1700000000000001.jpg": b"", "l.json": json.dumps(document)})

    class Tolerant:
        read = staticmethod(files.read)

    Tolerant.paths = paths
    return read_coco(Tolerant), paths.joined


def test_labels_of_a_picture_whose_name_is_off_by_microseconds_are_joined_to_the_nearest_and_listed():
    paths = TimedPaths.of(["img/1700000000000001.jpg"], 5000)

    found = PictureFinder(paths).named("img/labels.json", "1700000000000000.jpg")

    assert found.path == "img/1700000000000001.jpg"
    assert [joined.gap_ns for joined in paths.joined.values()] == [1000]


def test_labels_too_far_from_any_picture_are_a_missing_picture():
    labels, joined = _coco(10)

    assert (labels.boxes.num_rows, joined) == (0, {})
    assert [problem.reason for problem in labels.problems] == ["label_missing_picture"]


def test_a_reader_finds_the_nearest_picture_by_itself():
    labels, _ = _coco(1000)

    assert labels.boxes["path"].to_pylist() == ["img/1700000000000001.jpg"]
