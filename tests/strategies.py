"""Hypothesis strategies: the shared vocabulary of random inputs."""

import hashlib

import pyarrow as pa
from hypothesis import strategies as st

from driveflow import tables
from driveflow.snapshots import SnapshotTables

CLASSES = ("bus", "car", "person")


def frame_ids() -> st.SearchStrategy[str]:
    """Ids as sha256 gives them."""
    return st.integers(0, 2**32).map(lambda number: hashlib.sha256(str(number).encode()).hexdigest())


@st.composite
def snapshot_tables(draw: st.DrawFn, min_frames: int = 0, max_frames: int = 8) -> SnapshotTables:
    """Small valid snapshots, with and without labels."""
    ids = draw(st.lists(frame_ids(), min_size=min_frames, max_size=max_frames, unique=True))
    frames, sources, boxes = [], [], []
    for number, frame_id in enumerate(ids):
        drive = f"drive-{draw(st.integers(0, 3))}"
        annotated = draw(st.lists(st.sampled_from(CLASSES), unique=True).map(sorted))
        frames.append(frame_row(frame_id, drive_group=drive, annotated_classes=annotated))
        captured_ns = draw(st.none() | st.integers(0, 2**40))
        sources.append(source_row(frame_id, path=f"{number}.jpg", drive=drive, captured_ns=captured_ns))
        for index, name in enumerate(draw(st.lists(st.sampled_from(annotated), max_size=3)) if annotated else []):
            boxes.append(box_row(frame_id, f"{number}-{index}", name))
    return SnapshotTables(
        pa.Table.from_pylist(frames, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        pa.Table.from_pylist(boxes, tables.BOXES),
        CLASSES,
    )


def frame_row(frame_id: str, **changes: object) -> dict[str, object]:
    """A frame, valid as it is."""
    row: dict[str, object] = {
        "frame_id": frame_id,
        "width": 64,
        "height": 48,
        "media_type": "image/jpeg",
        "byte_count": 1000,
        "split": "train",
        "drive_group": "drive-0",
        "annotated_classes": list(CLASSES),
        "attributes": "{}",
    }
    return row | changes


def source_row(frame_id: str, **changes: object) -> dict[str, object]:
    """A source, valid as it is."""
    row: dict[str, object] = {
        "frame_id": frame_id,
        "batch": "batch",
        "path": f"{frame_id[:8]}.jpg",
        "drive": "drive-0",
        "camera": "front",
        "captured_ns": None,
        "clock": "none",
        "lat": None,
        "lon": None,
        "speed_mps": None,
        "heading_deg": None,
        "source_split": "",
    }
    return row | changes


def box_row(frame_id: str, box_id: str, class_name: str, **changes: object) -> dict[str, object]:
    """A box, valid as it is."""
    row: dict[str, object] = {
        "frame_id": frame_id,
        "box_id": box_id,
        "class_name": class_name,
        "x1": 1.0,
        "y1": 2.0,
        "x2": 11.0,
        "y2": 12.0,
        "score": None,
        "origin": "batch:batch",
        "annotator": None,
        "guideline": None,
        "ignore": False,
        "attributes": "{}",
    }
    return row | changes
