"""Read a CSV as a table of text, whatever its separator and the case of its header."""

import io
from typing import Final

import polars as pl

from driveflow.formats.sniff import separator_of

_MARK: Final = b"\xef\xbb\xbf"


class CsvTableError(ValueError):
    """What makes a file no CSV."""


def read_table(data: bytes) -> pl.DataFrame:
    """Return the rows under their header in small letters, all cells as text, with the number of their line.

    Raises:
        CsvTableError: the rows cannot be told apart.
    """
    text = data.removeprefix(_MARK)
    separator = separator_of(text.partition(b"\n")[0].decode("utf-8", "replace"))
    try:
        table = pl.read_csv(
            io.BytesIO(text),
            separator=separator,
            infer_schema=False,
            encoding="utf8-lossy",
            truncate_ragged_lines=True,
        )
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise CsvTableError(f"no CSV: {error}"[:200]) from None
    names = {name: name.strip().strip('"').lower() for name in table.columns}
    once = [name for name, small in names.items() if list(names.values()).count(small) == 1]
    table = table.select(pl.col(name).fill_null("").str.strip_chars().alias(names[name]) for name in once)
    return table.with_row_index("line", offset=2).with_columns(pl.col("line").cast(pl.Int64))
