"""Keep tables that are too large for memory in a file without a name, read through a map of it.

Nothing of them counts as memory in use but what was looked at since `let_go`, and that the system can take back.
"""

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import pyarrow as pa

from driveflow.errors import StorageFullError

_LEAST_BYTES = 1 << 20  # smaller tables stay in memory
_ROWS_TOGETHER = 8_192  # so many rows lie together: who looks at some of them looks at little else
_MAPS: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()


class Aside:
    """Tables of one schema on their way to disk; one writer owns it.

    Where there is no folder for temporary files they stay in memory.
    """

    def __init__(self, schema: pa.Schema) -> None:
        """Start with nothing."""
        self._schema = schema
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._file: BinaryIO | None = None
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, table: pa.Table) -> None:
        """Add rows to the end.

        Raises:
            StorageFullError: the folder for temporary files takes no more.
        """
        self._held.append(table)
        self._bytes += table.nbytes
        writer = self._opened() if self._bytes >= _LEAST_BYTES else None
        if writer is not None:
            with _told():
                for held in self._held:
                    writer.write_table(held, _ROWS_TOGETHER)
            self._held, self._bytes = [], 0

    def table(self) -> pa.Table:
        """Return all rows that were added; nothing can be added after that.

        Raises:
            StorageFullError: the folder for temporary files takes no more.
        """
        if self._writer is None or self._file is None:
            return pa.concat_tables([self._schema.empty_table(), *self._held])
        with _told():
            self._writer.close()
            self._file.flush()
        return pa.concat_tables([_mapped(self._file), *self._held])

    def _opened(self) -> pa.RecordBatchFileWriter | None:
        if self._writer is None:
            with suppress(OSError):
                self._file = tempfile.TemporaryFile(prefix="driveflow-")  # noqa: SIM115 closed when it is mapped
                self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._schema)
        return self._writer


def set_aside(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return the rows of all `tables`, on disk where they are many."""
    aside = Aside(schema)
    for table in tables:
        aside.add(table)
    found = aside.table()
    give_back()
    return found


def let_go() -> None:
    """Give back the memory of what was looked at in tables that are aside; it is read again when it is asked for."""
    for known in list(_MAPS):
        known.madvise(mmap.MADV_DONTNEED)


def give_back() -> None:
    """Let go, and give back the memory of tables that are no more, which Arrow keeps for those to come."""
    let_go()
    pa.default_memory_pool().release_unused()


@contextmanager
def _told() -> Iterator[None]:
    """Name the folder where a temporary file cannot be written: it is often on another disk than the data."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise StorageFullError(
            f"Cannot write a temporary file in {tempfile.gettempdir()}: {why}. Free some space there, or let TMPDIR"
            " name a folder that has some."
        ) from error


def _mapped(file: BinaryIO) -> pa.Table:
    with file:
        known = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _MAPS.add(known)
    return pa.ipc.open_file(pa.py_buffer(known)).read_all()
