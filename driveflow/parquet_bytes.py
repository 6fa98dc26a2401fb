"""Read a table from bytes that are Parquet."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq


def table_of(data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table that `data` holds, or those of `columns`, all of which it must have.

    Arrow reads a copy of its own. One of its threads may hold what it reads a little longer than the call lasts, and
    needs Python's leave to drop what is Python's: in a process that is ending it gets none, and aborts the process.

    Raises:
        pa.ArrowException: `data` holds no such table.
    """
    copy = pa.BufferOutputStream()
    copy.write(data)
    try:
        return pq.read_table(pa.BufferReader(copy.getvalue()), columns=None if columns is None else list(columns))
    except OSError as error:  # as Arrow says of bytes that are damaged; no file is read here
        raise pa.ArrowInvalid(str(error)) from error
