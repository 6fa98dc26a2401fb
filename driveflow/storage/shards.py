"""Pack many small blobs, members of archives say, into few large content-addressed objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from driveflow.canonical import digest_bytes
from driveflow.storage.objects import join, stat, write_bytes
from driveflow.tables import LOCATIONS

SHARD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Blob:
    """Encoded bytes of one frame."""

    frame_id: str
    data: bytes
    digest: str | None = None  # sha256 of `data` where that is not the frame's id


def pack_shards(store_uri: str, blobs: Iterable[Blob], shard_bytes: int = SHARD_BYTES) -> pa.Table:
    """Write `blobs` into `<store>/shards/<sha256>.bin` and return where each frame lies (LOCATIONS).

    Blobs are taken in the order given, a frame that comes again is packed once, and at most one shard is in memory.
    A shard holds at most `shard_bytes`, or a single blob that is larger. Equal blobs in equal order make equal shards,
    so that doing it twice changes nothing.
    """
    rows = [row for shard in _filled(blobs, shard_bytes) for row in _write(store_uri, shard)]
    return pa.Table.from_pylist(rows, schema=LOCATIONS)


def _filled(blobs: Iterable[Blob], shard_bytes: int) -> Iterator[list[Blob]]:
    seen: set[str] = set()
    shard: list[Blob] = []
    size = 0
    for blob in blobs:
        if blob.frame_id in seen:
            continue
        seen.add(blob.frame_id)
        if shard and size + len(blob.data) > shard_bytes:
            yield shard
            shard, size = [], 0
        shard.append(blob)
        size += len(blob.data)
    if shard:
        yield shard


def _write(store_uri: str, shard: list[Blob]) -> Iterator[dict[str, object]]:
    data = b"".join(blob.data for blob in shard)
    uri = join(store_uri, "shards", f"{digest_bytes(data)}.bin")
    found = stat(uri)
    if found is None or found.size != len(data):  # a look costs less than 64 MiB on their way to a store that has them
        write_bytes(uri, data)
    offset = 0
    for blob in shard:
        spot = {"uri": uri, "offset": offset, "length": len(blob.data), "digest": blob.digest}
        yield {"frame_id": blob.frame_id, **spot}
        offset += len(blob.data)
