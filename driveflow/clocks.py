"""Bring times of different clocks onto one axis, where that can be done."""

from typing import Final

import polars as pl

GPS_EPOCH_NS: Final = 315_964_800 * 10**9  # 1980-01-06, from which GPS counts, in nanoseconds since 1970
GPS_AHEAD_NS: Final = 18 * 10**9  # leap seconds that GPS time does not have, as they have been since 2017


def utc_ns(sources: pl.DataFrame) -> pl.Series:
    """Return for each row of `sources` the time in UTC as nanoseconds since 1970, null where its clock does not tell.

    Clock gps counts from 1980 without leap seconds; drive_relative and none have no date.
    """
    captured = pl.col("captured_ns")
    told = (
        pl.when(pl.col("clock") == "utc")
        .then(captured)
        .when(pl.col("clock") == "gps")
        .then(captured + (GPS_EPOCH_NS - GPS_AHEAD_NS))
    )
    return sources.select(told.alias("utc_ns")).to_series()
