"""Read from the EXIF block of a picture when and where it was taken; what cannot be true says nothing."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from PIL import Image

from driveflow.epoch import epoch_ns

_PICTURE, _PLACE = 0x8769, 0x8825  # blocks of tags, as EXIF 2.32 numbers them
_TAKEN, _FRACTION, _ZONE = 0x9003, 0x9291, 0x9011  # DateTimeOriginal, SubSecTimeOriginal, OffsetTimeOriginal
_LAT_REF, _LAT, _LON_REF, _LON = 1, 2, 3, 4
_TIME, _DAY, _SPEED_REF, _SPEED, _TRACK_REF, _TRACK = 7, 29, 12, 13, 14, 15
_MOMENT: Final = re.compile(r"(\d{4})[:\-/](\d\d)[:\-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)")
_MPS: Final = {"K": 1 / 3.6, "M": 0.44704, "N": 1852 / 3600}  # km/h, miles an hour, knots
_FASTEST_MPS: Final = 150.0
_YEARS: Final = range(1990, 2100)  # before that a clock was never set, and later nobody has been
_QUARTER: Final = timedelta(minutes=15)  # zones are whole ones of these off UTC
_FARTHEST: Final = timedelta(hours=14)
_SAME_MOMENT: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Exif:
    """What a picture says of itself; None: nothing, or nothing that can be true.

    `captured_ns` counts from 1970: `clock` is "utc" where the zone is known, else empty, and the time is that of a
    clock on a wall somewhere. `lat` and `lon` are degrees, `heading_deg` is the way of the car against true north.
    """

    captured_ns: int | None = None
    clock: str = ""
    lat: float | None = None
    lon: float | None = None
    speed_mps: float | None = None
    heading_deg: float | None = None


_NOTHING = Exif()


def read_exif(image: Image.Image) -> Exif:
    """Return what `image` says; a broken block says nothing and costs nothing else. Call inside `quiet()`."""
    picture, place = _tags(image, _PICTURE), _tags(image, _PLACE)
    if not picture and not place:
        return _NOTHING
    captured_ns, clock = _time(picture, place)
    lat = _degrees(place.get(_LAT), place.get(_LAT_REF), "NS", 90)
    lon = _degrees(place.get(_LON), place.get(_LON_REF), "EW", 180)
    found = {"lat": lat, "lon": lon} if lat is not None and lon is not None else {}
    return Exif(captured_ns, clock, **found, speed_mps=_speed(place), heading_deg=_heading(place))


def _tags(image: Image.Image, block: int) -> Mapping[int, Any]:
    try:
        tags = image.getexif()
        return dict(tags.get_ifd(block)) if tags else {}
    except Exception:  # noqa: BLE001 Pillow raises nearly any type on broken bytes
        return {}


def _time(picture: Mapping[int, Any], place: Mapping[int, Any]) -> tuple[int | None, str]:
    """Return the time and its clock.

    The zone is stated, or it is how far the camera's clock is from that of the receiver, which tells UTC.
    """
    taken, digits = _moment(picture.get(_TAKEN), picture.get(_FRACTION))
    told = _receiver(place)
    if taken is None:
        return (epoch_ns(told), "utc") if told else (None, "")
    said = str(picture.get(_ZONE, "")).strip(" \0")
    match = _OFFSET.fullmatch("+00:00" if said == "Z" else said)
    zone = None
    if match:
        zone = (-1 if match[1] == "-" else 1) * timedelta(hours=int(match[2]), minutes=int(match[3]))
    elif told:
        near = round((taken - told) / _QUARTER) * _QUARTER
        zone = near if abs(taken - told - near) <= _SAME_MOMENT else None
    if zone is None or abs(zone) > _FARTHEST:
        return epoch_ns(taken, digits), ""
    return epoch_ns(taken - zone, digits), "utc"


def _moment(text: object, fraction: object) -> tuple[datetime | None, str]:
    """Return a date and time to the second, as if it were UTC, and the digits of the second after that."""
    match = _MOMENT.fullmatch(str(text).strip(" \0"))
    if match is None:
        return None, ""
    digits = str(fraction).strip(" \0")
    digits = digits if digits.isascii() and digits.isdigit() else match[7] or ""
    try:
        found = datetime(*(int(match[place]) for place in range(1, 7)), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None, ""
    return (found, digits) if found.year in _YEARS else (None, "")


def _receiver(place: Mapping[int, Any]) -> datetime | None:
    """Return the UTC that the receiver told, to the second."""
    clock = _numbers(place.get(_TIME), 3)
    day, _ = _moment(f"{str(place.get(_DAY, '')).strip(' ' + chr(0))} 00:00:00", "")
    if day is None or clock is None or not (clock[0] < 24 and clock[1] < 60 and clock[2] < 61):
        return None
    return day + timedelta(hours=int(clock[0]), minutes=int(clock[1]), seconds=int(clock[2]))


def _degrees(value: object, side: object, sides: str, most: int) -> float | None:
    parts = _numbers(value, 3)
    name = str(side).strip(" \0").upper()
    if parts is None or name not in {*sides} or parts[1] >= 60 or parts[2] >= 60:
        return None
    found = parts[0] + parts[1] / 60 + parts[2] / 3600
    return (-found if name == sides[1] else found) if found <= most else None


def _speed(place: Mapping[int, Any]) -> float | None:
    parts = _numbers(place.get(_SPEED), 1)
    unit = _MPS.get(str(place.get(_SPEED_REF, "K")).strip(" \0").upper())
    found = parts[0] * unit if parts and unit else None
    return found if found is not None and found <= _FASTEST_MPS else None


def _heading(place: Mapping[int, Any]) -> float | None:
    parts = _numbers(place.get(_TRACK), 1)
    is_true = str(place.get(_TRACK_REF, "T")).strip(" \0").upper() == "T"  # magnetic north is elsewhere
    return parts[0] % 360 if parts and is_true and parts[0] <= 360 else None


def _numbers(value: object, count: int) -> list[float] | None:
    """Return `count` numbers of a tag, none of them negative or without an end."""
    values = list(value) if isinstance(value, tuple) else [value]
    try:
        found = [float(number) for number in values]  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if len(found) == count and all(math.isfinite(number) and number >= 0 for number in found) else None
