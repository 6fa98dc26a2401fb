"""Open an SQLite file of a stranger through a stream: read only, with limits, wherever it lies, without a copy."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

import apsw

from ingestion.recordings.messages import MAX_CHUNK_BYTES

_MAX_STEPS: Final = 20_000_000  # of the SQLite machine between two rows: a few seconds
_CACHE_KIB: Final = 4096
_numbers = itertools.count()


class Watch:
    """Stops a query that works for very long without yielding a row."""

    def __init__(self) -> None:
        """Start with no step made."""
        self.rows = 0
        self._seen = 0

    def __call__(self) -> bool:
        """Return True where no row came since the last look."""
        stuck = self.rows == self._seen
        self._seen = self.rows
        return stuck


@contextmanager
def opened_database(stream: BinaryIO, byte_count: int, said_bytes: int) -> Iterator[tuple[apsw.Connection, Watch]]:
    """Open the database that `stream` holds; nothing is written, no other file is opened, no extension is loaded.

    It is believed to have the `said_bytes` of its head: else SQLite would refuse all of one that is cut short.

    Raises:
        apsw.Error: what is there is no database.
    """
    vfs = _StreamVfs(f"driveflow-{next(_numbers)}", stream, (byte_count, max(said_bytes, byte_count)))
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection("file:recording?immutable=1", flags=flags, vfs=vfs.name)
        try:
            yield connection, _confine(connection)
        finally:
            connection.close(True)
    finally:
        vfs.unregister()


def _confine(connection: apsw.Connection) -> Watch:
    """Take from a connection what a stranger's database could do harm with."""
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_CHUNK_BYTES)
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    for pragma in (f"cache_size=-{_CACHE_KIB}", "temp_store=MEMORY", "mmap_size=0", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")
    watch = Watch()
    connection.set_progress_handler(watch, _MAX_STEPS)
    return watch


class _StreamVfs(apsw.VFS):
    """A file system that has one file, which can only be read."""

    def __init__(self, name: str, stream: BinaryIO, sizes: tuple[int, int]) -> None:
        self.name = name
        self._stream = stream
        self._sizes = sizes
        super().__init__(name, "")

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802, ARG002 apsw names it
        return False

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xOpen(self, name: object, flags: list[int]) -> "_StreamFile":  # noqa: N802, ARG002
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB == 0:
            raise apsw.CantOpenError("only the recording itself is opened")
        flags[1] = apsw.SQLITE_OPEN_READONLY
        return _StreamFile(self._stream, *self._sizes)


class _StreamFile(apsw.VFSFile):
    """The one file, as SQLite wants to read it."""

    def __init__(self, stream: BinaryIO, byte_count: int, said_bytes: int) -> None:  # no file of the system below it
        self._stream = stream
        self._byte_count = byte_count
        self._said_bytes = said_bytes

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        if offset + amount > self._byte_count:
            raise apsw.IOError(f"the file ends at byte {self._byte_count:,}")  # zeros in its place would be believed
        self._stream.seek(offset)
        return self._stream.read(amount)

    def xFileSize(self) -> int:  # noqa: N802
        return self._said_bytes

    def xClose(self) -> None:  # noqa: N802
        """Leave the stream open: it is not ours."""

    def xLock(self, level: int) -> None:  # noqa: N802
        """Lock nothing: nobody writes."""

    def xUnlock(self, level: int) -> None:  # noqa: N802
        """Unlock nothing."""

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 0

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return apsw.SQLITE_IOCAP_IMMUTABLE

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802, ARG002
        return False
