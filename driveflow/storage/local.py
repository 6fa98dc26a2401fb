"""Objects in local folders: every write is to a temporary name first, and then made visible."""

import errno
import os
import secrets
import shutil
import socket
import stat as stat_bits
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from driveflow.canonical import digest_bytes
from driveflow.errors import InvalidInputError, NotFoundError, StorageError, StorageFullError, UsageError
from driveflow.storage.uris import ObjectInfo, local_path

TEMPORARY_PREFIX = ".driveflow-tmp-"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def path_of(uri: str) -> Path:
    """Return the path of a `file://` URI."""
    path = local_path(uri)
    if path is None:
        raise InvalidInputError(f"{uri!r} is not on this machine; a file:// URI would do")
    return path


def read_bytes(uri: str, offset: int = 0, length: int | None = None) -> bytes:
    """Return `length` bytes from `offset` on, or all that follow."""
    with told("read", uri), path_of(uri).open("rb") as file:
        file.seek(offset)
        return file.read() if length is None else file.read(length)


def write_bytes(uri: str, data: bytes, *, if_absent: bool = False) -> bool:
    """Write `data` so that readers see all of it or nothing; False where `if_absent` and something was there."""
    path = path_of(uri)
    if if_absent and os.path.lexists(path):
        return False
    with told("write", uri):
        return write_atomically(path, lambda file: file.write(data), if_absent=if_absent)


def stat(uri: str) -> ObjectInfo | None:
    """Return what lies at `uri`, None where that is nothing or no regular file."""
    path = path_of(uri)
    try:
        found = path.stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise StorageError(f"Cannot look at {uri}: {error.strerror}") from error
    return _info(uri, path.name, found) if stat_bits.S_ISREG(found.st_mode) else None


def list_objects(uri: str) -> Iterator[ObjectInfo]:
    """Yield every regular file under `uri`, sorted by path; links are not followed."""
    root = path_of(uri)
    with told("list", uri):
        if not root.is_dir():
            raise _no_folder(root)
        found = list(_statuses(root))
    prefix = len(os.path.join(root, ""))  # noqa: PTH118 the length of the text, with its slash
    for path, status in sorted(found, key=lambda item: item[0][prefix:]):
        yield _info(Path(path).as_uri(), path[prefix:], status)


def list_skipped(uri: str) -> tuple[tuple[str, str], ...]:
    """Return (path, why) of all that `list_objects` leaves out: links, and devices, pipes and sockets."""
    root = path_of(uri)
    with told("list", uri):
        left_out = [entry for entry in _entries(root) if not entry.is_file(follow_symlinks=False)]
        return tuple(
            sorted(
                (os.path.relpath(entry.path, root), "link" if entry.is_symlink() else "special_file")
                for entry in left_out
            )
        )


def _no_folder(root: Path) -> InvalidInputError:
    """Return the error of a folder that is not there, or that cannot be there since a file is in its place."""
    there = next(path for path in (root, *root.parents) if path.exists())
    if there.is_dir():
        return NotFoundError(f"There is no folder {root}")
    return UsageError(f"{there} is a file, and should be a folder; move it away, or name another place.")


def delete(uri: str) -> None:
    """Remove the object; absent is fine."""
    with told("delete", uri):
        path_of(uri).unlink(missing_ok=True)


def put_file(path: Path, uri: str) -> None:
    """Copy a local file to `uri`."""
    with told("copy", f"{path} to {uri}"), path.open("rb") as source:
        write_atomically(path_of(uri), lambda file: shutil.copyfileobj(source, file, 1 << 20))


def fetch_file(uri: str, path: Path) -> None:
    """Copy the object at `uri` to a local file."""
    put_file(path_of(uri), path.absolute().as_uri())


def write_atomically(
    path: Path, fill: Callable[[BinaryIO], object], *, if_absent: bool = False, sync: bool = True
) -> bool:
    """Let `fill` write a temporary file and give it its name; False where `if_absent` and it was taken.

    Without `sync` a power cut may leave an empty file behind: for what is checked when read and can be had again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f"{TEMPORARY_PREFIX}{writer_name()}"
    try:
        with temporary.open("xb") as file:
            fill(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        published = not if_absent or _link(temporary, path)
        if not if_absent:
            temporary.replace(path)
        if sync:
            _sync_folder(path.parent)
        return published
    finally:
        temporary.unlink(missing_ok=True)


def writer_name() -> str:
    """Return a name that no other writer has: process, machine, and a number of its own."""
    return f"{os.getpid()}-{machine()}-{secrets.token_hex(8)}"


@cache
def machine() -> str:
    """Return eight letters for the machine, or the container, in which the ids of processes mean the same as here."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 it leads to no path
    except OSError:
        space = ""
    return digest_bytes(f"{socket.gethostname()} {space}".encode())[:8]


@contextmanager
def told(verb: str, what: str) -> Iterator[None]:
    """Turn what the system raises into our errors."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFullError(f"Cannot {verb} {what}: no space left there") from error
        if error.errno in _ABSENT and verb != "write":
            raise NotFoundError(f"Cannot {verb} {what}: {error.strerror}") from error
        raise StorageError(f"Cannot {verb} {what}: {error.strerror or error}") from error


def _link(temporary: Path, path: Path) -> bool:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():  # a file system without links: two writers at one moment may both win, with equal bytes
            return False
        temporary.replace(path)
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # some network file systems cannot sync folders
            raise
    finally:
        os.close(handle)


def _entries(root: Path) -> Iterator[os.DirEntry[str]]:
    folders = [os.fspath(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry


def _statuses(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _entries(root):
        if _is_object(entry):
            with suppress(FileNotFoundError):  # gone since the folder was read
                yield entry.path, entry.stat(follow_symlinks=False)


def _is_object(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) and not entry.name.startswith(TEMPORARY_PREFIX)


def _info(uri: str, path: str, found: os.stat_result) -> ObjectInfo:
    return ObjectInfo(uri, path, found.st_size, f"{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}")
