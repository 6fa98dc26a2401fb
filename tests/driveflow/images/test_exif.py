import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin

from driveflow.images.exif import Exif, read_exif
from driveflow.images.quiet import quiet
from tests.shared_data import shared_data

TAKEN, FRACTION, ZONE = 0x9003, 0x9291, 0x9011
HERE = {1: "N", 2: (45.0, 31.0, 0.5), 3: "W", 4: (122.0, 34.0, 30.0)}
STAMP = {7: (20.0, 24.0, 11.0), 29: "2018:06:08"}


def _read(picture=None, place=None):
    tags = Image.Exif()
    for block, found in ((0x8769, picture), (0x8825, place)):
        if found:
            tags.get_ifd(block).update(found)
    kept = io.BytesIO()
    Image.new("RGB", (8, 8)).save(kept, "JPEG", exif=tags)
    with quiet(), Image.open(kept) as image:
        return read_exif(image)


def _ns(*moment, ns=0):
    return int(datetime(*moment, tzinfo=UTC).timestamp()) * 10**9 + ns


def test_a_picture_without_exif_says_nothing():
    assert _read() == Exif()
    with Image.new("RGB", (8, 8)) as image:
        assert read_exif(image) == Exif()


def test_a_stated_zone_makes_the_time_utc_to_the_fraction():
    found = _read({TAKEN: "2018:06:08 13:24:10", FRACTION: "0625", ZONE: "-07:00"})

    assert (found.captured_ns, found.clock) == (_ns(2018, 6, 8, 20, 24, 10, ns=62_500_000), "utc")


@pytest.mark.parametrize("taken", ["2018:06:08 13:24:10", "2018:06:09 02:09:40", "2018:06:08 20:23:30"])
def test_the_receiver_says_in_which_zone_the_camera_is(taken):
    found = _read({TAKEN: taken, FRACTION: "5"}, STAMP)

    assert found.clock == "utc"
    assert abs(found.captured_ns - _ns(2018, 6, 8, 20, 24, 11)) <= 60 * 10**9
    assert found.captured_ns % 10**9 == 500_000_000


@pytest.mark.parametrize("place", [None, {**STAMP, 29: "2011:07:15"}, {**STAMP, 7: (20.0, 31.0, 0.0)}])
def test_a_time_whose_zone_nobody_knows_is_of_no_clock(place):
    found = _read({TAKEN: "2018:06:08 13:24:10"}, place)

    assert (found.captured_ns, found.clock) == (_ns(2018, 6, 8, 13, 24, 10), "")


def test_the_receiver_alone_tells_utc():
    assert _read(None, STAMP).captured_ns == _ns(2018, 6, 8, 20, 24, 11)
    assert _read(None, STAMP).clock == "utc"


@pytest.mark.parametrize(
    "taken",
    [
        "0000:00:00 00:00:00",
        "2018:13:40 99:99:99",
        "1980:01:01 00:00:00",
        "2500:01:01 00:00:00",
        "    :  :     :  :  ",
        "yesterday",
        "",
        "\0" * 20,
    ],
)
def test_dates_that_cannot_be_are_no_times(taken):
    assert _read({TAKEN: taken}) == Exif()


@pytest.mark.parametrize("zone", ["Z", "Z\0", "+00:00"])
def test_a_zone_that_is_utc_itself_is_read_however_it_is_spelled(zone):
    found = _read({TAKEN: "2018:01:02 00:00:01", ZONE: zone})

    assert (found.captured_ns, found.clock) == (1_514_851_201 * 10**9, "utc")


@pytest.mark.parametrize("zone", ["-14:00", "-00:01"])
def test_the_last_day_that_a_calendar_has_is_no_time_in_any_zone(zone):
    assert _read({TAKEN: "9999:12:31 23:59:59", ZONE: zone}, {**STAMP, 29: "9999:12:31"}) == Exif()


def test_a_place_is_degrees_with_the_sign_of_its_side():
    found = _read(None, HERE)

    assert found.lat == pytest.approx(45 + 31 / 60 + 0.5 / 3600)
    assert found.lon == pytest.approx(-(122 + 34 / 60 + 30 / 3600))


@pytest.mark.parametrize(
    "wrong",
    [{2: (37.0, 99.0, 120.0)}, {3: "X"}, {4: (500.0, 0.0, 0.0)}, {2: (91.0, 0.0, 0.0)}, {1: ""}, {2: (45.0, 31.0)}],
)
def test_half_a_place_or_one_that_cannot_be_is_none(wrong):
    found = _read(None, HERE | wrong)

    assert (found.lat, found.lon) == (None, None)


@pytest.mark.parametrize(("unit", "mps"), [("K", 10.0), ("M", 16.09344), ("N", 18.52), ("?", None)])
def test_speed_comes_in_metres_a_second(unit, mps):
    assert _read(None, {12: unit, 13: 36.0}).speed_mps == pytest.approx(mps)


@pytest.mark.parametrize(("north", "track", "heading"), [("T", 270.89, 270.89), ("M", 90.0, None), ("T", 720.0, None)])
def test_heading_is_the_way_against_true_north(north, track, heading):
    assert _read(None, {14: north, 15: track}).heading_deg == (None if heading is None else pytest.approx(heading))


def test_numbers_without_an_end_are_none():
    nothing = TiffImagePlugin.IFDRational(1, 0)

    assert _read(None, {**HERE, 2: (nothing, nothing, nothing), 12: "K", 13: nothing}) == Exif()


@given(st.binary(max_size=400))
def test_any_bytes_for_a_block_cost_no_more_than_what_they_say(block):
    kept = io.BytesIO()
    Image.new("RGB", (8, 8)).save(kept, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0" + block)
    with quiet(), Image.open(kept) as image:
        found = read_exif(image)

    assert found.lat is None or -90 <= found.lat <= 90


def test_a_street_photo_says_when_and_where_it_was_taken():
    with quiet(), Image.open(shared_data("nasty_mapillary") / "DSC00001.JPG") as image:
        found = read_exif(image)

    assert (found.captured_ns, found.clock) == (_ns(2018, 6, 8, 20, 24, 10), "utc")
    assert (found.lat, found.lon) == (pytest.approx(45.516903, abs=1e-6), pytest.approx(-122.572765, abs=1e-6))
    assert (found.speed_mps, found.heading_deg) == (pytest.approx(6.375), pytest.approx(270.89))


def test_dates_and_places_that_are_impossible_are_not_trusted():
    with quiet(), Image.open(shared_data("nasty_made") / "files" / "exif_nonsense.jpg") as image:
        assert read_exif(image) == Exif()
