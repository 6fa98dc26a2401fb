"""Where and when frames were taken, as their sources say."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from driveflow.neighbours.leader_scan import NO_TIME
from filtering.natural_order import dense_ranks, natural_ranks

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

Place: TypeAlias = tuple[str, str]  # drive, camera
_EQUATOR_M, _FLATTENING = 6_378_137.0, 1 / 298.257223563  # the ellipsoid of GPS
_COLUMNS = ("frame_id", "batch", "path", "drive", "camera", "captured_ns", "lat", "lon")


@dataclass(frozen=True, slots=True)
class Sightings:
    """Every place of every frame, as rows by frame; frames and places are numbers.

    Of a frame with several sources in one place, `time_ns` is the earliest known time (NO_TIME: none is) and
    `position_m` the first known position, from the centre of the Earth (NaN: none is). `place` numbers a drive and
    camera, `camera` that camera. `order`, an entry a frame, sorts frames as they are asked: by drive, camera and time
    of the first source by batch and path; those without a time come after them, by path with numbers as numbers.
    """

    frame: Ints
    place: Ints
    camera: Ints
    time_ns: Ints
    position_m: Floats
    order: Ints


def sightings(frame_ids: pa.Array | pa.ChunkedArray, sources: pa.Table) -> Sightings:
    """Return the places of `frame_ids`, numbered in their order; frames without a source come first and have none."""
    return numbered(place_rows(frame_ids, sources), len(frame_ids))


def place_rows(frame_ids: pa.Array | pa.ChunkedArray, sources: pa.Table) -> pl.DataFrame:
    """Return a row for each frame and place, by frame, its first place first; `x_m`, `y_m`, `z_m` is where it was."""
    here = pl.col("lat").is_finite() & pl.col("lon").is_finite()
    rows = _seen(frame_ids, sources).group_by(["frame", "drive", "camera"], maintain_order=True)
    found = rows.agg(pl.col("path").first(), pl.col("captured_ns").min(), pl.col("lat", "lon").filter(here).first())
    lat, lon = (found[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("lat", "lon"))
    where = positions_m(lat, lon)
    return found.drop("lat", "lon").with_columns(x_m=where[:, 0], y_m=where[:, 1], z_m=where[:, 2])


def numbered(rows: pl.DataFrame, frames: int, order: Ints | None = None) -> Sightings:
    """Return the places of `frames` frames as numbers; `order` is that of the frames where it is known already."""
    drive, camera = dense_ranks(rows["drive"].to_arrow()), dense_ranks(rows["camera"].to_arrow())
    if order is None:
        first = rows.with_columns(drive=drive, camera=camera).unique("frame", keep="first", maintain_order=True)
        order = _order(first, frames)
    return Sightings(
        frame=rows["frame"].to_numpy(),
        place=drive * (camera.max(initial=0) + 1) + camera,
        camera=camera,
        time_ns=rows["captured_ns"].fill_null(NO_TIME).to_numpy(),
        position_m=rows.select("x_m", "y_m", "z_m").to_numpy(),
        order=order,
    )


def first_places(frames: pa.Table, sources: pa.Table) -> list[Place]:
    """Return the first place of each row of `frames`; ("", "") where no source is known."""
    return list(first_place_columns(frames["frame_id"], sources).iter_rows())


def first_place_columns(frame_ids: pa.Array | pa.ChunkedArray, sources: pa.Table) -> pl.DataFrame:
    """Return `drive` and `camera` of the first source of each frame by batch and path; empty where none is known."""
    first = _seen(frame_ids, sources).unique("frame", keep="first", maintain_order=True)
    every = pl.DataFrame({"frame": np.arange(len(frame_ids))})
    found = every.join(first, on="frame", how="left", maintain_order="left")
    return found.select(pl.col("drive", "camera").fill_null(""))


def positions_m(lat: Floats, lon: Floats) -> Floats:
    """Return points on the ellipsoid as x, y, z from the centre of the Earth; the straight line between two is metres.

    >>> one, other = positions_m(np.array([48.0, 48.0]), np.array([11.0, 11.001]))
    >>> round(float(np.linalg.norm(one - other)), 1)
    74.6
    """
    north, east = np.radians(lat), np.radians(lon)
    squeeze = (1 - _FLATTENING) ** 2
    radius = _EQUATOR_M / np.sqrt(np.cos(north) ** 2 + squeeze * np.sin(north) ** 2)
    x_m, y_m = radius * np.cos(north) * np.cos(east), radius * np.cos(north) * np.sin(east)
    return np.stack([x_m, y_m, squeeze * radius * np.sin(north)], axis=1)


def _seen(frame_ids: pa.Array | pa.ChunkedArray, sources: pa.Table) -> pl.DataFrame:
    """Return the sources of `frame_ids` by frame, batch and path; `frame` numbers them."""
    wanted = pl.DataFrame({"frame_id": pl.Series(frame_ids)}, schema={"frame_id": pl.String}).with_row_index("frame")
    table = pl.DataFrame(pl.from_arrow(sources.select(_COLUMNS)))
    found = table.join(wanted.with_columns(pl.col("frame").cast(pl.Int64)), on="frame_id", how="inner")
    return found.drop("frame_id").with_columns(pl.col("drive", "camera").fill_null("")).sort("frame", "batch", "path")


def _order(first: pl.DataFrame, frames: int) -> Ints:
    """Return for each frame where it stands; -1 without a place."""
    time = first["captured_ns"]
    paths = pl.select(pl.when(time.is_null()).then(first["path"]).otherwise(pl.lit(""))).to_series()
    keys = [first["drive"], first["camera"], time.is_null(), time.fill_null(0)]
    columns = [natural_ranks(paths.to_arrow()), *(key.to_numpy() for key in reversed(keys))]
    by_key = np.lexsort(columns) if len(first) else np.zeros(0, np.int64)
    differs = np.zeros(max(len(first) - 1, 0), np.bool_)
    for column in columns:
        differs |= column[by_key][1:] != column[by_key][:-1]
    order = np.full(frames, -1, np.int64)
    order[first["frame"].to_numpy()[by_key]] = np.append(0, np.cumsum(differs))[: len(first)]
    return order
