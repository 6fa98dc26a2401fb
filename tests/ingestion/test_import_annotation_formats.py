"""Whole sets in Pascal VOC, KITTI, CVAT, LabelMe and MOT, imported as they are."""

import json
import shutil

import pytest

from driveflow.flow.sections import BatchSection, TaxonomySection
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.listing import list_batch
from tests.ingestion.batches import adds_up, bring_in, picture, rows, write
from tests.shared_data import shared_data

CAR = "Car 0.00 0 -10 10.00 10.00 30.00 30.00 -1 -1 -1 -1000 -1000 -1000 -10"
DONT_CARE = "DontCare -1 -1 -10 40.00 10.00 50.00 20.00 -1 -1 -1 -1000 -1000 -1000 -10"
WITHIN_PX = {"voc": 0.51, "kitti": 1e-6, "cvat_images": 1e-6, "labelme": 1e-6}  # what each format rounds to


def found_in(folder, store, **section):
    """Import a read-only folder with every class as it is found."""
    section = BatchSection(name=folder.name.lower().replace("_", "-"), path=str(folder), **section)
    return import_batch(BatchRequest(section, folder.as_uri(), None, store.as_uri(), list_batch(folder.as_uri())))


@pytest.mark.parametrize("name", WITHIN_PX)
def test_one_truth_imports_to_the_same_boxes_from_each_format(name, tmp_path):
    home = shared_data("fmt_same_truth")
    batch = found_in(home / name, tmp_path)

    spelled = json.loads((home / "class_maps.json").read_text())["kitti"] if name == "kitti" else {}
    truth = json.loads((home / "truth.json").read_text())["images"]
    expected = sorted((spelled.get(box["cls"], box["cls"]), *box["box"]) for image in truth for box in image["boxes"])
    found = sorted(rows(batch.tables.boxes, "class_name", "x1", "y1", "x2", "y2"))
    assert len(found) == len(expected) == 69
    left = list(expected)
    for label, *corners in found:
        near = [box for box in left if box[0] == label and corners == pytest.approx(box[1:], abs=WITHIN_PX[name])]
        assert near, (label, corners)
        left.remove(near[0])
    assert batch.counts["frames_labeled"] == 13
    assert batch.counts["boxes_quarantined"] == 0
    adds_up(batch)


def test_the_cars_of_a_video_are_the_same_from_cvat_and_mot(tmp_path):
    home = shared_data("fmt_recordings")
    boxes = {}
    for name in ("cvat_video", "mot"):
        folder = tmp_path / name
        shutil.copytree(home / name, folder / name)
        shutil.copytree(home / "frames", folder / "frames")
        batch = found_in(folder, tmp_path / "store")
        assert (batch.counts["frames_labeled"], batch.counts["drives"], batch.counts["boxes"]) == (24, 1, 48)
        adds_up(batch)
        found = rows(batch.tables.boxes, "frame_id", "x1", "y1", "x2", "y2")
        boxes[name] = sorted((frame, *(round(value, 4) for value in corners)) for frame, *corners in found)

    assert boxes["cvat_video"] == boxes["mot"]


def test_a_folder_of_bike_photos_imports_with_all_its_class_names(tmp_path):
    batch = found_in(shared_data("det_aura_bike"), tmp_path)

    assert batch.counts["boxes"] == 55
    assert {"30", "42"} <= set(batch.tables.boxes["class_name"].to_pylist())
    adds_up(batch)


@pytest.mark.parametrize(
    ("name", "boxes", "united", "quarantined"),
    [
        ("voc_dataset", 2, 0, 0),
        ("kitti_dataset", 5, 0, 0),
        ("cvat_dataset/for_images", 2, 5, 1),  # the same two pictures four times, and a polygon without a label
        ("labelme_dataset", 7, 0, 0),
        ("mot_dataset", 1, 0, 1),  # one of two sequences has no picture
    ],
)
def test_the_fixtures_of_another_tool_import_with_the_boxes_of_their_files(name, boxes, united, quarantined, tmp_path):
    batch = found_in(shared_data("fmt_datumaro") / name, tmp_path)

    counts = batch.counts
    found = (counts["boxes"], counts["boxes_united"], counts["boxes_quarantined"])
    assert found == (boxes, united, quarantined)
    assert counts.get("skipped_text", 0) == 0
    adds_up(batch)


def test_dont_care_is_an_ignore_region_of_every_class_though_no_taxonomy_says_so(tmp_path):
    files = {"training/image_2/000000.jpg": picture(1), "training/label_2/000000.txt": f"{CAR}\n{DONT_CARE}"}
    folder = write(tmp_path / "kitti", files)

    batch = bring_in(folder, TaxonomySection(classes=("Car", "Van")))

    assert rows(batch.tables.boxes, "class_name", "ignore") == [("Car", False), ("Car", True), ("Van", True)]
    assert batch.tables.frames["annotated_classes"].to_pylist() == [["Car"]]


def test_other_cameras_of_kitti_stay_unlabeled(tmp_path):
    files = {f"training/image_{camera}/000000.jpg": picture(camera) for camera in (2, 3)}
    folder = write(tmp_path / "kitti", files | {"training/label_2/000000.txt": CAR})

    batch = bring_in(folder, TaxonomySection(classes=("Car",)))

    assert rows(batch.tables.sources, "camera", "source_split") == [("image_2", "train"), ("image_3", "train")]
    assert batch.counts["frames_labeled"] == 1
