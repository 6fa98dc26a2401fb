import json

import pytest
from PIL import Image

from driveflow.canonical import canonical_json
from driveflow.errors import BrokenDataError, EmptyBatchError, NotFoundError, UnmappedClassError, UsageError
from driveflow.flow.sections import TaxonomySection
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import snapshot_id
from ingestion.listing import list_batch
from tests.ingestion.batches import (
    TAXONOMY,
    adds_up,
    bring_in,
    coco,
    picture,
    quarantined,
    rows,
    turned_picture,
    write,
)

DATA_YAML = "train: images\nnames: [car, truck]\n"


def test_the_same_bytes_twice_are_one_frame_with_two_sources(tmp_path):
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "deep/c.jpg": picture(1)}))

    assert batch.tables.frames.num_rows == 1
    assert rows(batch.tables.sources, "path") == [("a.jpg",), ("deep/c.jpg",)]
    adds_up(batch)


def test_the_same_batch_in_another_place_is_the_same_snapshot(tmp_path):
    files = {"a.jpg": picture(1), "labels.json": coco([(1, "a.jpg")], [(5, 1, 1, (1, 1, 9, 9))])}

    here, there = (bring_in(write(tmp_path / place / "b", files)) for place in ("here", "there"))

    assert snapshot_id(here.tables) == snapshot_id(there.tables)


def test_an_importing_writes_nothing_where_the_batch_lies_and_no_store_without_archives(tmp_path):
    write(tmp_path / "b", {"a.jpg": picture(1)})

    bring_in(tmp_path / "b")

    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == ["b", "b/a.jpg"]


def test_files_without_extension_are_judged_by_content(tmp_path):
    batch = bring_in(write(tmp_path / "b", {"frame": picture(1), "notes": b"words", "a.jpg": b"words"}))

    assert rows(batch.tables.sources, "path") == [("frame",)]
    assert quarantined(batch) == {"notes": "not_an_image", "a.jpg": "not_an_image"}
    adds_up(batch)


def test_known_files_that_are_no_data_are_counted_not_quarantined(tmp_path):
    side = dict.fromkeys(["LICENSE", "README.md", ".DS_Store", "Thumbs.db", "__MACOSX/._a.jpg", "notes.txt"], b"x")
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), **side}))

    assert batch.counts["files_skipped"] == len(side)
    assert batch.beside.quarantine.num_rows == 0
    adds_up(batch)


def test_files_that_may_hold_labels_and_were_not_read_are_named(tmp_path):
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "a.xml": "<annotation/>"}))

    assert "1 file that may hold labels or metadata was not read: a.xml." in batch.notes


def test_pictures_tell_when_and_where_they_were_taken_where_nobody_else_does(tmp_path):
    tags = Image.Exif()
    tags.get_ifd(0x8769).update({0x9003: "2026:03:02 10:00:00"})
    tags.get_ifd(0x8825).update({1: "N", 2: (48.0, 0.0, 0.0), 3: "E", 4: (9.0, 30.0, 0.0)})
    batch = bring_in(
        write(
            tmp_path / "b",
            {
                "own.jpg": picture(1, exif=tags),
                "stated.jpg": picture(2, exif=tags),
                "metadata.csv": "path,captured_ns,clock,lat,lon\nstated.jpg,5,gps,1,2\n",
            },
        )
    )

    told = rows(batch.tables.sources, "path", "captured_ns", "clock", "lat", "lon")
    assert told == [("own.jpg", 1_772_445_600_000_000_000, "none", 48.0, 9.5), ("stated.jpg", 5, "gps", 1.0, 2.0)]
    assert [note for note in batch.notes if note.startswith("Pictures with a time by EXIF: 1, 1 of them of no")]


def test_numbered_stills_are_cut_where_their_exif_says_that_nobody_took_any(tmp_path):
    files = {}
    for number, taken in enumerate(["10:00:00", "10:00:01", "10:00:02", "10:30:00", "10:30:01"]):
        tags = Image.Exif()
        tags.get_ifd(0x8769).update({0x9003: f"2026:03:02 {taken}"})
        files[f"img_{number}.jpg"] = picture(number, exif=tags)
    batch = bring_in(write(tmp_path / "b", files))

    assert [drive for _, drive in rows(batch.tables.sources, "path", "drive")] == ["b/img"] * 3 + ["b/img~2"] * 2


def test_a_recording_that_was_dealt_out_to_two_splits_is_told(tmp_path):
    files = {f"{'valid' if n == 3 else 'train'}/vid_{n}.jpg": picture(n) for n in range(6)}
    batch = bring_in(write(tmp_path / "b", files))

    assert [note for note in batch.notes if note.startswith("Drives that lie in folders of several splits: 1 (b/vid).")]
    assert batch.counts["drives"] == 1


def test_links_are_quarantined_and_not_followed(tmp_path):
    write(tmp_path, {"secret.jpg": picture(2)})
    write(tmp_path / "b", {"a.jpg": picture(1)})
    (tmp_path / "b" / "link.jpg").symlink_to(tmp_path / "secret.jpg")

    batch = bring_in(tmp_path / "b")

    assert rows(batch.tables.sources, "path") == [("a.jpg",)]
    assert quarantined(batch) == {"link.jpg": "link"}
    adds_up(batch)


def test_a_file_that_vanished_or_changed_since_it_was_listed_is_quarantined(tmp_path):
    from driveflow.flow.sections import BatchSection
    from ingestion.import_batch import BatchRequest, import_batch

    home = write(tmp_path / "b", {"a.jpg": picture(1), "b.jpg": picture(2), "c.jpg": picture(3)})
    listed = list_batch(home.as_uri())
    (home / "b.jpg").unlink()
    (home / "c.jpg").write_bytes(picture(3) + b"more")

    section = BatchSection(name="b", path="b")
    batch = import_batch(BatchRequest(section, home.as_uri(), TAXONOMY, (tmp_path / "s").as_uri(), listed))

    assert quarantined(batch) == {"b.jpg": "vanished", "c.jpg": "changed"}


def test_names_that_are_no_utf8_survive(tmp_path):
    home = write(tmp_path / "b", {"a.jpg": picture(1)})
    (home / "caf\udce9.jpg").write_bytes(picture(2))

    batch = bring_in(home)

    assert canonical_json([entry.path for entry in list_batch(home.as_uri())]).encode()
    assert rows(batch.tables.sources, "path") == [("a.jpg",), ("caf\\xe9.jpg",)]
    assert len({PixelReader(batch.beside.locations).read(f) for f in batch.tables.frames["frame_id"].to_pylist()}) == 2


def test_progress_reaches_the_number_of_pictures(tmp_path):
    from driveflow.flow.sections import BatchSection
    from ingestion.import_batch import BatchRequest, import_batch

    home = write(tmp_path / "b", {f"{n}.jpg": picture(n) for n in range(3)})
    said = []
    request = BatchRequest(
        BatchSection(name="b", path="b"), home.as_uri(), TAXONOMY, tmp_path.as_uri(), list_batch(home.as_uri())
    )
    import_batch(request, lambda *step: said.append(step))

    assert said[-1] == (3, 3, "pictures")


def test_a_missing_folder_and_an_empty_one_are_two_errors(tmp_path):
    (tmp_path / "empty").mkdir()

    with pytest.raises(NotFoundError):
        list_batch((tmp_path / "nowhere").as_uri())
    with pytest.raises(EmptyBatchError, match="there is not one file in it"):
        list_batch((tmp_path / "empty").as_uri())


def test_a_batch_without_one_usable_picture_says_what_was_found(tmp_path):
    write(tmp_path / "b", {"a.jpg": b"", "README": "x"})

    with pytest.raises(EmptyBatchError, match=r"2 files, 1 of them quarantined \(1 empty; a.jpg: the file"):
        bring_in(tmp_path / "b")


def test_all_unmapped_classes_are_listed_with_counts(tmp_path):
    boxes = [(1, 1, 1, (1, 1, 5, 5)), (2, 1, 2, (1, 1, 5, 5)), (3, 1, 2, (9, 9, 5, 5))]
    document = coco([(1, "a.jpg")], boxes, ((1, "tram"), (2, "van"), (3, "boat")))
    write(tmp_path / "b", {"a.jpg": picture(1), "labels.json": document})

    with pytest.raises(UnmappedClassError, match=r"2 classes of batch 'b': 'van' \(2 boxes\), 'tram' \(1 box\)"):
        bring_in(tmp_path / "b")


def test_labels_of_formats_that_are_not_read_are_told_as_a_list():
    from driveflow.formats.label_set import no_labels
    from ingestion.read_labels import BatchLabels

    notes = [BatchLabels(no_labels(), "coco", ("cvat", "voc", "yolo")[:count]).note for count in (0, 1, 3)]

    assert notes == [
        "Read as coco.",
        "Read as coco. There are labels of cvat too, which were not read.",
        "Read as coco. There are labels of cvat, voc and yolo too, which were not read.",
    ]


def test_the_taxonomy_maps_drops_and_ignores(tmp_path):
    names = ((1, "Vehicle"), (2, "tree"), (3, "misc"))
    boxes = [(1, 1, 1, (1, 1, 5, 5)), (2, 1, 2, (1, 9, 5, 5)), (3, 1, 3, (30, 9, 5, 5))]
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "l.json": coco([(1, "a.jpg")], boxes, names)}))

    assert rows(batch.tables.boxes, "class_name", "ignore") == [("car", False), ("car", True), ("truck", True)]
    assert batch.counts["boxes_dropped"] == 1
    assert batch.tables.frames["annotated_classes"].to_pylist() == [["car"]]
    regions = [json.loads(text) for text in batch.tables.boxes["attributes"].to_pylist()]
    assert [entry for entry in regions if entry] == [{"foreign_class": "misc"}] * 2
    adds_up(batch)


def test_stated_annotated_classes_beat_the_list_of_the_labels_but_not_for_unlabeled_frames(tmp_path):
    files = {"a.jpg": picture(1), "b.jpg": picture(2), "l.json": coco([(1, "a.jpg")])}
    batch = bring_in(write(tmp_path / "b", files), annotated_classes=("truck",))

    assert sorted(batch.tables.frames["annotated_classes"].to_pylist()) == [[], ["truck"]]


def test_stated_annotated_classes_must_be_in_the_taxonomy(tmp_path):
    write(tmp_path / "b", {"a.jpg": picture(1)})

    with pytest.raises(UsageError, match="annotated_classes names 'tram'; the taxonomy has car, truck"):
        bring_in(tmp_path / "b", annotated_classes=("tram",))


def test_ac_b14_pictures_that_no_label_file_lists_are_unlabeled_not_negatives(tmp_path):
    files = {"a.jpg": picture(1), "b.jpg": picture(2), "c.jpg": picture(3)}
    document = coco([(1, "a.jpg"), (2, "b.jpg")], [(1, 1, 1, (1, 1, 5, 5))])
    batch = bring_in(write(tmp_path / "b", {**files, "l.json": document}))

    frames = dict(rows(batch.tables.sources, "path", "frame_id"))
    looked = dict(rows(batch.tables.frames, "frame_id", "annotated_classes"))
    assert looked[frames["b.jpg"]] == ["car", "truck"]
    assert looked[frames["c.jpg"]] == []


def test_a_picture_all_of_whose_boxes_are_broken_is_no_negative(tmp_path):
    boxes = [(1, 1, 1, (1, 1, 0, 5)), (2, 2, 1, (900, 900, 5, 5)), (3, 3, 1, (1, 1, 5, 5)), (4, 3, 1, (1, 1, -5, 5))]
    files = {f"{n}.jpg": picture(n) for n in (1, 2, 3)}
    document = coco([(n, f"{n}.jpg") for n in (1, 2, 3)], boxes)
    batch = bring_in(write(tmp_path / "b", {**files, "l.json": document}))

    frames = dict(rows(batch.tables.sources, "path", "frame_id"))
    looked = dict(rows(batch.tables.frames, "frame_id", "annotated_classes"))
    assert [bool(looked[frames[f"{n}.jpg"]]) for n in (1, 2, 3)] == [False, False, True]
    reasons = rows(batch.beside.quarantine, "reason")
    assert reasons == [("label_bad_box",), ("label_bad_box",), ("label_outside_picture",)]
    adds_up(batch)


def test_a_box_partly_outside_stays_as_it_is(tmp_path):
    document = coco([(1, "a.jpg")], [(1, 1, 1, (-5, -5, 10, 10)), (2, 1, 1, (60, 40, 10, 10))])
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "l.json": document}))

    assert rows(batch.tables.boxes, "x1", "y2") == [(-5.0, 5.0), (60.0, 50.0)]


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_boxes_of_the_stored_picture_are_turned_upright(tmp_path, orientation):
    """The mark is drawn into the stored picture; where PIL shows it upright is where the box must be."""
    import io

    from PIL import Image, ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.new("L", (64, 48))
    stored.paste(255, (8, 4, 24, 12))
    stream = io.BytesIO()
    stored.save(stream, "PNG", exif=exif)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(stream.getvalue()))).getbbox()

    document = coco([(1, "a.png")], [(1, 1, 1, (8, 4, 16, 8))])
    batch = bring_in(write(tmp_path / "b", {"a.png": stream.getvalue(), "l.json": document}))

    assert rows(batch.tables.boxes, "x1", "y1", "x2", "y2") == [tuple(float(value) for value in expected)]
    assert rows(batch.tables.frames, "width", "height") == [(48, 64)]


def test_boxes_of_the_upright_picture_stay(tmp_path):
    document = coco([(1, "a.jpg")], [(1, 1, 1, (8, 4, 16, 8))])
    document["images"][0] |= {"width": 48, "height": 64}
    batch = bring_in(write(tmp_path / "b", {"a.jpg": turned_picture(1, 6), "l.json": document}))

    assert rows(batch.tables.boxes, "x1", "y1", "x2", "y2") == [(8.0, 4.0, 24.0, 12.0)]


def test_boxes_of_a_picture_of_another_size_are_quarantined(tmp_path):
    document = coco([(1, "a.jpg")], [(1, 1, 1, (8, 4, 16, 8))])
    document["images"][0] |= {"width": 128, "height": 96}
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "l.json": document}))

    (row,) = batch.beside.quarantine.to_pylist()
    assert (row["path"], row["reason"]) == ("l.json", "label_size_mismatch")
    assert row["detail"] == "a.jpg is said to be 128x96, but is 64x48"
    assert batch.tables.frames["annotated_classes"].to_pylist() == [[]]
    adds_up(batch)


def test_labels_that_two_copies_of_a_frame_bring_are_one(tmp_path):
    boxes = [(1, 1, 1, (1, 1, 9, 9)), (2, 2, 1, (1.2, 1, 9, 9))]
    files = {"a.jpg": picture(1), "b.jpg": picture(1), "l.json": coco([(1, "a.jpg"), (2, "b.jpg")], boxes)}
    batch = bring_in(write(tmp_path / "b", files))

    assert rows(batch.tables.boxes, "x1") == [(1.0,)]
    assert batch.counts["boxes_united"] == 1
    assert batch.beside.conflicts.num_rows == 1
    adds_up(batch)


def test_a_box_keeps_the_id_of_its_format_where_that_is_unique(tmp_path):
    boxes = [(0, 1, 1, (1, 1, 9, 9)), (7, 1, 1, (20, 1, 9, 9)), (7, 1, 1, (40, 1, 9, 9))]
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "l.json": coco([(1, "a.jpg")], boxes)}))

    ids = dict(rows(batch.tables.boxes, "x1", "box_id"))
    assert ids[1.0] == "0"
    assert len({ids[20.0], ids[40.0], "7"}) == 3


def test_boxes_without_ids_get_the_same_ids_at_every_import(tmp_path):
    files = {"data.yaml": DATA_YAML, "images/a.jpg": picture(1), "labels/a.txt": "0 .5 .5 .2 .2\n0 .5 .5 .2 .2\n"}

    ids = [
        bring_in(write(tmp_path / place / "b", files)).tables.boxes["box_id"].to_pylist() for place in ("here", "there")
    ]

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_ac_b13_a_class_id_beyond_the_list_quarantines_its_picture_with_file_and_line(tmp_path):
    labels = {"labels/a.txt": "0 .5 .5 .2 .2\n2 .5 .5 .2 .2\n", "labels/b.txt": "1 .5 .5 .2 .2\n"}
    pictures = {"images/a.jpg": picture(1), "images/b.jpg": picture(2)}
    batch = bring_in(write(tmp_path / "b", {"data.yaml": DATA_YAML, **labels, **pictures}))

    assert rows(batch.tables.sources, "path") == [("images/b.jpg",)]
    found = rows(batch.beside.quarantine, "path", "line", "reason", "detail")
    told = "class id 2, but data.yaml lists 2 classes (ids 0 to 1)"
    assert found == [
        ("images/a.jpg", None, "class_out_of_range", f"labels/a.txt:2: {told}"),
        ("labels/a.txt", 2, "label_class_out_of_range", told),
    ]
    adds_up(batch)


def test_ac_b13_a_batch_all_of_whose_labels_name_unknown_classes_fails_with_file_and_line(tmp_path):
    files = {"data.yaml": DATA_YAML, "images/a.jpg": picture(1), "labels/a.txt": "\n5 .5 .5 .2 .2\n"}
    files |= {"images/n.jpg": picture(2), "labels/n.txt": "", "images/u.jpg": picture(3)}
    write(tmp_path / "b", files)

    with pytest.raises(BrokenDataError, match=r"labels/a.txt:2: class id 5, but data.yaml lists 2 classes"):
        bring_in(tmp_path / "b")


def test_a_file_that_is_named_as_labels_and_holds_none_is_an_error(tmp_path):
    write(tmp_path / "b", {"a.jpg": picture(1), "notes.json": b'{"note": "no labels"}'})

    with pytest.raises(NotFoundError, match=r"'notes.json' holds no labels of a format that is read; these are: bdd"):
        bring_in(tmp_path / "b", annotations="notes.json")


def test_stated_annotations_or_metadata_that_are_not_there_are_an_error(tmp_path):
    write(tmp_path / "b", {"a.jpg": picture(1)})

    with pytest.raises(NotFoundError, match=r"annotations: 'x.json' is no file of the batch"):
        bring_in(tmp_path / "b", annotations="x.json")
    with pytest.raises(NotFoundError, match=r"metadata 'x.csv' is no file of the batch"):
        bring_in(tmp_path / "b", metadata="x.csv")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (b"file,time_ns\na.jpg,1\n", r"has no column 'path', only \['file', 'time_ns'\]; it needs a CSV or Parquet"),
        (b"path\n\xff\xff.jpg\n", "cannot be read, no UTF-8 text: byte 5; it needs"),
    ],
)
def test_a_stated_table_that_cannot_be_read_ends_the_import(tmp_path, table, told):
    folder = write(tmp_path / "b", {"a.jpg": picture(1), "times.csv": table, "metadata.csv": table})

    with pytest.raises(BrokenDataError, match=f"metadata 'times.csv' of batch 'b' {told}"):
        bring_in(folder, metadata="times.csv")

    assert bring_in(folder).counts["frames"] == 1


@pytest.mark.parametrize("kind", ["coco", "yolo"])
def test_a_stated_format_of_which_there_is_nothing_is_an_error_and_not_a_batch_without_labels(tmp_path, kind):
    write(tmp_path / "b", {"a.jpg": picture(1)})

    with pytest.raises(NotFoundError, match=f"states format {kind}, but holds no {kind} labels"):
        bring_in(tmp_path / "b", format=kind)


def test_a_label_file_that_vanished_leaves_its_picture_unlabeled_and_is_named(tmp_path):
    from driveflow.flow.sections import BatchSection
    from ingestion.import_batch import BatchRequest, import_batch

    files = {"data.yaml": DATA_YAML, "images/a.jpg": picture(1), "labels/a.txt": "0 .5 .5 .2 .2\n"}
    home = write(tmp_path / "b", files)
    listed = list_batch(home.as_uri())
    (home / "labels/a.txt").unlink()

    section = BatchSection(name="b", path="b")
    batch = import_batch(BatchRequest(section, home.as_uri(), TAXONOMY, (tmp_path / "s").as_uri(), listed))

    assert quarantined(batch) == {"labels/a.txt": "vanished"}
    assert batch.tables.frames["annotated_classes"].to_pylist() == [[]]
    adds_up(batch)


def test_an_export_imports_as_what_it_was(tmp_path):
    """Classes looked for, ids and corners come back; so does what is unlabeled."""
    from driveflow.formats.export import Export
    from driveflow.formats.write_coco import write_coco

    boxes = [(4, 1, 1, (1.25, 1, 9, 9)), (5, 2, 2, (9, 9, 9, 9.5))]
    files = {f"{n}.jpg": picture(n) for n in (1, 2, 3)}
    document = coco([(1, "1.jpg"), (2, "2.jpg")], boxes)
    first = bring_in(write(tmp_path / "b", {**files, "l.json": document}))
    tables = first.tables
    write_coco(
        Export(tables.frames, tables.boxes, tables.classes, PixelReader(first.beside.locations).read), tmp_path / "out"
    )

    second = bring_in(tmp_path / "out", name="b")

    names = ("frame_id", "box_id", "class_name", "x1", "y1", "x2", "y2")
    assert rows(second.tables.boxes, *names) == rows(tables.boxes, *names)
    assert second.tables.frames["annotated_classes"].to_pylist() == tables.frames["annotated_classes"].to_pylist()


def test_metadata_beats_labels_beats_what_is_said_of_the_whole_batch(tmp_path):
    document = coco([(1, "a.jpg")])
    document["images"][0]["attributes"] = {"weather": "rain", "road": "city", "lanes": 2}
    files = {"a.jpg": picture(1), "l.json": document, "metadata.csv": "path,weather\na.jpg,snow\n"}
    batch = bring_in(write(tmp_path / "b", files), attributes={"road": "none", "site": "north"})

    attributes = json.loads(batch.tables.frames["attributes"][0].as_py())
    assert attributes == {"weather": "snow", "road": "city", "lanes": 2, "site": "north"}
    assert batch.counts["conflicts"] == 1


def test_the_split_is_what_the_data_says_by_key_or_by_folder(tmp_path):
    settings = "path: .\ntrain: a\nval: [b, c]\nnames: [car]\n"
    folders = {f"{name}/{name}.jpg": picture(name) for name in ("a", "b", "c", "test", "other")}
    batch = bring_in(
        write(tmp_path / "b", {"data.yaml": settings, **folders}), taxonomy=TaxonomySection(classes=("car",))
    )

    assert rows(batch.tables.sources, "path", "source_split") == [
        ("a/a.jpg", "train"),
        ("b/b.jpg", "valid"),
        ("c/c.jpg", "valid"),
        ("other/other.jpg", ""),
        ("test/test.jpg", "test"),
    ]


def test_text_files_named_like_pictures_are_told_with_what_reads_them(tmp_path):
    files = {"images/a.jpg": picture(1), "labels/a.txt": "0 .5 .5 .2 .2\n", "labels/notes.txt": "none"}
    batch = bring_in(write(tmp_path / "b", files))

    (note,) = [note for note in batch.notes if "not read" in note]
    assert "labels/a.txt, labels/notes.txt. Named as pictures are: 1; format yolo reads them" in note


@pytest.mark.parametrize("folder", [".ipynb_checkpoints", ".driveflow/store", ".git", "sub/.dvc/cache"])
def test_what_tools_keep_beside_the_data_is_counted_and_is_no_data(tmp_path, folder):
    labels = coco([(1, "a.jpg")], [(1, 1, 1, (1, 1, 5, 5))])
    files = {"a.jpg": picture(1), "l.json": labels, f"{folder}/a.jpg": picture(1), f"{folder}/x": picture(2),
             f"{folder}/l-checkpoint.json": labels}  # fmt: skip

    batch = bring_in(write(tmp_path / "b", files))

    assert rows(batch.tables.sources, "path") == [("a.jpg",)]
    assert (batch.counts["boxes_read"], batch.counts["skipped_side"], batch.counts["files_in"]) == (1, 3, 5)
    adds_up(batch)


@pytest.mark.parametrize(
    ("files", "first"),
    [
        ({"l.json": '{"images": [{"id": 1}], "annotations": [{"id": 2}'}, r"l\.json:1: no JSON"),
        ({"a.xml": "<annotation><object><bndbox>", "b.xml": "<annotation><size>"}, r"a\.xml:1: no XML"),
    ],
)
def test_a_batch_of_which_no_label_file_can_be_read_fails_and_is_no_batch_without_labels(tmp_path, files, first):
    folder = write(tmp_path / "b", {"a.jpg": picture(1), "b.jpg": picture(2), **files})

    with pytest.raises(BrokenDataError, match=rf"no label file of batch 'b' can be read: {first}.*format folder"):
        bring_in(folder)

    assert bring_in(folder, format="folder").counts["frames"] == 2


def test_a_label_file_that_cannot_be_read_beside_others_is_put_aside_alone(tmp_path):
    labels = coco([(1, "a.jpg")], [(1, 1, 1, (1, 1, 9, 9))])
    batch = bring_in(write(tmp_path / "b", {"a.jpg": picture(1), "l.json": labels, "m.json": json.dumps(labels)[:-9]}))

    assert (batch.counts["boxes"], quarantined(batch)) == (1, {"m.json": "label_syntax"})


def test_what_an_export_of_ours_leaves_beside_labels_is_none_that_was_not_read(tmp_path):
    told = '{"snapshot_id": "a1", "format": "yolo"}'

    ours, others = (
        bring_in(write(tmp_path / name, {"a.jpg": picture(1), "export.json": text}))
        for name, text in (("ours", told), ("theirs", '{"boxes": []}'))
    )

    assert not [note for note in ours.notes if "export.json" in note]
    assert "1 file that may hold labels or metadata was not read: export.json." in others.notes
