"""Small data sets to validate, made to measure."""

import hashlib

import pyarrow as pa

from driveflow import tables
from driveflow.flow.data_validation_section import DataValidationSection
from tests.strategies import CLASSES, box_row, frame_row, source_row
from validation.data.request import DataRequest, Side
from validation.data.validate import validate_data


def frame_id(number, prefix="f"):
    return hashlib.sha256(f"{prefix}{number}".encode()).hexdigest()


def side(frames, boxes=(), sources=None, signals=None, snapshot_id="now"):
    """Tables of rows; every frame has a source unless sources are given."""
    made = [source_row(row["frame_id"], drive=row["drive_group"]) for row in frames] if sources is None else sources
    return Side(
        frames=pa.Table.from_pylist(list(frames), tables.FRAMES),
        sources=pa.Table.from_pylist(list(made), tables.SOURCES),
        boxes=pa.Table.from_pylist(list(boxes), tables.BOXES),
        signals=None if signals is None else pa.Table.from_pylist(list(signals), tables.SIGNALS),
        snapshot_id=snapshot_id,
    )


def checked(one, *, settings=None, **more):
    """The report, and its checks by name."""
    report = validate_data(DataRequest(side=one, classes=CLASSES, settings=settings or DataValidationSection(), **more))
    return report, {check.name: check for check in report.checks}


def labeled(count, per_frame=3, prefix="f", groups=10):
    """Sound frames with boxes of every class: `count` frames of `groups` drives, 64 by 48 pixels."""
    frames, boxes = [], []
    for number in range(count):
        own = frame_id(number, prefix)
        split = "holdout" if number % 5 == 0 else "train"
        frames.append(frame_row(own, drive_group=f"{prefix}-{number % groups}", split=split))
        for place in range(per_frame):
            x1, y1 = 2.0 + 18 * place, 3.0 + number % 7
            name = CLASSES[(number + place) % len(CLASSES)]
            boxes.append(box_row(own, f"b{place}", name, x1=x1, y1=y1, x2=x1 + 12, y2=y1 + 9 + number % 3))
    return frames, boxes


def signal(own, brightness, error=None):
    return {"frame_id": own, "brightness": brightness, "contrast": 40.0, "error": error}
