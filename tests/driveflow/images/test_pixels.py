from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.images.pixels import PixelReader
from driveflow.storage import objects
from driveflow.storage.cache import Cache
from driveflow.tables import LOCATIONS

PICTURE = b"encoded bytes of a picture"
FRAME = digest_bytes(PICTURE)


def _located(*rows: tuple[str, str, int | None, int | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(LOCATIONS.names, row, strict=False)) for row in rows], schema=LOCATIONS)


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return request.getfixturevalue("s3_store") if request.param == "s3" else (tmp_path / "store").as_uri()


def test_a_frame_is_read_from_a_whole_object_or_a_slice(store: str):
    whole, shard = objects.join(store, "a b.jpg"), objects.join(store, "shard.bin")
    objects.write_bytes(whole, PICTURE)
    objects.write_bytes(shard, b"before" + PICTURE + b"after")

    assert PixelReader(_located((FRAME, whole, None, None))).read(FRAME) == PICTURE
    assert PixelReader(_located((FRAME, whole, 0, len(PICTURE)))).read(FRAME) == PICTURE
    assert PixelReader(_located((FRAME, shard, 6, len(PICTURE)))).read(FRAME) == PICTURE


def test_places_are_tried_in_order_until_one_has_the_frame(store: str):
    gone, damaged, good = (objects.join(store, name) for name in ("gone", "damaged", "good"))
    objects.write_bytes(damaged, b"something else")
    objects.write_bytes(good, PICTURE)

    reader = PixelReader(_located(*((FRAME, uri, 0, None) for uri in (gone, damaged, good))))

    assert reader.read(FRAME) == PICTURE


def test_bytes_of_another_frame_are_refused(store: str):
    uri = objects.join(store, "x")
    objects.write_bytes(uri, b"something else")

    with pytest.raises(IntegrityError, match=FRAME):
        PixelReader(_located((FRAME, uri, None, None))).read(FRAME)


def test_a_frame_that_is_gone_everywhere_is_not_found(store: str):
    places = [(FRAME, objects.join(store, name), 0, None) for name in ("x", "y")]

    with pytest.raises(NotFoundError, match=r"is gone.*2 places tried"):
        PixelReader(_located(*places)).read(FRAME)


def test_a_frame_without_a_place_is_not_found():
    with pytest.raises(NotFoundError, match="lies nowhere"):
        PixelReader(_located()).read(FRAME)


def test_a_frame_on_s3_is_fetched_once_and_then_read_from_the_cache(s3_store: str, tmp_path: Path):
    uri = objects.join(s3_store, "x")
    objects.write_bytes(uri, PICTURE)
    reader = PixelReader(_located((FRAME, uri, 0, None)), Cache(tmp_path, 1000))
    assert reader.read(FRAME) == PICTURE

    objects.delete(uri)

    assert reader.read(FRAME) == PICTURE


def test_a_local_frame_is_not_cached(tmp_path: Path):
    (tmp_path / "x").write_bytes(PICTURE)
    cache = Cache(tmp_path / "cache", 1000)

    PixelReader(_located((FRAME, (tmp_path / "x").as_uri(), 0, None)), cache).read(FRAME)

    assert cache.size_bytes() == 0


def test_many_frames_come_in_the_order_asked(store: str):
    pictures = {digest_bytes(data): data for data in (f"picture {number}".encode() for number in range(60))}
    for frame_id, data in pictures.items():
        objects.write_bytes(objects.join(store, frame_id), data)
    reader = PixelReader(_located(*((frame_id, objects.join(store, frame_id), 0, None) for frame_id in pictures)))
    asked = [*pictures, *reversed(pictures)]

    found = list(reader.read_many(asked))

    assert found == [(frame_id, pictures[frame_id]) for frame_id in asked]


def test_reading_many_takes_only_a_few_ahead_and_stops_with_its_reader(tmp_path: Path):
    (tmp_path / "x").write_bytes(PICTURE)
    asked: list[str] = []

    def ask() -> Iterator[str]:
        for _ in range(1000):
            asked.append(FRAME)
            yield FRAME

    frames = PixelReader(_located((FRAME, (tmp_path / "x").as_uri(), 0, None))).read_many(ask())
    next(frames)
    frames.close()

    assert len(asked) < 40


def test_reading_many_tells_a_missing_frame_when_its_turn_comes(tmp_path: Path):
    (tmp_path / "x").write_bytes(PICTURE)
    frames = PixelReader(_located((FRAME, (tmp_path / "x").as_uri(), 0, None))).read_many([FRAME, "0" * 64])

    assert next(frames) == (FRAME, PICTURE)
    with pytest.raises(NotFoundError):
        next(frames)


def test_how_often_the_cache_answered_is_told(s3_store: str, tmp_path: Path):
    uri = objects.join(s3_store, "a.jpg")
    objects.write_bytes(uri, PICTURE)
    reader = PixelReader(_located((FRAME, uri, None, None)), Cache(tmp_path / "cache", 1 << 20))

    assert reader.cache_note() == ()
    for _ in range(4):
        reader.read(FRAME)

    assert reader.cache_note() == ("Pictures: 4 reads, 75% answered by the cache on local disk.",)


def test_a_frame_of_a_video_is_known_by_its_place_and_checked_by_the_digest_of_its_bytes(store: str):
    uri, frame_id = objects.join(store, "shard.bin"), digest_bytes(b"container, stream, time")
    objects.write_bytes(uri, PICTURE)
    row = dict(zip(LOCATIONS.names, (frame_id, uri, 0, len(PICTURE), FRAME), strict=True))

    assert PixelReader(pa.Table.from_pylist([row], schema=LOCATIONS)).read(frame_id) == PICTURE

    objects.write_bytes(uri, b"something else")
    with pytest.raises(IntegrityError, match=frame_id):
        PixelReader(pa.Table.from_pylist([row], schema=LOCATIONS)).read(frame_id)
