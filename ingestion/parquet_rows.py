"""Read a Parquet table as rows of text, numbers spelled so that nothing of them is lost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingestion.capture_times import MOMENT

_ROWS_AT_ONCE: Final = 8192
_MOST_BYTES: Final = 512 << 20  # unpacked
_MOST_ROWS: Final = 5_000_000  # equal rows take next to no bytes


class NoParquetError(ValueError):
    """A file that cannot be read as a table; the message says why."""


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """The rows of a table, each a dictionary of texts by column; an empty text is no value."""

    table: pq.ParquetFile
    columns: Sequence[str]

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Yield the rows in order, some of them in memory at a time.

        Raises:
            NoParquetError: it cannot be read to its end.
        """
        try:
            for batch in self.table.iter_batches(_ROWS_AT_ONCE, use_threads=False):
                texts = [_texts(name, batch.column(at)) for at, name in enumerate(self.columns)]
                for cells in zip(*texts, strict=True):
                    yield dict(zip(self.columns, cells, strict=True))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise NoParquetError(f"cannot be read as Parquet: {error}"[:200]) from error


def parquet_rows(data: bytes) -> ParquetRows:
    """Return the rows of the table in `data`.

    Raises:
        NoParquetError: it is none, or far too large.
    """
    try:
        table = pq.ParquetFile(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise NoParquetError(f"cannot be read as Parquet: {error}"[:200]) from error
    unpacked = sum(table.metadata.row_group(group).total_byte_size for group in range(table.num_row_groups))
    if unpacked > _MOST_BYTES:
        raise NoParquetError(f"{unpacked:,} bytes unpacked; at most {_MOST_BYTES:,}")
    if table.metadata.num_rows > _MOST_ROWS:
        raise NoParquetError(f"{table.metadata.num_rows:,} rows; at most {_MOST_ROWS:,}")
    return ParquetRows(table, [name.strip() for name in table.schema_arrow.names])


def _texts(name: str, column: pa.Array) -> list[str]:
    if name == MOMENT and pa.types.is_timestamp(column.type):
        return _moments(column)
    return [_text(value) for value in column.to_pylist()]


def _moments(column: pa.Array) -> list[str]:
    """Return times as ISO 8601; one without a zone stays without, for the reader to refuse."""
    zone = "Z" if column.type.tz else ""
    counts = column.cast(pa.timestamp("ns", column.type.tz)).cast(pa.int64())
    seconds = pc.strftime(pc.floor_temporal(column.cast(pa.timestamp("ns")), unit="second").cast(pa.timestamp("s")),
                          format="%Y-%m-%dT%H:%M:%S")  # fmt: skip
    parts = zip(seconds.to_pylist(), counts.to_pylist(), strict=True)
    return ["" if text is None else f"{text}.{count % 10**9:09}{zone}" for text, count in parts]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    if isinstance(value, str):
        return value.strip().encode("utf-8", "backslashreplace").decode()
    return str(value)
