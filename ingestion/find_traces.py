"""Find every place where frames, or what was made of their pictures, lie."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import digest_bytes
from driveflow.errors import NotFoundError
from driveflow.ledger.ledger import Ledger
from driveflow.parquet_bytes import table_of
from driveflow.part_files import SUFFIX, is_whole
from driveflow.snapshots import list_records, list_snapshots
from driveflow.storage.objects import ObjectInfo, join, list_objects, read_bytes, stat
from driveflow.storage.shards import packed_frames
from driveflow.withdrawn import ModelSeen, Trace

MEASURED = ("signals", "predictions", "vectors")  # folders of the store with parts of one row or more a frame
_PAGES = (".html", ".page")
_PICTURE_MARK = b"data:image/"
_MAX_PAGE_BYTES = 256 << 20
_HOW = {"train": "trained", "val": "tuned", "holdout": "judged"}


@dataclass(slots=True)
class FrameTraces:
    """What is known of one frame over all snapshots of a store."""

    digests: set[str] = field(default_factory=set)  # of its bytes
    places: set[Trace] = field(default_factory=set)  # where its bytes lie, ours and others'
    names: set[str] = field(default_factory=set)  # batch/path
    splits: dict[str, str] = field(default_factory=dict)  # snapshot id -> its split there


@dataclass(frozen=True, slots=True)
class MeasuredParts:
    """Parts of the store: address and frames of those that hold some of what is looked for, and those that are damaged.

    A damaged part is not what its name says. Nothing reads it, and any frame may be in it.
    """

    holding: Mapping[str, set[str]]
    damaged: tuple[str, ...] = ()


def trace_snapshots(store: str, frame_ids: Sequence[str]) -> dict[str, FrameTraces]:
    """Return what `store` says of the frames: where they lie, what they are called, which snapshots hold them."""
    found = {frame_id: FrameTraces() for frame_id in frame_ids}
    wanted = pa.array(sorted(found), pa.string())
    for snapshot in list_snapshots(store):
        for row in _rows(snapshot.frames(), wanted):
            found[row["frame_id"]].splits[snapshot.snapshot_id] = row["split"]
        for row in _rows(snapshot.sources(), wanted):
            name = f"{row['batch']}/{row['path']}"
            found[row["frame_id"]].names.add(name)
            if "!" in row["path"]:
                found[row["frame_id"]].places.add(Trace("archive", name))
        for record in list_records(snapshot):
            for row in _rows(record.locations(), wanted):
                _note_place(found[row["frame_id"]], row, store)
    _note_packed(found, store)
    return found


def _note_packed(found: Mapping[str, FrameTraces], store: str) -> None:
    """Note slices of shards of which no snapshot tells: what packed them was killed, or is not done yet."""
    for frame_id, uri, offset, length, digest in packed_frames(store):
        if frame_id in found:
            found[frame_id].digests.add(digest or frame_id)
            found[frame_id].places.add(Trace("shard", uri, offset, length))


def find_copies(store: str, frame_ids: Iterable[str]) -> dict[str, set[Trace]]:
    """Return the copies of each frame's picture in campaign folders."""
    found: dict[str, set[Trace]] = {frame_id: set() for frame_id in frame_ids}
    for item in _listed(join(store, "campaigns")):
        frame_id = item.path.rpartition("/")[2].partition(".")[0]
        if frame_id in found:
            found[frame_id].add(Trace("campaign", item.uri))
    return found


def find_rows(store: str, frame_ids: Iterable[str]) -> MeasuredParts:
    """Return the parts under `store` that hold measured rows of the frames, and those that are damaged."""
    wanted = pa.array(sorted(frame_ids), pa.string())
    holding: dict[str, set[str]] = {}
    damaged: list[str] = []
    items = [item for name in MEASURED for item in _listed(join(store, name)) if item.path.endswith(SUFFIX)]
    for item in items:
        data = read_bytes(item.uri)
        if not is_whole(item.path.rpartition("/")[2], data):
            damaged.append(item.uri)
            continue
        ids = read_ids(data)
        here = ids.filter(pc.is_in(ids, value_set=wanted)).unique().to_pylist()
        if here:
            holding[item.uri] = set(here)
    return MeasuredParts(holding, tuple(damaged))


def read_ids(part: bytes) -> pa.ChunkedArray:
    """Return the frame ids in a part; none where it has no such column or is no table."""
    try:
        table = table_of(part, columns=["frame_id"])
    except (pa.ArrowException, KeyError):
        return pa.chunked_array([], pa.string())
    return table["frame_id"] if "frame_id" in table.column_names else pa.chunked_array([], pa.string())


def find_exports(scratch: Path, frame_id: str) -> Iterator[Trace]:
    """Yield the folders of training jobs on this machine that hold an export with the frame's picture."""
    for path in sorted(scratch.glob(f"training/*/data/images/*/{frame_id}.*")):
        yield Trace("training", path.parents[3].absolute().as_uri())


def find_pages(store: str, folders: Iterable[Path], frames: Mapping[str, FrameTraces]) -> dict[str, list[str]]:
    """Return for each frame the pages with pictures that name it; they may show it."""
    marks = {frame_id: _marks(frame_id, traces) for frame_id, traces in frames.items()}
    found: dict[str, list[str]] = {frame_id: [] for frame_id in frames}
    for uri, text in _page_texts(store, folders):
        for frame_id, words in marks.items():
            if any(word in text for word in words):
                found[frame_id].append(uri)
    return found


def models_that_saw(ledger: Ledger, frames: Mapping[str, FrameTraces]) -> dict[str, list[ModelSeen]]:
    """Return for each frame the models that trained on it, were tuned on it, or were judged by it."""
    versions = {(row.model, row.digest): row for row in ledger.versions()}
    found: dict[str, list[ModelSeen]] = {frame_id: [] for frame_id in frames}
    for row in ledger.trained_models(limit=None):
        version = versions.get((row.model, row.digest))
        number, state = (version.version, version.state) if version else (None, row.verdict)
        for snapshot in {_snapshot_id(row.snapshot_uri), _snapshot_id(row.holdout_uri)} - {""}:
            for frame_id, traces in frames.items():
                how = _HOW.get(traces.splits.get(snapshot, ""), "")
                if how:
                    found[frame_id].append(ModelSeen(row.model, row.digest, number, state, how, snapshot))
    return {frame_id: sorted(set(seen), key=str) for frame_id, seen in found.items()}


def still_there(trace: Trace, digests: Iterable[str]) -> bool:
    """Return whether the bytes of a frame still lie at `trace`; of an archive that cannot be told, so they do."""
    if trace.kind == "archive":
        return True
    if stat(trace.uri) is None:
        return False
    return digest_bytes(read_bytes(trace.uri, trace.offset, trace.length or None)) in set(digests)


def _note_place(traces: FrameTraces, row: Mapping[str, object], store: str) -> None:
    uri, offset, length = str(row["uri"]), row["offset"], row["length"]
    traces.digests.add(str(row["digest"] or row["frame_id"]))
    kind = "shard" if uri.startswith(join(store, "shards") + "/") else "source"
    span = (offset if isinstance(offset, int) else 0, length if isinstance(length, int) else 0)
    traces.places.add(Trace("shard", uri, *span) if kind == "shard" else Trace("source", uri, *span))


def _rows(table: pa.Table, wanted: pa.Array) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = table.filter(pc.is_in(table["frame_id"], value_set=wanted)).to_pylist()
    return rows


def _listed(uri: str) -> list[ObjectInfo]:
    try:
        return list(list_objects(uri))
    except NotFoundError:
        return []


def _marks(frame_id: str, traces: FrameTraces) -> list[bytes]:
    names = [html.escape(name) for name in traces.names]
    return [text.encode("utf-8", "surrogateescape") for text in (frame_id[:12], *names)]


def _page_texts(store: str, folders: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    items = [item for item in _listed(join(store, "objects")) if item.path.endswith(_PAGES)]
    for item in items:
        if item.size <= _MAX_PAGE_BYTES and _PICTURE_MARK in (text := read_bytes(item.uri)):
            yield item.uri, text
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
            if path.stat().st_size <= _MAX_PAGE_BYTES and _PICTURE_MARK in (text := path.read_bytes()):
                yield path.absolute().as_uri(), text


def _snapshot_id(uri: str) -> str:
    return uri.partition("#")[0].rpartition("/snapshots/")[2]
