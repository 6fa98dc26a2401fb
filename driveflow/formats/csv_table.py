"""Read a CSV as tables of text, some rows at a time, whatever its separator and the case of its header."""

import io
from collections.abc import Iterator
from typing import Final

import polars as pl

from driveflow.formats.sniff import separator_of

_MARK: Final = b"\xef\xbb\xbf"
_PIECE_BYTES: Final = 256 << 10  # rows may be short, and each cell takes 16 bytes
_MAX_ROW_BYTES: Final = 16 << 20
_HEAD_BYTES: Final = 64 << 10


class CsvTableError(ValueError):
    """What makes a file no CSV."""


def read_tables(data: bytes) -> Iterator[pl.DataFrame]:
    """Yield the rows under their header in small letters, all cells as text, with the number of their line.

    Raises:
        CsvTableError: the rows cannot be told apart, after those before that spot.
    """
    line = 2
    for table in read_pieces(data):
        names = {name: name.strip().strip('"').lower() for name in table.columns}
        once = [name for name, small in names.items() if list(names.values()).count(small) == 1]
        cells = table.select(pl.col(name).fill_null("").str.strip_chars().alias(names[name]) for name in once)
        yield cells.with_row_index("line", offset=line).with_columns(pl.col("line").cast(pl.Int64))
        line += table.height


def read_pieces(data: bytes) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV with its header as it is; the first table comes in any case.

    Raises:
        CsvTableError: as `read_tables`.
    """
    text = memoryview(data)[len(_MARK) if data.startswith(_MARK) else 0 :]
    start = _end_of_row(data, text, 0, 0)
    header = bytes(text[:start])
    separator = separator_of(header[:_HEAD_BYTES].partition(b"\n")[0].decode("utf-8", "replace"))
    while True:
        stop = _end_of_row(data, text, start, _PIECE_BYTES)
        try:
            yield pl.read_csv(
                io.BytesIO(header + text[start:stop]),
                separator=separator,
                infer_schema=False,
                encoding="utf8-lossy",
                truncate_ragged_lines=True,
            )
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise CsvTableError(f"no CSV: {error}"[:200]) from None
        start = stop
        if start >= len(text):
            return


def _end_of_row(data: bytes, text: memoryview, start: int, least: int) -> int:
    """Return where the first row ends that is at least `least` bytes behind `start`.

    A line break between quotes ends none, but where the quotes do not close.

    Raises:
        CsvTableError: a row does not end.
    """
    shift = len(data) - len(text)
    begin = seen = start + shift
    most = begin + least + _MAX_ROW_BYTES
    first, quotes, stop = 0, 0, begin + least
    while stop < most:
        stop = data.find(b"\n", stop) + 1 or len(data)
        first = first or stop
        quotes += data.count(b'"', seen, stop)
        if stop == len(data) or not quotes % 2:
            break
        seen = stop
    if min(first, stop) > most:
        raise CsvTableError(f"no CSV: a row is longer than {_MAX_ROW_BYTES >> 20} MiB")
    return (stop if stop <= most else first) - shift
