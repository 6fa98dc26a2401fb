import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError, InvalidInputError, StorageError
from driveflow.storage.cache import Cache
from driveflow.storage.local import TEMPORARY_PREFIX


def _objects(count: int, size: int) -> dict[str, bytes]:
    blobs = [number.to_bytes(4, "big") * (size // 4) for number in range(count)]
    return {digest_bytes(blob): blob for blob in blobs}


def test_an_object_is_fetched_once(tmp_path: Path):
    cache = Cache(tmp_path, 1000)
    fetched: list[int] = []

    def fetch() -> bytes:
        fetched.append(1)
        return b"hello"

    for _ in range(3):
        assert cache.read(digest_bytes(b"hello"), fetch) == b"hello"
    assert len(fetched) == 1


def test_bytes_with_another_digest_are_refused(tmp_path: Path):
    with pytest.raises(IntegrityError, match="have the digest"):
        Cache(tmp_path, 1000).put(digest_bytes(b"a"), b"b")


@pytest.mark.parametrize("digest", ["../../etc/passwd", "AB" * 32, ""])
def test_a_name_that_is_no_digest_is_refused(tmp_path: Path, digest: str):
    with pytest.raises(InvalidInputError, match="no sha256 digest"):
        Cache(tmp_path, 1000).get(digest)


def test_a_damaged_object_is_removed_and_fetched_again(tmp_path: Path):
    cache = Cache(tmp_path, 1000)
    digest = digest_bytes(b"hello")
    cache.put(digest, b"hello")
    (tmp_path / digest[:2] / digest).write_bytes(b"hellx")

    assert cache.get(digest) is None
    assert cache.read(digest, lambda: b"hello") == b"hello"
    assert cache.get(digest) == b"hello"


def test_an_object_that_was_forgotten_does_not_come_back(tmp_path: Path):
    digest = digest_bytes(b"hello")
    cache, of_another_process = (Cache(tmp_path / "cache", 1000) for _ in range(2))
    cache.put(digest, b"hello")

    assert cache.forget(digest)
    assert of_another_process.read(digest, lambda: b"hello") == b"hello"

    assert cache.get(digest) is None
    assert cache.size_bytes() == 0
    assert not cache.forget(digest)


def test_an_object_is_forgotten_before_there_is_a_cache(tmp_path: Path):
    digest = digest_bytes(b"hello")
    Cache(tmp_path / "cache", 1000).forget(digest)

    Cache(tmp_path / "cache", 1000).put(digest, b"hello")

    assert Cache(tmp_path / "cache", 1000).get(digest) is None


def test_a_cache_that_cannot_be_written_forgets_nothing_and_says_so(tmp_path: Path):
    (tmp_path / "cache").write_bytes(b"no folder")

    with pytest.raises(StorageError, match=r"Cannot write .*/cache"):
        Cache(tmp_path / "cache", 1000).forget(digest_bytes(b"hello"))


def test_the_cache_stays_in_bounds_and_forgets_what_was_used_least_recently(tmp_path: Path):
    cache = Cache(tmp_path, 10_000)
    blobs = _objects(10, 1000)
    for age, (digest, blob) in enumerate(blobs.items()):
        cache.put(digest, blob)
        os.utime(tmp_path / digest[:2] / digest, ns=(age, age))
    oldest, *_, newest = blobs
    cache.get(oldest)

    cache.put(digest_bytes(b"x" * 1000), b"x" * 1000)

    assert cache.size_bytes() <= 10_000
    assert cache.get(oldest) is not None
    assert cache.get(newest) is not None
    assert cache.get(list(blobs)[1]) is None


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path):
    cache = Cache(tmp_path, 100)

    assert cache.read(digest_bytes(b"x" * 500), lambda: b"x" * 500) == b"x" * 500
    assert cache.size_bytes() == 0


def test_a_cache_that_cannot_write_still_reads(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    cache = Cache(tmp_path / "file" / "cache", 1000)

    assert cache.read(digest_bytes(b"x"), lambda: b"x") == b"x"


def test_a_damaged_object_on_a_disk_that_is_read_only_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    cache = Cache(tmp_path, 1000)
    digest = digest_bytes(b"hello")
    cache.put(digest, b"hello")
    (tmp_path / digest[:2] / digest).write_bytes(b"hellx")
    monkeypatch.setattr(Path, "unlink", refuse)

    assert cache.read(digest, lambda: b"hello") == b"hello"


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path):
    cache = Cache(tmp_path, 1000)
    (tmp_path / "ab").mkdir()
    litter = tmp_path / "ab" / f"{TEMPORARY_PREFIX}1-x"
    litter.write_bytes(b"half")

    cache.put(digest_bytes(b"x"), b"x")

    assert not litter.exists()


def _work(folder: Path, seed: int, most: "multiprocessing.Queue[int]") -> None:
    cache = Cache(folder, 50_000)
    blobs = list(_objects(200, 1000).items())
    largest = 0
    for step in range(300):
        digest, blob = blobs[(step * (7 + seed)) % len(blobs)]
        assert cache.read(digest, lambda blob=blob: blob) == blob
        if step % 20 == 0:
            largest = max(largest, cache.size_bytes())
    most.put(largest)


def test_two_processes_share_a_cache_that_stays_in_bounds(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    most: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=_work, args=(tmp_path, seed, most)) for seed in range(2)]
    for process in processes:
        process.start()
    largest = [most.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0]
    assert max(largest) <= 50_000
    assert Cache(tmp_path, 50_000).size_bytes() > 30_000
    assert not list(tmp_path.glob(f"*/{TEMPORARY_PREFIX}*"))
