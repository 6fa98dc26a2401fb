"""Read the encoded bytes of frames from wherever they lie, each checked against its digest."""

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import pyarrow as pa

from driveflow.canonical import digest_bytes
from driveflow.errors import DriveflowError, IntegrityError, NotFoundError, StorageError
from driveflow.place import Place
from driveflow.snapshots import Snapshot
from driveflow.storage.cache import Cache
from driveflow.storage.objects import local_path, read_bytes
from driveflow.withdrawn import withdrawn_for

_THREADS = 8
_AHEAD = 2 * _THREADS  # frames that may wait in memory for their turn
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where bytes lie, and their digest: the frame's id, but for frames of a video, whose id is their place in it."""

    uri: str
    offset: int
    length: int | None
    digest: str

    def __str__(self) -> str:
        return self.uri if self.length is None else f"bytes {self.offset} to {self.offset + self.length} of {self.uri}"


class PixelReader:
    """Encoded bytes of frames by frame id; may be shared by threads.

    `locations` has the columns of LOCATIONS: a frame may lie at several places, which are tried in the order of the
    table. With a null `length` a place is the whole object. What lies on S3 goes through `cache`, where there is one.
    Frames that are `withdrawn` are not read, wherever their bytes may still lie.
    """

    def __init__(
        self, locations: pa.Table, cache: Cache | None = None, withdrawn: frozenset[str] = frozenset()
    ) -> None:
        self._cache = cache
        self._withdrawn = withdrawn
        self._reads: Counter[str] = Counter()  # how many the cache answered, a store far away, a disk here
        self._counting = Lock()
        # Arrow columns in the order of the ids: no Python object for every frame of a large snapshot.
        rows = locations.select(["frame_id", "uri", "offset", "length", "digest"]).append_column(
            "row", _numbers(locations)
        )
        ordered = rows.sort_by([("frame_id", "ascending"), ("row", "ascending")])
        self._frame_ids = _one_array(ordered["frame_id"].cast(pa.large_string()))
        self._uris = _one_array(ordered["uri"].cast(pa.large_string()))
        self._offsets = _one_array(ordered["offset"])
        self._lengths = _one_array(ordered["length"])
        self._digests = _one_array(ordered["digest"])

    def __contains__(self, frame_id: str) -> bool:
        return next(self._places(frame_id), None) is not None

    def _places(self, frame_id: str) -> Iterator[_Spot]:
        row = bisect_left(self._frame_ids, frame_id, key=lambda scalar: scalar.as_py())
        while row < len(self._frame_ids) and self._frame_ids[row].as_py() == frame_id:
            columns = (self._uris, self._offsets, self._lengths, self._digests)
            uri, offset, length, digest = (column[row].as_py() for column in columns)
            yield _Spot(uri, offset or 0, length, digest or frame_id)
            row += 1

    def read(self, frame_id: str) -> bytes:
        """Return the encoded bytes of a frame.

        Raises:
            NotFoundError: no place is known, nothing lies at any of them, or the frame was withdrawn.
            IntegrityError: what lies there has another digest.
            StorageError: the storage failed.
        """
        if frame_id in self._withdrawn:
            raise NotFoundError(f"Frame {frame_id} was withdrawn: nothing may read its bytes")
        troubles: list[DriveflowError] = []
        for spot in self._places(frame_id):
            try:
                return self._fetch(frame_id, spot)
            except (NotFoundError, IntegrityError, StorageError) as error:
                troubles.append(error)
        raise _nowhere(frame_id, troubles)

    def read_many(self, frame_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (frame id, bytes) in the order asked, reading a few frames ahead; memory stays bounded.

        Raises:
            NotFoundError, IntegrityError, StorageError: as `read`, when the frame's turn comes.
        """
        waiting: deque[tuple[str, Future[bytes]]] = deque()
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="pixels") as pool:
            try:
                for frame_id in frame_ids:
                    waiting.append((frame_id, pool.submit(self.read, frame_id)))
                    if len(waiting) > _AHEAD:
                        yield _next(waiting)
                while waiting:
                    yield _next(waiting)
            finally:
                for _, future in waiting:
                    future.cancel()

    def cache_note(self) -> tuple[str, ...]:
        """Return one sentence on how many reads the cache on local disk answered; none where nothing lies far away."""
        hits, misses = self._reads["cache"], self._reads["far"]
        if not hits + misses:
            return ()
        return (
            f"Pictures: {hits + misses:,} reads, {hits / (hits + misses):.0%} answered by the cache on local disk.",
        )

    def _count(self, where: str) -> None:
        with self._counting:
            self._reads[where] += 1

    def _fetch(self, frame_id: str, spot: _Spot) -> bytes:
        if self._cache is not None and (kept := self._cache.get(spot.digest)) is not None:
            self._count("cache")
            return kept
        far = local_path(spot.uri) is None
        data = read_bytes(spot.uri, spot.offset, spot.length)
        self._count("far" if far else "near")
        if digest_bytes(data) != spot.digest:
            raise IntegrityError(f"Frame {frame_id} should lie at {spot}, but these bytes have another digest")
        if self._cache is not None and far:
            self._cache.put(spot.digest, data)
        return data


def open_pixels(snapshot: Snapshot, place: Place) -> PixelReader:
    """Return the reader of a snapshot's frames, with the picture cache of `place`."""
    return PixelReader(snapshot.locations(), place_cache(place), withdrawn_for(place.store, snapshot))


def place_cache(place: Place) -> Cache:
    """Return the cache of immutable objects of `place`, which all its processes share."""
    return Cache(Path(place.scratch) / "cache", place.cache_bytes)


def _numbers(table: pa.Table) -> pa.Array:
    return pa.array(range(table.num_rows), pa.int64())


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _next(waiting: deque[tuple[str, Future[bytes]]]) -> tuple[str, bytes]:
    frame_id, future = waiting.popleft()
    return frame_id, future.result()


def _nowhere(frame_id: str, troubles: list[DriveflowError]) -> DriveflowError:
    """Return the error to raise: a store that failed may do better later, so that comes before damage and absence."""
    if not troubles:
        return NotFoundError(f"Frame {frame_id} lies nowhere: the snapshot has no location for it")
    told = "; ".join(str(error) for error in troubles[:_SHOWN])
    more = f" ({len(troubles)} places tried)" if len(troubles) > 1 else ""
    for kind in (StorageError, IntegrityError):
        if any(isinstance(error, kind) for error in troubles):
            return kind(f"{told}{more}")
    return NotFoundError(f"Frame {frame_id} is gone: {told}{more}")
