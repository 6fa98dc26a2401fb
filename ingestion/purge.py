"""Remove copies of withdrawn frames; each function may be called again, and then finds nothing left to do."""

import shutil
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.errors import IntegrityError, NotFoundError
from driveflow.parquet_bytes import table_of
from driveflow.part_files import write_part
from driveflow.storage.cache import Cache
from driveflow.storage.objects import delete, local_path, read_bytes, write_bytes
from driveflow.withdrawn import Trace
from ingestion.find_traces import MeasuredParts


def purge_shards(slices: Iterable[Trace]) -> None:
    """Overwrite slices of shards with zeros; what else is in a shard stays where it is, byte for byte."""
    by_shard: dict[str, list[Trace]] = {}
    for piece in slices:
        by_shard.setdefault(piece.uri, []).append(piece)
    for uri, pieces in sorted(by_shard.items()):
        try:
            data = bytearray(read_bytes(uri))
        except NotFoundError:
            continue
        before = bytes(data)
        for piece in pieces:
            end = min(piece.offset + piece.length, len(data)) if piece.length else len(data)
            data[piece.offset : end] = bytes(max(0, end - piece.offset))
        if data != before:
            write_bytes(uri, bytes(data))


def check_zeros(slices: Iterable[Trace]) -> None:
    """Refuse slices of shards that hold anything: two who write one shard at once may undo each other.

    Raises:
        IntegrityError: names the first such slice.
    """
    for piece in slices:
        try:
            data = read_bytes(piece.uri, piece.offset, piece.length or None)
        except NotFoundError:
            continue
        if data.strip(b"\0"):
            raise IntegrityError(f"Bytes of a withdrawn frame are still in {piece.uri}; withdraw it once more.")


def purge_rows(parts: MeasuredParts) -> None:
    """Take frames out of parts that are named by their digest; what stays is written before the part is removed.

    Parts that are damaged are removed as they are: to write them anew would give what they say a digest that is right.
    """
    for uri in parts.damaged:
        delete(uri)
    for uri, frame_ids in sorted(parts.holding.items()):
        table = table_of(read_bytes(uri))
        gone = pa.array(sorted(frame_ids), pa.string())
        rest = table.filter(pc.invert(pc.is_in(table["frame_id"], value_set=gone)))
        if rest.num_rows:
            write_part(uri.rpartition("/")[0], rest.combine_chunks())
        delete(uri)


def purge_cache(cache: Cache | None, digests: Iterable[str]) -> None:
    """Take frames out of the cache of this machine."""
    for digest in digests:
        if cache is not None:
            cache.forget(digest)


def purge_copies(traces: Iterable[Trace]) -> None:
    """Remove whole objects: pictures of campaigns, and sources where that was asked for."""
    for trace in traces:
        delete(trace.uri)


def purge_exports(traces: Iterable[Trace]) -> None:
    """Remove what training jobs on this machine exported and packed; a job that needs it makes it again without."""
    for trace in traces:
        folder = local_path(trace.uri)
        if folder is not None:
            for name in ("data", "scratch"):
                shutil.rmtree(folder / name, ignore_errors=True)
