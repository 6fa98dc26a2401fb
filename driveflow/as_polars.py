"""Look at an Arrow table as a Polars frame, which shares its memory."""

import polars as pl
import pyarrow as pa


def as_polars(table: pa.Table) -> pl.DataFrame:
    """Return `table` as a frame."""
    return pl.DataFrame(pl.from_arrow(table))
