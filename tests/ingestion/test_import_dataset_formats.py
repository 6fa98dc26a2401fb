"""Whole sets in BDD100K, Scalabel, OpenLABEL, Label Studio, Open Images and tables of corners, imported as they are."""

import json

import pytest

from driveflow.flow.sections import BatchSection
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.listing import list_batch
from tests.ingestion.batches import adds_up, rows
from tests.shared_data import shared_data

SETS = {  # pixels that each format rounds to, and pictures that it says are labeled
    "bdd100k_2018": (1e-6, 13),
    "scalabel": (1e-6, 13),
    "openlabel": (1e-6, 13),
    "label_studio": (1e-6, 13),
    "open_images": (480 * 0.5e-6 + 1e-3, 12),
    "udacity_csv": (0.5, 12),
}


def found_in(folder, store, **section):
    """Import a read-only folder with every class as it is found."""
    name = folder.name.lower().replace("_", "-").replace(".", "-")
    section = BatchSection(name=name, path=str(folder), **section)
    return import_batch(BatchRequest(section, folder.as_uri(), None, store.as_uri(), list_batch(folder.as_uri())))


@pytest.mark.parametrize("name", SETS)
def test_one_truth_imports_to_the_same_boxes_from_each_format(name, tmp_path):
    within_px, labeled = SETS[name]
    home = shared_data("fmt_same_truth")
    batch = found_in(home / name, tmp_path)

    spelled = json.loads((home / "class_maps.json").read_text()).get(name, {})
    truth = json.loads((home / "truth.json").read_text())["images"]
    left = sorted((spelled.get(box["cls"], box["cls"]), *box["box"]) for image in truth for box in image["boxes"])
    found = sorted(rows(batch.tables.boxes, "class_name", "x1", "y1", "x2", "y2"))
    assert len(found) == len(left) == 69
    for label, *corners in found:
        near = [box for box in left if box[0] == label and corners == pytest.approx(box[1:], abs=within_px)]
        assert near, (label, corners)
        left.remove(near[0])
    assert batch.counts["frames_labeled"] == labeled
    assert (batch.counts["boxes_quarantined"], batch.counts["conflicts"]) == (0, 0)
    assert batch.counts.get("skipped_text", 0) == 0
    adds_up(batch)


@pytest.mark.parametrize(
    ("name", "boxes", "united", "lost"),
    [
        ("open_images_dataset", 2, 0, 0),
        ("vott_csv_dataset", 1, 0, 4),  # its pictures have 5 x 5 pixels, and most of its boxes lie outside of them
        ("kaggle_dataset/image_csv_det", 6, 6, 6),  # two tables say the same and one does not say what its boxes are
    ],
)
def test_the_fixtures_of_another_tool_import_with_the_boxes_of_their_files(name, boxes, united, lost, tmp_path):
    batch = found_in(shared_data("fmt_datumaro") / name, tmp_path)

    counts = batch.counts
    assert (counts["boxes"], counts["boxes_united"], counts["boxes_quarantined"]) == (boxes, united, lost)
    adds_up(batch)
