from pathlib import Path

import pytest

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError
from driveflow.images.pixels import PixelReader
from driveflow.storage import shards as packing
from driveflow.storage.objects import list_objects
from driveflow.storage.shards import Blob, pack_shards, packed_frames
from driveflow.tables import LOCATIONS


def _blobs(count: int) -> list[Blob]:
    datas = [f"frame {number}".encode() * 10 for number in range(count)]
    return [Blob(digest_bytes(data), data) for data in datas]


def test_every_blob_is_read_back_from_its_slice(tmp_path: Path):
    blobs = _blobs(20)

    locations = pack_shards(tmp_path.as_uri(), blobs, shard_bytes=300)

    assert locations.schema == LOCATIONS
    reader = PixelReader(locations)
    assert [reader.read(blob.frame_id) for blob in blobs] == [blob.data for blob in blobs]


def test_shards_are_bounded_and_named_by_their_digest(tmp_path: Path):
    pack_shards(tmp_path.as_uri(), _blobs(20), shard_bytes=300)

    shards = list((tmp_path / "shards").iterdir())
    assert len(shards) == 6
    assert all(shard.stat().st_size <= 300 for shard in shards)
    assert all(shard.name == f"{digest_bytes(shard.read_bytes())}.bin" for shard in shards)


def test_ac_o1_a_shard_that_was_cut_short_is_written_whole_when_it_is_packed_again(tmp_path: Path):
    blobs = _blobs(3)
    pack_shards(tmp_path.as_uri(), blobs)
    (shard,) = (tmp_path / "shards").iterdir()
    shard.write_bytes(shard.read_bytes()[:7])

    reader = PixelReader(pack_shards(tmp_path.as_uri(), blobs))

    assert [reader.read(blob.frame_id) for blob in blobs] == [blob.data for blob in blobs]


def test_a_blob_larger_than_a_shard_has_one_of_its_own(tmp_path: Path):
    blobs = [*_blobs(1), Blob(digest_bytes(b"x" * 500), b"x" * 500), *_blobs(2)[1:]]

    locations = pack_shards(tmp_path.as_uri(), blobs, shard_bytes=300)

    assert len(set(locations["uri"].to_pylist())) == 3


def test_packing_twice_changes_nothing(tmp_path: Path):
    first = pack_shards(tmp_path.as_uri(), _blobs(20), shard_bytes=300)
    before = [(info.path, info.version) for info in list_objects(tmp_path.as_uri())]

    again = pack_shards(tmp_path.as_uri(), _blobs(20), shard_bytes=300)

    assert again == first
    assert [(info.path, info.version) for info in list_objects(tmp_path.as_uri())] == before


def test_a_frame_that_comes_twice_is_packed_once(tmp_path: Path):
    locations = pack_shards(tmp_path.as_uri(), _blobs(2) * 2)

    assert locations.num_rows == 2


def test_nothing_makes_no_shard(tmp_path: Path):
    assert pack_shards(tmp_path.as_uri(), []).num_rows == 0
    assert not (tmp_path / "shards").exists()


def test_what_lies_in_a_shard_is_listed_before_the_shard_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def killed(uri: str, data: bytes) -> bool:
        raise KeyboardInterrupt(uri, data)

    store, blobs = tmp_path.as_uri(), [*_blobs(2), Blob("7" * 64, b"decoded", digest_bytes(b"decoded"))]
    monkeypatch.setattr(packing, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        pack_shards(store, blobs)
    monkeypatch.undo()
    listed = list(packed_frames(store))

    packed = pack_shards(store, blobs)

    assert listed == list(packed_frames(store)) == [tuple(row.values()) for row in packed.to_pylist()]


def test_in_a_store_without_shards_nothing_was_packed(tmp_path: Path):
    assert list(packed_frames(tmp_path.as_uri())) == []


def test_a_list_of_a_shard_that_is_damaged_is_named_and_made_good_by_packing_again(tmp_path: Path):
    store = tmp_path.as_uri()
    packed = pack_shards(store, _blobs(2))
    (listed,) = (tmp_path / "shard_frames").iterdir()
    listed.write_text('[["a"]]')
    with pytest.raises(IntegrityError, match=listed.name):
        list(packed_frames(store))

    pack_shards(store, _blobs(2))

    assert [row[0] for row in packed_frames(store)] == packed["frame_id"].to_pylist()
