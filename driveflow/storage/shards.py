"""Pack many small blobs, members of archives say, into few large content-addressed objects."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from driveflow.canonical import Json, canonical_json, digest_bytes
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.storage.objects import join, keep_bytes, list_objects, read_bytes, stat, write_bytes
from driveflow.tables import LOCATIONS

SHARD_BYTES = 64 << 20
_LISTS = "shard_frames"


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
    so that doing it twice changes nothing. What lies in each is written first, into `<store>/shard_frames/<sha>.json`:
    a frame can be found also where no snapshot tells of the shard, since what packed it was killed or is not done.
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


def packed_frames(store_uri: str) -> Iterator[tuple[str, str, int, int, str | None]]:
    """Yield frame id, address, offset, length and digest (as in `Blob`) of all that was packed, or is about to be.

    Raises:
        IntegrityError: a list is not what was written there.
    """
    try:
        lists = list(list_objects(join(store_uri, _LISTS)))
    except NotFoundError:
        return
    for entry in lists:
        uri = _uri(store_uri, entry.path.removesuffix(".json"))
        try:
            rows = [(str(row[0]), uri, int(row[1]), int(row[2]), row[3]) for row in json.loads(read_bytes(entry.uri))]
        except (ValueError, TypeError, IndexError) as error:
            hint = "`driveflow data quarantine retry TAG` of the import that packed it writes it anew"
            raise IntegrityError(f"{entry.uri} is no list of what lies in a shard: {error}; {hint}.") from error
        yield from rows


def _write(store_uri: str, shard: list[Blob]) -> Iterator[dict[str, object]]:
    data = b"".join(blob.data for blob in shard)
    name = digest_bytes(data)
    uri = _uri(store_uri, name)
    offsets = accumulate((len(blob.data) for blob in shard), initial=0)
    rows = [(blob.frame_id, offset, len(blob.data), blob.digest) for blob, offset in zip(shard, offsets, strict=False)]
    listed: list[Json] = [list(row) for row in rows]
    keep_bytes(join(store_uri, _LISTS, f"{name}.json"), canonical_json(listed).encode())
    found = stat(uri)
    if found is None or found.size != len(data):  # a look costs less than 64 MiB on their way to a store that has them
        write_bytes(uri, data)
    for frame_id, offset, length, digest in rows:
        yield {"frame_id": frame_id, "uri": uri, "offset": offset, "length": length, "digest": digest}


def _uri(store_uri: str, name: str) -> str:
    return join(store_uri, "shards", f"{name}.bin")
