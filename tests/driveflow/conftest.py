"""Small things that tests of the ground share."""

import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.snapshots import SnapshotTables
from tests.strategies import CLASSES, box_row, frame_row, source_row


@pytest.fixture
def small_tables() -> SnapshotTables:
    """Two labeled frames with a box each."""
    ids = ["a" * 64, "b" * 64]
    return SnapshotTables(
        pa.Table.from_pylist([frame_row(name) for name in ids], tables.FRAMES),
        pa.Table.from_pylist([source_row(name) for name in ids], tables.SOURCES),
        pa.Table.from_pylist([box_row(name, f"box-{name[0]}", "car") for name in ids], tables.BOXES),
        CLASSES,
    )
