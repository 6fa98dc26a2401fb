import csv
import json

import pytest

from driveflow.flow.sections import HoldoutSection, TaxonomySection
from tests.ingestion.batches import adds_up, merge, quarantined, rows
from tests.shared_data import shared_data

VEHICLES = TaxonomySection(classes=("Ambulance", "Bus", "Car", "Motorcycle", "Truck"))


@pytest.fixture(scope="module")
def vehicles(tmp_path_factory):
    home = shared_data("det_vehicles_openimages")
    return {name: _import(home / name, tmp_path_factory, VEHICLES) for name in ("batch_a", "batch_b")}


@pytest.fixture(scope="module")
def shadow_and_overlap(tmp_path_factory):
    cars = TaxonomySection(classes=("car",))
    names = {"shadow": "seq_udacity_shadow", "overlap": "seq_udacity_overlap"}
    return {name: _import(shared_data(folder), tmp_path_factory, cars) for name, folder in names.items()}


def _import(folder, tmp_path_factory, taxonomy=None, **section):
    """Import a read-only folder through a link-free path, with the store in a temporary folder."""
    from driveflow.flow.sections import BatchSection
    from ingestion.import_batch import BatchRequest, import_batch
    from ingestion.listing import list_batch

    store = tmp_path_factory.mktemp("store").as_uri()
    section = BatchSection(**({"name": folder.name.lower(), "path": str(folder)} | section))
    taxonomy = taxonomy or TaxonomySection(classes=("car",))
    return import_batch(BatchRequest(section, folder.as_uri(), taxonomy, store, list_batch(folder.as_uri())))


def test_two_exports_of_one_set_share_exactly_the_known_repeats(vehicles):
    with (shared_data("det_vehicles_openimages") / "duplicates.csv").open() as file:
        known = {(row["file_a"], row["file_b"]) for row in csv.DictReader(file)}

    merged = merge(*vehicles.items())

    by_frame = {}
    for frame_id, batch, path in rows(merged.tables.sources, "frame_id", "batch", "path"):
        by_frame.setdefault(frame_id, []).append(f"{batch}/{path}")
    assert {tuple(sorted(paths)) for paths in by_frame.values() if len(paths) > 1} == known
    assert merged.counts["frames_shared"] == len(known) == 150
    assert merged.tables.frames.num_rows == 564


def test_labels_of_the_repeats_become_one(vehicles):
    merged = merge(*vehicles.items())

    assert (merged.counts["boxes_in"], merged.counts["boxes"], merged.counts["boxes_united"]) == (1334, 1065, 269)
    assert merged.counts["conflicts"] == 0


def test_the_valid_part_becomes_the_hold_out(vehicles):
    merged = merge(*vehicles.items(), holdout=HoldoutSection(source_splits=("valid",)))

    held = {frame for frame, split in rows(merged.tables.frames, "frame_id", "split") if split == "holdout"}
    valid = {frame for frame, split in rows(merged.tables.sources, "frame_id", "source_split") if split == "valid"}
    assert held == valid
    assert len(held) == 125


def test_every_file_of_the_real_sets_is_accounted_for(vehicles, shadow_and_overlap):
    for batch in (*vehicles.values(), *shadow_and_overlap.values()):
        adds_up(batch)


def test_overlapping_cuts_of_one_drive_are_one_drive_group(shadow_and_overlap):
    merged = merge(*shadow_and_overlap.items())

    assert merged.counts["frames_shared"] == 66
    assert merged.tables.frames.num_rows == 179
    assert len(set(merged.tables.frames["drive_group"].to_pylist())) == 1
    assert merged.counts["frames_train"] == 179


def test_frames_without_labels_stay_unlabeled_beside_labeled_ones(shadow_and_overlap):
    merged = merge(*shadow_and_overlap.items())

    labeled = [names for names in merged.tables.frames["annotated_classes"].to_pylist() if names]
    assert labeled == [["car"]] * 160


def test_tracks_survive_the_import(shadow_and_overlap):
    attributes = [json.loads(text) for text in shadow_and_overlap["shadow"].tables.boxes["attributes"].to_pylist()]

    assert {entry["track_id"] for entry in attributes} == {1, 2}


def test_every_made_nasty_file_gets_its_verdict(tmp_path_factory):
    home = shared_data("nasty_made")
    batch = _import(home / "files", tmp_path_factory)

    kept = set(batch.tables.sources["path"].to_pylist())
    held = quarantined(batch)
    for case in json.loads((home / "cases.json").read_text()):
        name, verdict = case["file"], case["verdict"]
        if verdict == "keep":
            assert name in kept, case
        elif verdict == "quarantine":
            assert name in held, case
        elif not name.endswith(".zip"):
            assert (name in kept) != (name in held), case
    adds_up(batch)


def test_hostile_archives_yield_what_is_good_and_name_what_is_not(tmp_path_factory):
    batch = _import(shared_data("nasty_made") / "files" / "zips", tmp_path_factory)

    assert sorted(batch.tables.sources["path"].to_pylist()) == [
        "blow_up.zip!ok.jpg",
        "same_name.zip!A.JPG",
        "same_name.zip!a#2.jpg",
        "same_name.zip!a.jpg",
        "slip.zip!ok.jpg",
        "symlink.zip!ok.jpg",
    ]
    assert quarantined(batch) == {
        "blow_up.zip!zeros.bin": "archive_ratio",
        "cut.zip": "archive_broken",
        "slip.zip!../escape.jpg": "archive_path_escape",
        "slip.zip!/abs/escape.jpg": "archive_path_escape",
        "slip.zip!a/../../escape2.jpg": "archive_path_escape",
        "symlink.zip!link.jpg": "archive_link",
    }
    adds_up(batch)


def test_nasty_pillow_adds_up_and_every_refusal_has_its_reason(tmp_path_factory):
    batch = _import(shared_data("nasty_pillow"), tmp_path_factory)

    adds_up(batch)
    refused = batch.beside.quarantine.to_pylist()
    assert batch.counts["files_kept"] + len(refused) == 61
    assert all(row["reason"] and row["detail"] for row in refused)
    held = quarantined(batch)
    assert held["truncated_jpeg.jpg"] == "truncated"
    assert held["decompression_bomb.gif"] == "too_large"


def test_one_truth_in_coco_and_yolo_imports_to_the_same_boxes(tmp_path_factory):
    home = shared_data("fmt_same_truth")
    truth = json.loads((home / "truth.json").read_text())
    taxonomy = TaxonomySection(classes=tuple(truth["classes"]))
    expected = sorted((image["file"], box["cls"], *box["box"]) for image in truth["images"] for box in image["boxes"])

    for kind in ("coco", "yolo"):
        batch = _import(home / kind, tmp_path_factory, taxonomy)
        names = {frame: path.rpartition("/")[2] for frame, path in rows(batch.tables.sources, "frame_id", "path")}
        found = sorted(
            (names[frame], *box)
            for frame, *box in rows(batch.tables.boxes, "frame_id", "class_name", "x1", "y1", "x2", "y2")
        )
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        for ours, theirs in zip(found, expected, strict=True):
            assert ours[2:] == pytest.approx(theirs[2:], abs=0.06)
        assert batch.counts["frames_labeled"] == 13


def test_polygon_lines_in_box_files_become_their_bounding_boxes(tmp_path_factory):
    home = shared_data("det_modes_of_transport")
    batch = _import(home, tmp_path_factory, TaxonomySection(classes=("bike", "bus", "car")))

    with (home / "polygon_lines.csv").open() as file:
        lines = sum(1 for _ in csv.DictReader(file))
    polygons = [text for text in batch.tables.boxes["attributes"].to_pylist() if "polygon" in text]
    assert len(polygons) >= lines == 20
    assert batch.counts["boxes_quarantined"] == 0
    adds_up(batch)


def test_augmented_versions_of_one_photo_never_lie_in_two_splits(tmp_path_factory):
    home = shared_data("det_modes_of_transport")
    batch = _import(home, tmp_path_factory, TaxonomySection(classes=("bike", "bus", "car")))
    drive_of = dict(rows(batch.tables.sources, "path", "drive"))

    with (home / "groups.csv").open() as file:
        photos = {row["file"]: row["photo"] for row in csv.DictReader(file)}
    drives = {(photo, drive_of[path]) for path, photo in photos.items()}
    merged = merge(("modes", batch), holdout=HoldoutSection(fraction=0.3))
    splits = dict(rows(merged.tables.frames, "frame_id", "split"))
    sides = {
        (photos[path], splits[frame])
        for frame, path in rows(batch.tables.sources, "frame_id", "path")
        if path in photos
    }

    assert len(drives) == len({drive for _, drive in drives}) == len(set(photos.values())) == 139
    assert len(sides) == 139
    assert {side for _, side in sides} == {"train", "val", "holdout"}


def test_equal_names_of_different_photos_stay_two_frames(tmp_path_factory):
    home = shared_data("det_modes_of_transport") / "name_collisions"
    batch = _import(home, tmp_path_factory)

    assert batch.tables.frames.num_rows == len(list((home / "images").iterdir()))


def test_coco_stills_with_numbers_for_names_are_no_drive(tmp_path_factory):
    home = shared_data("det_coco_ccby")
    document = json.loads((home / "instances.json").read_text())
    names = {category["name"] for category in document["categories"]}
    roads = ("person", "car", "traffic light", "truck", "motorcycle", "bus")
    taxonomy = TaxonomySection(classes=roads, drop=tuple(names - set(roads)))

    batch = _import(home, tmp_path_factory, taxonomy)

    assert batch.counts["drives"] == batch.tables.frames.num_rows == 26
    assert batch.counts["boxes"] + batch.counts["boxes_dropped"] == 181
    adds_up(batch)
