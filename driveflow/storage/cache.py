"""A read-through cache of immutable objects on local disk, found by digest, bounded in bytes, shared by processes."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from driveflow.canonical import digest_bytes
from driveflow.errors import IntegrityError, InvalidInputError
from driveflow.storage import local

_LOW_WATER = 0.8  # an eviction goes down to this share of the bound, so that it is rare
_HEX = frozenset("0123456789abcdef")
_FORGOTTEN = "forgotten"  # a folder with an empty file for each object that must not come back
_TOTAL = "total_bytes"  # a file in the cache's folder: its lock lets one process write, its text is what lies here


@dataclass(frozen=True, slots=True)
class Cache:
    """Objects by their sha256 under `folder`, at most `max_bytes` in all; those used least recently go first."""

    folder: Path
    max_bytes: int

    def __post_init__(self) -> None:
        if self.max_bytes < 0:
            raise InvalidInputError(f"A cache holds 0 bytes or more, got {self.max_bytes}")

    def get(self, digest: str) -> bytes | None:
        """Return the object, None where it is not here; what is here and damaged is removed, where the disk lets us."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if digest_bytes(data) != digest:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # its time says when it was used last; another process may have removed it by now
            os.utime(path)
        return data

    def put(self, digest: str, data: bytes) -> None:
        """Keep an object where it fits; a disk that is full, or refuses, makes the cache smaller and nothing fail.

        One that was forgotten is not kept again, whoever still has its bytes.

        Raises:
            IntegrityError: `data` is not what `digest` says.
        """
        if digest_bytes(data) != digest:
            raise IntegrityError(f"Bytes that should be object {digest} have the digest {digest_bytes(data)}")
        path = self._path(digest)
        if len(data) > self.max_bytes * _LOW_WATER or path.exists():
            return
        with suppress(OSError), self._written_alone() as total:
            if self._marker(digest).exists():
                return
            known = _read_total(total)
            if known is None or known + len(data) > self.max_bytes:
                known = self._evict(len(data))
            _write_total(total, known + len(data))  # before the object: a kill in between only makes us look sooner
            local.write_atomically(path, lambda file: file.write(data), sync=False)

    def read(self, digest: str, fetch: Callable[[], bytes]) -> bytes:
        """Return the object from here, or from `fetch`, and then keep it.

        Raises:
            IntegrityError: what `fetch` brought is not what `digest` says.
        """
        data = self.get(digest)
        if data is None:
            data = fetch()
            self.put(digest, data)
        return data

    def forget(self, digest: str) -> bool:
        """Remove an object for good and return whether it was here; the next eviction counts anew what is left.

        Raises:
            StorageError: the folder cannot be written, so that the object may come back.
        """
        path, marker = self._path(digest), self._marker(digest)
        was_here = path.exists()
        with local.told("write", str(self.folder)), self._written_alone():
            marker.parent.mkdir(exist_ok=True)
            marker.touch()
            path.unlink(missing_ok=True)
        return was_here

    def size_bytes(self) -> int:
        """Return how many bytes lie here now."""
        return sum(status.st_size for _, status in self._files())

    def _evict(self, needed: int) -> int:
        """Look at what is here, remove the oldest where `needed` bytes would not fit, return what is left."""
        files = sorted(self._files(), key=lambda file: file[1].st_mtime_ns)
        total = sum(status.st_size for _, status in files)
        allowed = self.max_bytes if total + needed <= self.max_bytes else self.max_bytes * _LOW_WATER
        for path, status in files:
            dead = path.name.startswith(local.TEMPORARY_PREFIX)  # we write alone, so its writer was killed
            if dead or total + needed > allowed:
                path.unlink(missing_ok=True)
                total -= status.st_size
        return total

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.glob("??/*"):
            with suppress(FileNotFoundError):  # a reader removed a damaged one
                yield path, path.lstat()

    @contextmanager
    def _written_alone(self) -> Iterator[BinaryIO]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(self.folder / _TOTAL, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # of this open file, so it holds off threads too
            yield file

    def _marker(self, digest: str) -> Path:
        return self.folder / _FORGOTTEN / digest

    def _path(self, digest: str) -> Path:
        if len(digest) != 64 or not _HEX.issuperset(digest):
            raise InvalidInputError(f"{digest!r} is no sha256 digest; 64 hex digits would do")
        return self.folder / digest[:2] / digest


def _read_total(file: BinaryIO) -> int | None:
    text = file.read()
    return int(text) if text.isdigit() else None


def _write_total(file: BinaryIO, total: int) -> None:
    file.seek(0)
    file.truncate()
    file.write(str(total).encode())
    file.flush()
