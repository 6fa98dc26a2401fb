"""Read, write and list objects, wherever their URI says they lie."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from driveflow.storage import local
from driveflow.storage.uris import S3_SCHEME, ObjectInfo, join, local_path, to_uri

__all__ = [
    "ObjectInfo",
    "delete",
    "fetch_file",
    "join",
    "list_objects",
    "list_skipped",
    "local_path",
    "put_file",
    "read_bytes",
    "stat",
    "to_uri",
    "write_bytes",
]


class Backend(Protocol):
    """What a place for objects can do; the module `local` and `s3.S3Backend` are its two kinds."""

    def read_bytes(self, uri: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return `length` bytes from `offset` on, or all that follow."""

    def write_bytes(self, uri: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write `data`; False where `if_absent` and something was there."""

    def stat(self, uri: str) -> ObjectInfo | None:
        """Return what lies at `uri`, None where that is nothing."""

    def list_objects(self, uri: str) -> Iterator[ObjectInfo]:
        """Yield every object under `uri`, sorted by path."""

    def list_skipped(self, uri: str) -> tuple[tuple[str, str], ...]:
        """Return (path, why) of all that `list_objects` leaves out."""

    def delete(self, uri: str) -> None:
        """Remove the object; absent is fine."""

    def put_file(self, path: Path, uri: str) -> None:
        """Copy a local file to `uri`."""

    def fetch_file(self, uri: str, path: Path) -> None:
        """Copy the object at `uri` to a local file."""


def _backend(uri: str) -> Backend:
    if uri.startswith(S3_SCHEME):
        from driveflow.storage.s3 import S3Backend

        return S3Backend()
    return local


def read_bytes(uri: str, offset: int = 0, length: int | None = None) -> bytes:
    """Return `length` bytes of an object from `offset` on, or all that follow; fewer where the object ends.

    Raises:
        NotFoundError: there is no such object.
    """
    return _backend(uri).read_bytes(uri, offset, length)


def write_bytes(uri: str, data: bytes, *, if_absent: bool = False) -> bool:
    """Write an object so that readers see all of it or nothing.

    Returns:
        False where `if_absent` was set and an object was there already, which then stays as it is.

    Raises:
        StorageFullError: no space is left there.
    """
    return _backend(uri).write_bytes(uri, data, if_absent=if_absent)


def keep_bytes(uri: str, data: bytes) -> bool:
    """Write an object that is named by its digest where it is not there whole, and return whether it was written.

    One that was damaged is so made good by whoever makes it again.
    """
    found = stat(uri)
    if found is not None and found.size == len(data) and read_bytes(uri) == data:
        return False
    write_bytes(uri, data)
    return True


def stat(uri: str) -> ObjectInfo | None:
    """Return what lies at `uri`, None where that is nothing; its `path` is the last part of the name."""
    return _backend(uri).stat(uri)


def list_objects(prefix_uri: str) -> Iterator[ObjectInfo]:
    """Yield every object of a folder and the folders in it, sorted by path; links are not followed.

    Raises:
        NotFoundError: the local folder, or the bucket, does not exist.
    """
    return _backend(prefix_uri).list_objects(prefix_uri)


def list_skipped(prefix_uri: str) -> tuple[tuple[str, str], ...]:
    """Return (path, why) of what `list_objects` leaves out of a folder: "link" or "special_file"."""
    return _backend(prefix_uri).list_skipped(prefix_uri)


def delete(uri: str) -> None:
    """Remove an object; absent is fine."""
    _backend(uri).delete(uri)


def put_file(path: Path, uri: str) -> None:
    """Copy a local file to `uri`, in pieces.

    Raises:
        StorageFullError: no space is left there.
    """
    _backend(uri).put_file(path, uri)


def fetch_file(uri: str, path: Path) -> None:
    """Copy an object to a local file, in pieces; the file appears whole or not at all.

    Raises:
        NotFoundError: there is no such object.
        StorageFullError: no space is left here.
    """
    _backend(uri).fetch_file(uri, path)
