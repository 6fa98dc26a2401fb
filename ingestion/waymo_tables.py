"""A Waymo v2 Parquet table as a container: pictures of its rows are members, and one text tells the rest."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from driveflow.errors import BrokenDataError
from driveflow.formats.waymo_text import MEMBER, Component, WaymoText, picture_names
from ingestion.archives import ArchiveLimits
from ingestion.containers import Member, Opener

_KEY: Final = {"segment": "key.segment_context_name", "micros": "key.frame_timestamp_micros"}
_CAMERA: Final = {"camera": "key.camera_name"}
_PICTURE: Final = "[CameraImageComponent].image"
_VELOCITY: Final = tuple(f"[CameraImageComponent].velocity.linear_velocity.{axis}" for axis in "xyz")
_BOX: Final = {
    "object_id": "key.camera_object_id",
    "kind": "[CameraBoxComponent].type",
    "center_x": "[CameraBoxComponent].box.center.x",
    "center_y": "[CameraBoxComponent].box.center.y",
    "size_x": "[CameraBoxComponent].box.size.x",
    "size_y": "[CameraBoxComponent].box.size.y",
    "detection": "[CameraBoxComponent].difficulty_level.detection",
    "tracking": "[CameraBoxComponent].difficulty_level.tracking",
}
_STATS: Final = {name: f"[StatsComponent].{name}" for name in ("time_of_day", "location", "weather")}
_NULLS: Final = {"segment": "", "micros": 0, "camera": 0, "kind": 0}
_NUMBERS: Final = frozenset(["center_x", "center_y", "size_x", "size_y"])
_COUNTS: Final = frozenset(["micros", "camera", "kind", "detection", "tracking"])
_NEEDED: Final = frozenset(["segment", "micros", "camera", "kind", *_NUMBERS])
_BUFFER_BYTES: Final = 1 << 20
_BATCH_BYTES: Final = 8 << 20
_BROKEN: Final = (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class WaymoTable:
    """One table of a segment; pictures are numbered by their rows, the text comes after them."""

    opener: Opener
    packed_bytes: int
    limits: ArchiveLimits
    component: Component

    def members(self) -> Sequence[Member]:
        """Return a member for each row with a picture, and the text.

        Raises:
            BrokenDataError: archive_broken, archive_ratio or archive_too_large.
        """
        with self._opened() as table:
            self._check(table)
            text = self._text(table)
            sizes = list(self._picture_sizes(table)) if self.component == "camera_image" else []
        pictures = [
            Member(number, name, size, *_refusal(size, self.limits))
            for number, (name, size) in enumerate(zip(text.path, sizes, strict=True))
        ]
        return [*pictures, Member(len(pictures), MEMBER, len(msgspec.json.encode(text)))]

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the pictures and the text at `numbers`, a few rows in memory at a time."""
        numbers = set(numbers)
        with self._opened() as table:
            pictures = table.metadata.num_rows if self.component == "camera_image" else 0
            number = 0
            for batch in self._batches(table, [_PICTURE]) if any(each < pictures for each in numbers) else ():
                for value in batch.column(0):
                    if number in numbers:
                        yield number, value.as_py() or b""
                    number += 1
            if pictures in numbers:
                yield pictures, msgspec.json.encode(self._text(table))

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        try:
            with self.opener() as stream, pq.ParquetFile(stream, buffer_size=_BUFFER_BYTES, pre_buffer=False) as table:
                yield table
        except _BROKEN as error:
            raise BrokenDataError("archive_broken", f"cannot be read as Parquet: {error}"[:300]) from error

    def _check(self, table: pq.ParquetFile) -> None:
        if table.metadata.num_rows > self.limits.max_members and self.component == "camera_image":
            raise BrokenDataError("archive_too_large", f"more than {self.limits.max_members:,} rows")
        if self.component == "other":
            return
        unpacked = _unpacked_bytes(table)
        if unpacked > max(self.limits.max_ratio * self.packed_bytes, self.limits.free_bytes):
            raise BrokenDataError("archive_ratio", f"{unpacked:,} bytes from {self.packed_bytes:,}")
        if unpacked > self.limits.max_member_bytes and self.component != "camera_image":
            raise BrokenDataError("archive_too_large", f"{unpacked:,} bytes of labels")

    def _batches(self, table: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        a_row = _unpacked_bytes(table) // max(table.metadata.num_rows, 1) + 1
        rows = max(1, min(_BATCH_BYTES // a_row, 4096))
        yield from table.iter_batches(rows, columns=list(columns), use_threads=False)

    def _picture_sizes(self, table: pq.ParquetFile) -> Iterator[int]:
        for batch in self._batches(table, [_PICTURE]):
            yield from pc.fill_null(pc.binary_length(batch.column(0)), 0).to_pylist()

    def _text(self, table: pq.ParquetFile) -> WaymoText:
        wanted = {
            "camera_image": _KEY | _CAMERA,
            "camera_box": _KEY | _CAMERA | _BOX,
            "stats": _KEY | _STATS,
        }.get(self.component, {})
        known = {name: column for name, column in wanted.items() if column in table.schema_arrow.names}
        if missing := (wanted.keys() & _NEEDED) - known.keys():
            raise BrokenDataError("archive_broken", f"has no columns {sorted(wanted[name] for name in missing)}")
        velocity = [name for name in _VELOCITY if name in table.schema_arrow.names]
        rows = table.read([*known.values(), *(velocity if self.component == "camera_image" else ())])
        columns: dict[str, Any] = {
            name: rows[column].cast(_type_of(name)).to_pylist() for name, column in known.items()
        }
        for name, nothing in _NULLS.items():
            if name in columns:
                columns[name] = [nothing if value is None else value for value in columns[name]]
        if self.component == "camera_image":
            columns["path"] = picture_names(columns["segment"], columns["micros"], columns["camera"])
            columns["speed_mps"] = _speeds(rows, velocity)
        return WaymoText(1, self.component, **columns)


def open_waymo(opener: Opener, packed_bytes: int, limits: ArchiveLimits) -> WaymoTable | None:
    """Return the Parquet file as a table of Waymo's, by its columns; None where it is none."""
    try:
        with opener() as stream:
            names = set(pq.read_schema(stream).names)
    except _BROKEN:
        return None
    if _KEY["segment"] not in names:
        return None
    signs: tuple[tuple[Component, str], ...] = (
        ("camera_image", _PICTURE),
        ("camera_box", _BOX["center_x"]),
        ("stats", _STATS["time_of_day"]),
    )
    component: Component = next((name for name, sign in signs if sign in names), "other")
    return WaymoTable(opener, packed_bytes, limits, component)


def _unpacked_bytes(table: pq.ParquetFile) -> int:
    return sum(table.metadata.row_group(group).total_byte_size for group in range(table.num_row_groups))


def _refusal(size: int, limits: ArchiveLimits) -> tuple[str, str]:
    if size > limits.max_member_bytes:
        return "archive_too_large", f"{size:,} bytes; at most {limits.max_member_bytes:,}"
    return "", ""


def _type_of(name: str) -> pa.DataType:
    return pa.float64() if name in _NUMBERS else pa.int64() if name in _COUNTS else pa.string()


def _speeds(rows: pa.Table, velocity: Sequence[str]) -> list[float | None]:
    if len(velocity) < len(_VELOCITY):
        return []
    squares = [pc.multiply(rows[name], rows[name]) for name in velocity]
    return pc.sqrt(pc.add(pc.add(squares[0], squares[1]), squares[2])).to_pylist()  # type: ignore[no-any-return]
