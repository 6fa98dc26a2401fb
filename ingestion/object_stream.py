"""Read an object piece by piece like an open file, wherever it lies."""

import io
from typing import BinaryIO, cast

from driveflow.errors import BrokenDataError
from driveflow.storage.objects import ObjectInfo, local_path, read_bytes

_PIECE_BYTES = 8 << 20


def open_object(entry: ObjectInfo) -> BinaryIO:
    """Return a seekable stream over the object `entry`; at most one piece of it is in memory.

    Raises:
        BrokenDataError: vanished or unreadable.
    """
    path = local_path(entry.uri)
    if path is not None:
        try:
            return path.open("rb")
        except FileNotFoundError as error:
            raise BrokenDataError("vanished", "the file was there when the batch was listed") from error
        except PermissionError as error:
            raise BrokenDataError("unreadable", f"{error.strerror}") from error
    return open_ranges(entry)


def open_ranges(entry: ObjectInfo, piece_bytes: int = _PIECE_BYTES) -> BinaryIO:
    """Return a seekable stream over the object `entry` that reads pieces of it as they are needed."""
    return cast("BinaryIO", io.BufferedReader(_Ranges(entry), piece_bytes))


class _Ranges(io.RawIOBase):
    """The object as a raw stream over ranged reads; the position is its state."""

    def __init__(self, entry: ObjectInfo) -> None:
        super().__init__()
        self._entry = entry
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._entry.size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def readinto(self, buffer: "memoryview[int] | bytearray") -> int:  # type: ignore[override]
        wanted = min(len(buffer), self._entry.size - self._at)
        if wanted <= 0:
            return 0
        data = read_bytes(self._entry.uri, self._at, wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
