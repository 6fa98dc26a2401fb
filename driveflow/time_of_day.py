"""What a tag of a time of day means, and whether the sun and the picture agree: for one picture, and for a table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import pyarrow as pa

from driveflow.sun import sun_elevation_deg

KEYS: Final = ("time_of_day", "timeofday")
CLOCKS: Final = frozenset(["utc", "gps"])  # gps is 18 seconds ahead: 0.08 degrees
DAY, NIGHT, BETWEEN = "day", "night", "between"
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(["day", "daytime", "daylight", "noon"], DAY),
    **dict.fromkeys(["night", "nighttime", "night-time"], NIGHT),
    **dict.fromkeys(["dawn", "dusk", "dawn/dusk", "twilight", "sunrise", "sunset"], BETWEEN),
}
SUN_DEG: Final = {DAY: (-6.0, 90.0), NIGHT: (-90.0, 0.0), BETWEEN: (-18.0, 12.0)}
"""Where the sun may stand: at -6 civil twilight ends, at -18 the last light is gone."""
GREY: Final = {DAY: (50.0, 255.0), NIGHT: (0.0, 80.0), BETWEEN: (0.0, 255.0)}
"""How bright the whole picture may be, mean of 0 to 255: of street scenes by day the darkest have 57, by night the
brightest 52 (median 110 and 34)."""

_TEN_S: Final = 10 * 10**9
_TAGGED: Final = {"attributes": pl.String, "key": pl.String, "said": pl.String, "tag": pl.String}
_FOUND: Final = {
    "frame_id": pl.String, "key": pl.String, "said": pl.String, "rule": pl.String,
    "value": pl.Float64, "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TagCheck:
    """How many frames have a tag that means something, of how many the sun or the picture is known, and what disagrees.

    `against` has a row for each tag and rule: frame_id, key, said, rule (sun, brightness), value, low, high.
    """

    tagged: int
    checked: int
    against: pl.DataFrame

    def frame_ids(self) -> list[str]:
        """Return the frames of which a tag is doubted, sorted."""
        return self.against["frame_id"].unique().sort().to_list()


def tags_in(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a time of day that mean something, by their key: day, night or between."""
    said = {key: str(attributes[key]).strip().lower() for key in KEYS if key in attributes}
    return {key: _WORDS[word] for key, word in said.items() if word in _WORDS}


def is_tagged(attributes: str) -> bool:
    """Tell whether canonical JSON of attributes has a tag that can be checked."""
    return any(key in attributes for key in KEYS) and bool(tags_in(json.loads(attributes)))


def check_tags(frames: pa.Table, sources: pa.Table | None, signals: pa.Table | None) -> TagCheck:
    """Return which tags of `frames` the height of the sun or the brightness of the picture speaks against.

    `sources` tell place and time, `signals` the brightness; what is not given or not known speaks against nothing.
    """
    tagged = _tagged(frames)
    if not tagged.height:
        return TagCheck(0, 0, pl.DataFrame(schema=_FOUND))
    measured = [_measured(tagged, "sun", _heights(tagged, sources), SUN_DEG)]
    measured.append(_measured(tagged, "brightness", _brightness(signals), GREY))
    known = pl.concat(measured)
    against = known.filter((pl.col("value") < pl.col("low")) | (pl.col("value") > pl.col("high")))
    return TagCheck(
        tagged["frame_id"].n_unique(), known["frame_id"].n_unique(), against.sort("frame_id", "key", "rule")
    )


def _tagged(frames: pa.Table) -> pl.DataFrame:
    table = pl.DataFrame(pl.from_arrow(frames.select(["frame_id", "attributes"])))
    rows = []
    for text in table["attributes"].unique().drop_nulls().to_list():
        if any(key in text for key in KEYS):
            said = json.loads(text)
            rows += [(text, key, str(said[key]), tag) for key, tag in tags_in(said).items()]
    return table.join(pl.DataFrame(rows, schema=_TAGGED, orient="row"), on="attributes").drop("attributes")


def _measured(
    tagged: pl.DataFrame, rule: str, values: pl.DataFrame, limits: Mapping[str, tuple[float, float]]
) -> pl.DataFrame:
    """Return the tags whose frame has a value, with the limits of that tag."""
    ends = pl.DataFrame(
        [(tag, low, high) for tag, (low, high) in limits.items()],
        schema={"tag": pl.String, "low": pl.Float64, "high": pl.Float64},
        orient="row",
    )
    found = tagged.join(values, on="frame_id").join(ends, on="tag").with_columns(rule=pl.lit(rule))
    return found.select(*_FOUND)


def _brightness(signals: pa.Table | None) -> pl.DataFrame:
    if signals is None:
        return pl.DataFrame(schema={"frame_id": pl.String, "value": pl.Float64})
    table = pl.DataFrame(pl.from_arrow(signals.select(["frame_id", "brightness"])))
    return table.drop_nulls().select("frame_id", value=pl.col("brightness").cast(pl.Float64))


def _heights(tagged: pl.DataFrame, sources: pa.Table | None) -> pl.DataFrame:
    """Return the height of the sun of frames whose first source with place and time tells it.

    It is computed once for each hundredth of a degree and ten seconds, which is good to a tenth of a degree.
    """
    if sources is None:
        return pl.DataFrame(schema={"frame_id": pl.String, "value": pl.Float64})
    wanted = ["frame_id", "batch", "path", "captured_ns", "clock", "lat", "lon"]
    table = pl.DataFrame(pl.from_arrow(sources.select(wanted)))
    told = table.filter(
        pl.col("clock").is_in(list(CLOCKS))
        & pl.col("captured_ns").is_not_null()
        & pl.col("lat").is_finite()
        & pl.col("lon").is_finite()
    ).join(tagged.select("frame_id").unique(), on="frame_id", how="semi")
    first = told.sort("batch", "path").unique("frame_id", keep="first", maintain_order=True)
    spots = first.select(
        "frame_id", lat=pl.col("lat").round(2), lon=pl.col("lon").round(2), at=pl.col("captured_ns") // _TEN_S
    )
    distinct = spots.select("lat", "lon", "at").unique()
    sun = [sun_elevation_deg(lat, lon, at * _TEN_S) for lat, lon, at in distinct.iter_rows()]
    known = distinct.with_columns(value=pl.Series(sun, dtype=pl.Float64))
    return spots.join(known, on=["lat", "lon", "at"]).select("frame_id", "value")
