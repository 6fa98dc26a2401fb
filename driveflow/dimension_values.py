"""What frames say along the dimensions that slices are cut along, and the bins of numbers."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from driveflow.flow.sections import Dimension
from driveflow.predicates import attribute

NOT_STATED: Final = "not stated"
HEIGHTS_PX: Final = (0.0, 25.0, 40.0, 80.0)
CELL_DEG: Final = 0.01  # of a place that only lat and lon tell: about a kilometre
_KEYS: Final[Mapping[Dimension, tuple[str, ...]]] = {
    "time_of_day": ("time_of_day", "timeofday"),
    "weather": ("weather",),
    "place": ("place", "location", "city"),
}


def said_of_frames(frames: pa.Table, sources: pa.Table | None, dimension: Dimension) -> tuple[str, pl.DataFrame]:
    """Return the attribute that says a dimension of frames, empty where none does, and `value` by `frame_id`.

    A frame may have several values; an empty one says nothing.
    """
    key = _key(frames, dimension)
    if dimension == "camera":
        return key, _cameras(frames if "camera" in frames.column_names else sources)
    if key or dimension != "place":
        return key, _said(frames, key)
    return key, _cells(sources)


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return a name for each bin from an edge up to the next; the last one is open.

    >>> bin_names((0.0, 25.0, 80.0))
    ['0-25', '25-80', '80+']
    """
    return [*(f"{low:g}-{high:g}" for low, high in pairwise(edges)), f"{edges[-1]:g}+"]


def bins(edges: Sequence[float], values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the bin of each value; one more than there are for what is no number."""
    found = np.searchsorted(edges, values, "right") - 1
    return np.where(np.isfinite(values), np.maximum(found, 0), len(edges)).astype(np.int64)


def _key(frames: pa.Table, dimension: Dimension) -> str:
    """Return the first key of the dimension that any frame has; empty where there is none."""
    return next((key for key in _KEYS.get(dimension, ()) if (attribute(frames, key) != "").any()), "")


def _said(frames: pa.Table, key: str) -> pl.DataFrame:
    """Return what each frame says under `key`; nothing where there is no key."""
    if not key:
        return _table([], [])
    return _table(frames["frame_id"].to_pylist(), attribute(frames, key).tolist())


def _cameras(table: pa.Table | None) -> pl.DataFrame:
    if table is None:
        return _table([], [])
    return pl.DataFrame(pl.from_arrow(table.select(["frame_id", "camera"]))).rename({"camera": "value"})


def _cells(sources: pa.Table | None) -> pl.DataFrame:
    """Return the cell of lat and lon in which each frame was taken, named by its south-west corner."""
    if sources is None:
        return _table([], [])
    table = pl.DataFrame(pl.from_arrow(sources.select(["frame_id", "lat", "lon"])))
    table = table.filter(pl.col("lat").is_finite() & pl.col("lon").is_finite())
    cells = table.select("frame_id", *((pl.col(name) / CELL_DEG).floor().cast(pl.Int64) for name in ("lat", "lon")))
    distinct = cells.select("lat", "lon").unique()
    names = [f"{lat * CELL_DEG:.2f} {lon * CELL_DEG:.2f}" for lat, lon in distinct.iter_rows()]
    named = distinct.with_columns(value=pl.Series(names, dtype=pl.String))
    return cells.join(named, on=["lat", "lon"]).select("frame_id", "value")


def _table(frame_ids: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"frame_id": frame_ids, "value": values}, schema={"frame_id": pl.String, "value": pl.String})
