"""From where the time of day of a frame is known."""

from dataclasses import replace

import pyarrow as pa
import pytest

from driveflow import tables
from filtering.light import times_of_day
from filtering.populations import populations
from tests.filtering.made import Made, snapshot

NOON_NS = 1_718_967_600 * 10**9  # 21 June 2024, 11:00 UTC: high noon at Munich
HOUR_NS = 3_600 * 10**9


def seen(made: Made, clock: str, captured_ns: int, lat: float | None = 48.1) -> tuple[pa.Table, pa.Table]:
    built = snapshot([made])
    rows = [
        row | {"clock": clock, "captured_ns": captured_ns, "lat": lat, "lon": None if lat is None else 11.6}
        for row in built.sources.to_pylist()
    ]
    return built.frames, pa.Table.from_pylist(rows, tables.SOURCES)


@pytest.mark.parametrize(
    ("hours", "light"), [(0, "day"), (7, "day"), (8, "twilight"), (8.5, "twilight"), (9.5, "night"), (12, "night")]
)
def test_the_sun_tells_the_time_of_day_where_no_tag_does(hours, light):
    assert times_of_day(*seen(Made("a"), "utc", NOON_NS + round(hours * HOUR_NS))).to_list() == [light]


@pytest.mark.parametrize(
    ("word", "light"), [("Night", "night"), ("dawn/dusk", "twilight"), ("daytime", "day"), ("tunnel", "tunnel")]
)
def test_a_tag_comes_before_the_sun(word, light):
    tagged = Made("a", attributes={"time_of_day": word})

    assert times_of_day(*seen(tagged, "utc", NOON_NS)).to_list() == [light]


def test_a_stated_height_of_the_sun_counts_as_measured():
    stated = Made("a", attributes={"sun_elevation_deg": "-30.5"})

    assert times_of_day(*seen(stated, "none", 0)).to_list() == ["night"]


@pytest.mark.parametrize(("clock", "lat"), [("drive_relative", 48.1), ("none", 48.1), ("utc", None)])
def test_without_place_or_date_the_time_of_day_is_not_known(clock, lat):
    assert times_of_day(*seen(Made("a"), clock, NOON_NS, lat)).to_list() == [""]


def test_where_the_time_of_day_is_not_known_each_drive_is_a_population_of_its_own():
    frames = [Made("a", drive="one"), Made("b", drive="two"), Made("c", drive="two")]
    day = [replace(made, attributes={"time_of_day": "day"}) for made in frames]
    unknown, known = snapshot(frames), snapshot(day)

    assert populations(unknown.frames, unknown.sources).tolist() == [0, 1, 1]
    assert populations(known.frames, known.sources).tolist() == [0, 0, 0]
