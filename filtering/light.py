"""The time of day of frames: as they are tagged, else by the sun."""

import polars as pl
import pyarrow as pa

from driveflow.predicates import attribute
from driveflow.sun import sun_elevation_deg

SUN_ATTRIBUTE = "sun_elevation_deg"
_CLOCKS = ["utc", "gps"]  # gps is 18 seconds ahead: 0.08 degrees
_HIGH_DEG = 6.0  # between this and as much under the horizon it is twilight
_WORDS = {
    **dict.fromkeys(["daytime", "daylight", "noon"], "day"),
    **dict.fromkeys(["nighttime", "night-time"], "night"),
    **dict.fromkeys(["dawn", "dusk", "dawn/dusk", "sunrise", "sunset"], "twilight"),
}


def times_of_day(frames: pa.Table, sources: pa.Table) -> pl.Series:
    """Return the time of day of each frame, empty where nothing tells it.

    The attribute `time_of_day` comes first (words that mean day, night or twilight count as those), then the height of
    the sun: the attribute `sun_elevation_deg`, or that of the first source with place and time.
    """
    said = pl.Series("said", attribute(frames, "time_of_day"), dtype=pl.String).str.strip_chars()
    known = said.str.to_lowercase().replace(_WORDS)
    if (known != "").all():
        return known
    sun = _stated(frames).fill_null(_computed(frames["frame_id"], sources))
    words = pl.when(sun.is_null()).then(pl.lit("")).when(sun >= _HIGH_DEG).then(pl.lit("day"))
    by_sun = pl.select(words.when(sun < -_HIGH_DEG).then(pl.lit("night")).otherwise(pl.lit("twilight"))).to_series()
    return pl.select(pl.when(known != "").then(known).otherwise(by_sun)).to_series()


def _stated(frames: pa.Table) -> pl.Series:
    text = pl.Series("sun", attribute(frames, SUN_ATTRIBUTE), dtype=pl.String)
    stated = text.cast(pl.Float64, strict=False)
    return pl.select(pl.when(stated.is_finite()).then(stated)).to_series()


def _computed(frame_ids: pa.ChunkedArray, sources: pa.Table) -> pl.Series:
    """Return the height of the sun where a source of the frame knows place and time; else null."""
    table = pl.DataFrame(
        pl.from_arrow(sources.select(["frame_id", "batch", "path", "captured_ns", "clock", "lat", "lon"]))
    )
    told = table.filter(
        pl.col("clock").is_in(_CLOCKS)
        & pl.col("captured_ns").is_not_null()
        & pl.col("lat").is_finite()
        & pl.col("lon").is_finite()
    )
    first = told.sort("batch", "path").unique("frame_id", keep="first", maintain_order=True)
    sun = [sun_elevation_deg(*row) for row in first.select("lat", "lon", "captured_ns").iter_rows()]
    heights = first.select("frame_id", sun=pl.Series(sun, dtype=pl.Float64))
    every = pl.DataFrame({"frame_id": pl.Series(frame_ids)}, schema={"frame_id": pl.String})
    return every.join(heights, on="frame_id", how="left", maintain_order="left")["sun"]
