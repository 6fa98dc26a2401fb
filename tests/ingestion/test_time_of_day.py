import io
import json
from datetime import UTC, datetime

import pytest
from PIL import Image

from driveflow.sun import sun_elevation_deg
from ingestion.time_of_day import Sighting, check_times_of_day
from tests.ingestion.batches import bring_in, write

MUNICH = (48.1, 11.5)
NOON, MIDNIGHT = "2023-11-15T11:00:00Z", "2023-11-15T23:00:00Z"


def _ns(text):
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 10**9


@pytest.mark.parametrize(
    ("place", "moment", "elevation_deg"),
    [
        # the worked example of NREL's Solar Position Algorithm (Reda and Andreas, 2008): zenith 50.11162
        ((39.742476, -105.1786), "2003-10-17T19:30:30Z", 39.888),
        # London, 20 June 2024: the almanac's sunrise and sunset, at which the middle of the sun is 0.833 under
        ((51.5074, -0.1278), "2024-06-20T03:43:00Z", -0.833),
        ((51.5074, -0.1278), "2024-06-20T20:21:00Z", -0.833),
        # overhead at the equator on the equinox, when true noon is 12:07
        ((0.0, 0.0), "2024-03-20T12:07:00Z", 90.0),
        # noon of the solstices: 90 - latitude +- obliquity
        ((60.0, 0.0), "2023-12-22T11:58:00Z", 90 - 60 - 23.44),
        ((-33.87, 151.21), "2023-12-22T01:53:00Z", 90 - 33.87 + 23.44),
        # midnight sun
        ((78.22, 15.65), "2024-06-20T23:00:00Z", 23.44 - (90 - 78.22)),
    ],
)
def test_the_sun_stands_where_published_values_say_to_half_a_degree(place, moment, elevation_deg):
    assert sun_elevation_deg(*place, _ns(moment)) == pytest.approx(elevation_deg, abs=0.5)


def test_declination_is_that_of_meeus_example_25a():
    at_pole = sun_elevation_deg(90, 0, int(datetime(1992, 10, 13, tzinfo=UTC).timestamp()) * 10**9)

    assert at_pole == pytest.approx(-7.78507, abs=0.001)


def _sighting(tag, moment=NOON, brightness=None, key="time_of_day", clock="utc", place=MUNICH):
    attributes = json.dumps({key: tag})
    return Sighting("f", "b", "a.jpg", attributes, *place, _ns(moment) if moment else None, clock, brightness)


def _rules(*sightings):
    return [row["rule"] for row in check_times_of_day(sightings)]


@pytest.mark.parametrize(
    ("tag", "moment", "rules"),
    [
        ("daytime", MIDNIGHT, ["sun"]),
        ("daytime", NOON, []),
        ("Night", NOON, ["sun"]),
        ("night", MIDNIGHT, []),
        ("dawn/dusk", "2023-11-15T15:50:00Z", []),
        ("dawn/dusk", NOON, ["sun"]),
        ("undefined", MIDNIGHT, []),
        ("daytime", None, []),
    ],
)
def test_a_tag_that_the_sun_speaks_against_is_listed(tag, moment, rules):
    assert _rules(_sighting(tag, moment)) == rules


@pytest.mark.parametrize(
    ("tag", "brightness", "rules"),
    [("daytime", 30, ["brightness"]), ("daytime", 60, []), ("night", 110, ["brightness"]), ("night", 50, [])],
)
def test_a_tag_that_the_picture_speaks_against_is_listed(tag, brightness, rules):
    assert _rules(_sighting(tag, None, brightness, "timeofday")) == rules


def test_without_place_or_clock_the_sun_says_nothing():
    assert _rules(_sighting("daytime", MIDNIGHT, clock="drive_relative")) == []
    assert _rules(_sighting("daytime", MIDNIGHT, place=(None, None))) == []


def test_a_frame_with_many_sources_is_listed_once():
    assert _rules(_sighting("daytime", MIDNIGHT), _sighting("daytime", MIDNIGHT)) == ["sun"]


def _grey(level):
    stream = io.BytesIO()
    Image.effect_noise((64, 48), 20).point(lambda value: max(0, min(255, value - 128 + level))).save(stream, "JPEG")
    return stream.getvalue()


def _import(folder, level, moment, tag):
    header = "path,captured_at,lat,lon" + (",time_of_day" if tag else "")
    row = f"a.jpg,{moment},48.1,11.5" + (f",{tag}" if tag else "")
    return bring_in(write(folder, {"a.jpg": _grey(level), "metadata.csv": f"{header}\n{row}\n"}))


def test_ac_b16_a_night_picture_tagged_daytime_is_listed_by_sun_and_by_brightness_and_not_changed(tmp_path):
    found = _import(tmp_path / "b", 20, MIDNIGHT, "daytime")

    rows = [row for row in found.beside.conflicts.to_pylist() if row["kind"] == "attribute"]
    assert [row["rule"] for row in rows] == ["sun", "brightness"]
    assert json.loads(rows[0]["left"]) == {"batch": "a.jpg", "key": "time_of_day", "value": "daytime"}
    assert json.loads(rows[0]["right"])["sun_elevation_deg"] == pytest.approx(-60.1, abs=0.5)
    assert (rows[0]["where"], rows[0]["winner"], found.counts["conflicts"]) == ("b/a.jpg", "left", 2)
    assert json.loads(found.tables.frames["attributes"][0].as_py()) == {"time_of_day": "daytime"}


def test_a_frame_without_a_tag_gets_none_and_no_conflict(tmp_path):
    found = _import(tmp_path / "b", 20, NOON, "")

    assert found.tables.frames["attributes"].to_pylist() == ["{}"]
    assert found.counts["conflicts"] == 0


def test_a_tag_of_the_whole_batch_is_checked_too(tmp_path):
    folder = write(tmp_path / "b", {"a.jpg": _grey(150)})

    assert bring_in(folder, attributes={"time_of_day": "night"}).counts["conflicts"] == 1
