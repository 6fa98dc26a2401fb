"""Hypothesis strategies for batches that overlap in frames, drives, boxes and attributes."""

import hashlib

import pyarrow as pa
from hypothesis import strategies as st

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from driveflow.snapshots import SnapshotTables
from ingestion.merge import NamedSnapshot

CLASSES = ("car", "truck")
FRAMES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(7)]
DRIVES = ["d0", "d1", "d2", "d3"]

_classes = st.lists(st.sampled_from(CLASSES), unique=True).map(sorted)
_places = st.lists(
    st.tuples(st.sampled_from(DRIVES), st.sampled_from(["", "train", "valid"])), min_size=1, max_size=2, unique=True
)
_boxes = st.lists(
    st.tuples(
        st.sampled_from(CLASSES),
        st.integers(0, 4),
        st.sampled_from([0.0, 0.0002, 0.4]),
        st.booleans(),
        st.sampled_from([None, None, None, 0.5]),
    ),
    max_size=4,
)
_attributes = st.dictionaries(st.sampled_from(["weather", "time_of_day"]), st.sampled_from(["a", "b"]), max_size=2)
_frame = st.tuples(_places, _classes, _boxes, _attributes)


@st.composite
def batches(draw, name="batch"):
    """Draw one batch called `name`."""
    chosen = draw(st.dictionaries(st.sampled_from(FRAMES), _frame, max_size=6))
    frames, sources, boxes = [], [], []
    for frame_id, (places, classes, drawn, attributes) in sorted(chosen.items()):
        frames.append(_frame_row(frame_id, places, classes, attributes))
        sources += [_source_row(frame_id, name, drive, split) for drive, split in places]
        boxes += [_box_row(frame_id, name, number, box) for number, box in enumerate(drawn)]
    tables = SnapshotTables(
        pa.Table.from_pylist(frames, schema=columns.FRAMES),
        pa.Table.from_pylist(sources, schema=columns.SOURCES),
        pa.Table.from_pylist(boxes, schema=columns.BOXES),
        CLASSES,
    )
    return NamedSnapshot(name, tables)


@st.composite
def sequences(draw, min_size=1, max_size=4):
    """Draw batches in an order of arrival."""
    return [draw(batches(f"batch{number}")) for number in range(draw(st.integers(min_size, max_size)))]


def _frame_row(frame_id, places, classes, attributes):
    return {
        "frame_id": frame_id,
        "width": 100,
        "height": 100,
        "media_type": "image/jpeg",
        "byte_count": 1,
        "split": "train",
        "drive_group": min(drive for drive, _ in places),
        "annotated_classes": classes,
        "attributes": canonical_json(attributes),
    }


def _source_row(frame_id, batch, drive, split):
    return {
        "frame_id": frame_id,
        "batch": batch,
        "path": f"{drive}/{split}/{frame_id[:6]}.jpg",
        "drive": drive,
        "camera": "camera",
        "clock": "none",
        "source_split": split,
    }


def _box_row(frame_id, batch, number, box):
    class_name, place, shift, ignore, score = box
    return {
        "frame_id": frame_id,
        "box_id": str(number),
        "class_name": class_name,
        "x1": 20.0 * place + shift,
        "y1": 10.0,
        "x2": 20.0 * place + 15.0 + shift,
        "y2": 30.0,
        "origin": f"batch:{batch}",
        "ignore": ignore,
        "attributes": "{}",
        "score": score,
    }
