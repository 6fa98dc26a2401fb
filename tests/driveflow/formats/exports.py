"""Exports of real pictures for the tests of writers, and what comes back when they are imported."""

import hashlib
import io
import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from driveflow.flow.sections import BatchSection
from driveflow.formats.export import Export
from driveflow.formats.writers import WRITERS
from ingestion.import_batch import BatchRequest, import_batch
from ingestion.listing import list_batch
from tests.strategies import box_row, frame_row, source_row

CLASSES = ("car", "traffic_light", "truck")
SIZE = (64, 48)
SPLIT_NAMES = {"train": "train", "val": "valid", "holdout": "test"}  # as sources spell them
CORNERS = ("x1", "y1", "x2", "y2")


@cache
def picture(seed, kind="JPEG"):
    """Return the bytes of a picture that no other seed has."""
    image = Image.frombytes("RGB", SIZE, random.Random(seed).randbytes(SIZE[0] * SIZE[1] * 3))
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def frame(seed, split="train", annotated=CLASSES, **more):
    """Return the row of the frame of a picture."""
    attributes = canonical_json(more.pop("attributes", {}))
    frame_id = hashlib.sha256(picture(seed)).hexdigest()
    return frame_row(
        frame_id, width=SIZE[0], height=SIZE[1], split=split, annotated_classes=list(annotated), attributes=attributes
    )


def box(frame, box_id, class_name="car", corners=(10.25, 5.5, 30.75, 20.0), **more):
    """Return the row of a box."""
    attributes = canonical_json(more.pop("attributes", {}))
    sides = dict(zip(CORNERS, corners, strict=True))
    return box_row(frame["frame_id"], box_id, class_name, attributes=attributes, **sides, **more)


def ignored(frame, corners=(40.0, 1.0, 60.0, 9.5), classes=CLASSES):
    """Return the rows of a region that is ignored for `classes`."""
    return [box(frame, f"region-{name}", name, corners, ignore=True) for name in classes]


def export_of(frames, boxes, classes=CLASSES, drives=()):
    """Return an export of these rows; frame after frame is of a drive of `drives`."""
    pictures = {hashlib.sha256(picture(seed)).hexdigest(): picture(seed) for seed in range(12)}
    sources = [
        source_row(row["frame_id"], drive=drive, captured_ns=1_700_000_000_000_000_001 + number, clock="utc", lat=48.1)
        for number, (row, drive) in enumerate(zip(frames, drives, strict=True))
    ] if drives else []  # fmt: skip
    return Export(
        pa.Table.from_pylist(frames, schema=columns.FRAMES),
        pa.Table.from_pylist(boxes, schema=columns.BOXES),
        tuple(classes),
        pictures.__getitem__,
        pa.Table.from_pylist(sources, schema=columns.SOURCES),
    )


def without(export, carries):
    """Return the export without all that the format cannot carry."""
    boxes = export.boxes
    if carries.ignore == "no":
        boxes = boxes.filter(pc.invert(boxes["ignore"]))
    if not carries.scores:
        boxes = boxes.filter(pc.is_null(boxes["score"]))
    rows, kinds = [], {}
    for row in boxes.to_pylist():
        said = carries.fitting(json.loads(row["attributes"]), ignored=row["ignore"])
        if carries.kind:  # an attribute is of one kind in all boxes of a class: that of the first
            told = {key: carries.kind(key, value) for key, value in said.items()}
            said = {
                key: said[key] for key in said if kinds.setdefault((row["class_name"], key), told[key]) == told[key]
            }
        rows.append(row | {"attributes": canonical_json(said)})
    return replace(export, boxes=pa.Table.from_pylist(rows, schema=columns.BOXES))


def come_back(export, name, folder):
    """Write the export as the format `name`, and return what an import of it, with every class as found, says."""
    WRITERS[name].write(export, folder)
    return imported(folder, name)


def imported(folder, label_format="auto", taxonomy=None):
    """Return the import of a folder."""
    section = BatchSection(name="back", path=str(folder), format=label_format)
    uri = Path(folder).as_uri()
    store = (folder.parent / f"{folder.name}-store").as_uri()
    return import_batch(BatchRequest(section, uri, taxonomy, store, list_batch(uri)))


def boxes_of(table, *more):
    """Return frame, class, corners to a thousandth of a pixel, whether ignored, and the columns `more`; sorted."""
    found = (
        (row["frame_id"], row["class_name"], *(round(row[name], 3) + 0.0 for name in CORNERS), row["ignore"],
         *(row[name] for name in more))
        for row in table.to_pylist()
    )  # fmt: skip
    return sorted(found, key=lambda row: [(value is not None, value) for value in row])


def looked_for(table):
    """Return the classes looked for in each frame."""
    return {row["frame_id"]: tuple(sorted(row["annotated_classes"])) for row in table.to_pylist()}


def on_disk(folder):
    """Return every file by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
