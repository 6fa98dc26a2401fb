"""How near two sides of a split come in metres and in seconds."""

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ingestion.leak_kinds import Side

EARTH_RADIUS_M: Final = 6_371_008.8
_NS_PER_S: Final = 1e9


def nearest_in_metres(train: Side, other: Side) -> pl.DataFrame:
    """Return for each frame of the other side with a position the nearest of training, as (train, other, value).

    Distances are along a sphere as large as the earth.
    """
    here, there = _positions(train), _positions(other)
    if not here.height or not there.height:
        return _nothing()
    from sklearn.neighbors import KDTree

    # Points on a ball: the straight way through it and the way along it go together.
    chords, rows = KDTree(_on_a_ball(here)).query(_on_a_ball(there), k=1)
    metres = 2 * EARTH_RADIUS_M * np.arcsin(np.clip(chords[:, 0] / 2, 0.0, 1.0))
    pairs = pl.DataFrame(
        {"train": here["frame_id"].gather(rows[:, 0]), "other": there["frame_id"], "value": np.round(metres, 3)}
    )
    return _least(pairs)


def nearest_in_seconds(train: Side, other: Side, *, same_drive: bool) -> pl.DataFrame:
    """Return for each frame of the other side with a time the nearest of training, as (train, other, value).

    Within one drive any two times of one clock compare; between drives only those that a clock of dates gives.
    """
    by = ["drive", "clock"] if same_drive else None
    time = "captured_ns" if same_drive else "utc_ns"
    here, there = (_times(side.sources, time, by or []) for side in (train, other))
    if not here.height or not there.height:
        return _nothing()
    pairs = there.rename({"frame_id": "other"}).join_asof(
        here.rename({"frame_id": "train"}).with_columns(at=pl.col(time)),
        on=time,
        by=by,
        strategy="nearest",
        check_sortedness=False,
    )
    apart = ((pl.col("at") - pl.col(time)).abs() / _NS_PER_S).alias("value")
    return _least(pairs.drop_nulls("at").select("train", "other", apart))


def _times(sources: pl.DataFrame, time: str, by: list[str]) -> pl.DataFrame:
    return sources.select("frame_id", *by, time).drop_nulls(time).unique().sort(time, "frame_id", *by)


def _positions(side: Side) -> pl.DataFrame:
    known = side.sources.select("frame_id", "lat", "lon").drop_nulls()
    return known.filter(pl.all_horizontal(pl.col("lat", "lon").is_finite())).unique().sort("frame_id", "lat", "lon")


def _on_a_ball(positions: pl.DataFrame) -> npt.NDArray[np.float64]:
    lat, lon = (np.radians(positions[name].to_numpy()) for name in ("lat", "lon"))
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def _least(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return each frame of the other side once, with what is nearest to it, nearest first."""
    ordered = pairs.select("train", "other", "value").sort("value", "other", "train")
    return ordered.unique("other", keep="first", maintain_order=True)


def _nothing() -> pl.DataFrame:
    return pl.DataFrame(schema={"train": pl.String, "other": pl.String, "value": pl.Float64})
