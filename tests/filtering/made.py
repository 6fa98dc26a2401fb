"""Snapshots and signals made for tests of the filters, and the shared sequences as one."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from zlib import crc32

import pyarrow as pa

from driveflow import tables
from driveflow.canonical import canonical_json
from driveflow.snapshots import SnapshotTables
from tests.shared_data import shared_data
from tests.strategies import CLASSES, frame_row, source_row

FAR = [0x0, 0xFFFF, 0xFFFF0000, 0xFFFF00000000, 0xFFFF000000000000]
"""Codes at least 16 bits from each other."""


@dataclass(frozen=True)
class Made:
    """One frame: where it was taken, what was measured, what is known of it."""

    name: str
    code: int | None = 0
    drive: str = "drive"
    camera: str = "front"
    taken_s: float | None = None
    split: str = "train"
    labeled: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    signals: dict[str, float | bytes] = field(default_factory=dict)
    error: str | None = None
    also: tuple[tuple[str, str], ...] = ()  # further drives and cameras
    also_s: float | None = None  # when it was taken there; None: when it was taken at all
    lat: float | None = None
    pixels: int = -1  # equal where the pixels are
    path: str = ""  # the name of its file, else its own
    degrees: int | None = None  # its vector, on a circle; None: it has none

    @property
    def vector(self) -> tuple[float, ...]:
        """Two coordinates, none where there is no vector."""
        turn = None if self.degrees is None else math.radians(self.degrees)
        return () if turn is None else (math.cos(turn), math.sin(turn))


NORMAL = {
    "phash256": bytes(32),
    "brightness": 100.0,
    "contrast": 40.0,
    "dark_share": 0.0,
    "bright_share": 0.0,
    "sharpness": 300.0,
    "edge_ratio": 1.5,
    "saturation": 30.0,
    "red_blue": 0.0,
    "green_cast": 0.0,
    "tail_share": 0.0,
    "steepness_grid": bytes([60] * 32),
    "red_blue_grid": bytes([118] * 8 + [128] * 16 + [134] * 8),
}


def snapshot(frames: Iterable[Made]) -> SnapshotTables:
    """The identity tables of `frames`, without boxes."""
    rows, sources = [], []
    for made in frames:
        classes = list(CLASSES) if made.labeled else []
        text = canonical_json(made.attributes)
        rows.append(
            frame_row(made.name, split=made.split, annotated_classes=classes, attributes=text, drive_group=made.drive)
        )
        for number, (drive, camera) in enumerate(((made.drive, made.camera), *made.also)):
            taken_s = made.also_s if number and made.also_s is not None else made.taken_s
            taken_ns = None if taken_s is None else round(taken_s * 1e9)
            path = f"{camera}/{'again ' * number}{made.path or made.name}.jpg"
            row = source_row(made.name, batch=drive, path=path, drive=drive, camera=camera, captured_ns=taken_ns)
            sources.append(row | {"lat": made.lat, "lon": None if made.lat is None else 11.0})
    return SnapshotTables(
        pa.Table.from_pylist(rows, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        tables.BOXES.empty_table(),
        CLASSES,
    )


def measured(frames: Iterable[Made]) -> pa.Table:
    """The signals of `frames`."""
    rows = [
        {"frame_id": made.name, "error": made.error}
        if made.error
        else {
            "frame_id": made.name,
            "phash64": made.code,
            "thumbnail_print": crc32(made.name.encode()),
            **NORMAL,
            **made.signals,
        }
        for made in frames
    ]
    return pa.Table.from_pylist(rows, tables.SIGNALS)


class Held:
    """Pixels held in memory."""

    def __init__(self, data: dict[str, bytes]) -> None:
        self.data = data

    def read(self, frame_id: str) -> bytes:
        return self.data[frame_id]


@cache
def sequences(*names: str) -> tuple[SnapshotTables, Held]:
    """The pictures of shared sequences as training frames, each sequence a drive of its own."""
    data: dict[str, bytes] = {}
    sources = []
    for name in names:
        for path in sorted((shared_data(name) / "frames").iterdir()):
            frame_id = hashlib.sha256(path.read_bytes()).hexdigest()
            data[frame_id] = path.read_bytes()
            sources.append(source_row(frame_id, batch=name, path=path.name, drive=name))
    rows = [frame_row(name, annotated_classes=[]) for name in data]
    built = SnapshotTables(
        pa.Table.from_pylist(rows, tables.FRAMES),
        pa.Table.from_pylist(sources, tables.SOURCES),
        tables.BOXES.empty_table(),
        CLASSES,
    )
    return built, Held(data)


def column(table: pa.Table, name: str, frame_ids: Sequence[str] = ()) -> list[object]:
    """One column of a table of frames, in the order of `frame_ids`."""
    values = dict(zip(table["frame_id"].to_pylist(), table[name].to_pylist(), strict=True))
    return [values[frame_id] for frame_id in frame_ids or values]
