"""Immutable dataset versions: tables whose id is a digest of what they say."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from driveflow import tables as columns
from driveflow.aside import let_go, set_aside
from driveflow.canonical import Json, canonical_json, digest, digest_bytes
from driveflow.errors import IntegrityError, InvalidInputError, NotFoundError
from driveflow.parquet_bytes import table_of
from driveflow.snapshot_files import (
    WRITTEN_ANEW,
    Part,
    read_manifest,
    read_part,
    read_record,
    record_part,
    verify_snapshot,
)
from driveflow.storage.objects import join, list_objects, write_bytes
from driveflow.table_digest import first_of_runs, sort_by_key, table_digest

_PART_ROWS = 250_000
_BESIDE_SCHEMAS = {
    "locations": columns.LOCATIONS,
    "decisions": columns.DECISIONS,
    "quarantine": columns.QUARANTINE,
    "conflicts": columns.CONFLICTS,
}


@dataclass(frozen=True, slots=True)
class SnapshotTables:
    """The identity of a snapshot: frames, sources and boxes (schemas in `driveflow.tables`), sorted by key.

    Built from tables in any order; refused are rows of one key, boxes or sources of unknown frames, unknown splits and
    classes that `classes` does not name.
    """

    frames: pa.Table
    sources: pa.Table
    boxes: pa.Table
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, schema in (("frames", columns.FRAMES), ("sources", columns.SOURCES), ("boxes", columns.BOXES)):
            table = getattr(self, name).select(schema.names).cast(schema)
            object.__setattr__(self, name, sort_by_key(table, columns.KEYS[name]))
        _refuse_others(self.frames["split"], columns.SPLITS, "split")
        _refuse_others(self.boxes["class_name"], self.classes, "class of a box")
        _refuse_others(pc.list_flatten(self.frames["annotated_classes"]), self.classes, "annotated class")
        for name in ("sources", "boxes"):
            frames = first_of_runs(getattr(self, name)["frame_id"])
            if not frames.equals(self.frames["frame_id"]):
                _refuse_others(frames, self.frames["frame_id"], f"frame of {name}")

    def only(self, frame_ids: pa.Array) -> "SnapshotTables":
        """Return the part of the tables that belongs to `frame_ids`."""
        wanted = frame_ids.combine_chunks() if isinstance(frame_ids, pa.ChunkedArray) else frame_ids
        picked = [
            table.filter(pc.is_in(table["frame_id"], wanted)) for table in (self.frames, self.sources, self.boxes)
        ]
        return SnapshotTables(picked[0], picked[1], picked[2], self.classes)

    def without(self, frame_ids: Collection[str]) -> "SnapshotTables":
        """Return the tables without what belongs to `frame_ids`."""
        ids = self.frames["frame_id"]
        left = ids.filter(pc.invert(pc.is_in(ids, value_set=pa.array(frame_ids, pa.string()))))
        return self if len(left) == len(ids) else self.only(left)


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside the identity: where the bytes are, and what was decided."""

    locations: pa.Table = field(default_factory=columns.LOCATIONS.empty_table)
    decisions: pa.Table = field(default_factory=columns.DECISIONS.empty_table)
    quarantine: pa.Table = field(default_factory=columns.QUARANTINE.empty_table)
    conflicts: pa.Table = field(default_factory=columns.CONFLICTS.empty_table)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A written snapshot; `uri` is "<store>/snapshots/<id>#<record>", `record` tells how it was made."""

    uri: str
    snapshot_id: str
    classes: tuple[str, ...]
    parts: Mapping[str, tuple[Part, ...]]

    @property
    def folder(self) -> str:
        """The address of the snapshot's folder."""
        return self.uri.partition("#")[0]

    @property
    def store(self) -> str:
        """The address of the store that the snapshot lies in."""
        return self.folder.rpartition("/snapshots/")[0]

    @property
    def record_id(self) -> str:
        """The id of the record that tells how this snapshot was made; empty where none is named."""
        return self.uri.partition("#")[2]

    def tables(self) -> SnapshotTables:
        """Return the identity tables."""
        return SnapshotTables(self.frames(), self.sources(), self.boxes(), self.classes)

    def frames(self) -> pa.Table:
        """Return the frames."""
        return self._read("frames", columns.FRAMES)

    def sources(self) -> pa.Table:
        """Return where the frames were found."""
        return self._read("sources", columns.SOURCES)

    def boxes(self) -> pa.Table:
        """Return the boxes."""
        return self._read("boxes", columns.BOXES)

    def locations(self) -> pa.Table:
        """Return where the bytes of the frames lie, as the record of this URI says."""
        return self._beside("locations")

    def decisions(self) -> pa.Table:
        """Return what the step that made this snapshot decided about each frame."""
        return self._beside("decisions")

    def quarantine(self) -> pa.Table:
        """Return what could not be used, and why."""
        return self._beside("quarantine")

    def conflicts(self) -> pa.Table:
        """Return where two batches disagreed."""
        return self._beside("conflicts")

    def beside(self) -> Beside:
        """Return all that lies beside the identity, as the record of this URI says."""
        return Beside(self.locations(), self.decisions(), self.quarantine(), self.conflicts())

    def made_by(self) -> Mapping[str, Json]:
        """Return how this snapshot was made: step, parents, settings."""
        return read_record(join(self.folder, "made_by", self.record_id))

    def verify(self) -> None:
        """Check every file of the snapshot and of its record against its digest; raise where one is gone or changed."""
        verify_snapshot(self.uri)

    def _read(self, name: str, schema: pa.Schema) -> pa.Table:
        return _read_parts(self.folder, self.parts[name], schema)

    def _beside(self, name: str) -> pa.Table:
        schema = _BESIDE_SCHEMAS[name]
        if not self.record_id:
            return schema.empty_table()
        home = join(self.folder, "made_by", self.record_id)
        return _read_parts(home, [record_part(home, f"{name}.parquet")], schema)


def snapshot_id(tables: SnapshotTables) -> str:
    """Return the id: a digest of schema version, classes and the three tables; no sharding, order or place is in it."""
    return digest(
        {
            "schema_version": columns.SCHEMA_VERSION,
            "classes": tables.classes,
            **{name: table_digest(getattr(tables, name)) for name in columns.KEYS},
        }
    )


def write_snapshot(store: str, tables: SnapshotTables, beside: Beside, made_by: Mapping[str, Json]) -> Snapshot:
    """Write `tables` under `store` and return the snapshot; writing the same again changes nothing."""
    identity = snapshot_id(tables)
    folder = join(store, "snapshots", identity)
    if not _is_whole(folder):
        _write_identity(folder, identity, tables)
    record = _write_record(folder, beside, made_by)
    return open_snapshot(f"{folder}#{record}")


def open_snapshot(uri: str) -> Snapshot:
    """Return the snapshot at `uri`."""
    manifest = read_manifest(uri)
    return Snapshot(uri, manifest.snapshot_id, manifest.classes, manifest.parts)


def _is_whole(folder: str) -> bool:
    try:
        verify_snapshot(folder)
    except (NotFoundError, IntegrityError):
        return False
    return True


def _write_identity(folder: str, identity: str, tables: SnapshotTables) -> None:
    written: dict[str, Json] = {}
    for name in columns.KEYS:
        table = getattr(tables, name)
        parts = [
            _write_part(folder, f"{name}/part-{number:05d}.parquet", table.slice(start, _PART_ROWS))
            for number, start in enumerate(range(0, max(table.num_rows, 1), _PART_ROWS))
        ]
        written[name] = {"rows": table.num_rows, "parts": parts}
    manifest: dict[str, Json] = {
        "schema_version": columns.SCHEMA_VERSION,
        "snapshot_id": identity,
        "classes": list(tables.classes),
        "tables": written,
    }
    write_bytes(join(folder, "snapshot.json"), canonical_json(manifest).encode())


def _write_record(folder: str, beside: Beside, made_by: Mapping[str, Json]) -> str:
    contents = {
        name: getattr(beside, name).select(schema.names).cast(schema) for name, schema in _BESIDE_SCHEMAS.items()
    }
    record = digest({**made_by, **{name: table_digest(table) for name, table in contents.items()}})[:16]
    home = join(folder, "made_by", record)
    parts: list[Json] = [_write_part(home, f"{name}.parquet", table) for name, table in contents.items()]
    told = {**made_by, "parts": parts, "written_at": datetime.now(UTC).isoformat()}
    write_bytes(join(home, "record.json"), canonical_json(told).encode())
    return record


def _write_part(folder: str, name: str, table: pa.Table) -> Json:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=65_536)
    let_go()
    data = sink.getvalue().to_pybytes()
    write_bytes(join(folder, *name.split("/")), data)
    return {"name": name, "sha256": digest_bytes(data), "bytes": len(data)}


def _read_parts(folder: str, parts: Sequence[Part], schema: pa.Schema) -> pa.Table:
    return set_aside((_read_part(folder, part, schema) for part in parts), schema)


def _read_part(folder: str, part: Part, schema: pa.Schema) -> pa.Table:
    try:
        return table_of(read_part(folder, part)).select(schema.names).cast(schema)
    except (pa.ArrowException, KeyError) as error:
        raise IntegrityError(f"{folder}/{part.name} is not what was written there; {WRITTEN_ANEW}") from error


def _refuse_others(values: pa.ChunkedArray, allowed: pa.ChunkedArray | tuple[str, ...], what: str) -> None:
    known = pa.array(allowed, pa.string()) if isinstance(allowed, tuple) else allowed.combine_chunks()
    odd = values.filter(pc.invert(pc.is_in(values, value_set=known)))
    let_go()
    if len(odd):
        names = sorted(set(odd.to_pylist()), key=str)
        raise InvalidInputError(f"Unknown {what}: {names[:5]} ({len(names)} in all); known: {list(allowed)[:10]}.")


def list_snapshots(store: str) -> list[Snapshot]:
    """Return the snapshots under `store`, without records, by id."""
    try:
        found = [item.path for item in list_objects(join(store, "snapshots")) if item.path.endswith("/snapshot.json")]
    except NotFoundError:
        return []
    return [open_snapshot(join(store, "snapshots", path.split("/")[0])) for path in found]


def list_records(snapshot: Snapshot) -> list[Snapshot]:
    """Return `snapshot` once for each record that tells how it was made, in the order they were written."""
    try:
        found = [item.path for item in list_objects(join(snapshot.folder, "made_by"))]
    except NotFoundError:
        return []
    ids = sorted({path.split("/")[0] for path in found if path.endswith("/record.json")})
    records = [open_snapshot(f"{snapshot.folder}#{record_id}") for record_id in ids]
    return sorted(records, key=lambda record: str(record.made_by().get("written_at", "")))
