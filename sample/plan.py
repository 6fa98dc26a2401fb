"""Decide which drives a sample holds: where, when, in what weather, and in which batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from driveflow.errors import UsageError

CLASSES = ("car", "pedestrian", "cyclist", "ebike")
MIN_FRAMES = 40
RATE_HZ = 4
_FRAMES_PER_DRIVE = 28
_FIRST_DAY_NS = 1_700_006_400_000_000_000  # 15 November 2023, 0:00 UTC
_HOUR_NS = 3_600_000_000_000
_WINTER_DAYS = 60  # in which the hours below mean what they say

Place = Literal["city", "suburb", "country"]
TimeOfDay = Literal["day", "dusk", "night"]
Weather = Literal["clear", "rain"]
Motion = Literal["cruise", "slow", "halt", "frozen"]
_START_HOURS = {"day": 11.0, "dusk": 15.75, "night": 19.0}  # UTC; the sun over Munich says the same in November

# batch, hold-out or training, place, time of day, weather, motion, whether an e-bike passes.
# Sorted so that the first eight already have something of everything.
_CAST = """
a train   city    day   clear cruise -
a holdout city    day   clear cruise ebike
b train   suburb  night clear cruise ebike
c train   city    night clear slow   ebike
b holdout city    night clear cruise ebike
a train   country day   rain  cruise -
c train   suburb  day   clear halt   -
b holdout suburb  dusk  clear cruise -
a train   suburb  dusk  clear slow   ebike
a holdout country night rain  cruise -
b train   city    day   clear halt   -
c train   city    night rain  cruise ebike
b train   country day   clear cruise -
a train   city    night clear halt   ebike
a holdout suburb  day   rain  slow   -
c train   suburb  dusk  clear cruise -
b train   city    dusk  rain  cruise ebike
b holdout country day   clear cruise ebike
a train   suburb  day   clear frozen -
c train   country day   clear cruise -
a holdout city    dusk  rain  halt   -
b train   suburb  night rain  cruise -
c train   city    day   clear slow   -
a train   city    day   rain  cruise ebike
b holdout city    night clear halt   ebike
a train   country night clear cruise -
b train   city    day   clear slow   ebike
c train   suburb  night clear cruise ebike
a holdout suburb  night clear cruise ebike
b train   suburb  day   clear cruise -
c train   country dusk  clear cruise -
b holdout city    day   rain  cruise -
a train   country dusk  clear cruise -
c train   city    day   rain  frozen -
b train   city    night clear slow   -
c train   suburb  night rain  halt   ebike
"""


@dataclass(frozen=True, slots=True)
class DrivePlan:
    """What one drive shows; `seed` and `index` fix every pixel of it."""

    name: str
    batch: str
    holdout: bool
    place: Place
    time_of_day: TimeOfDay
    weather: Weather
    motion: Motion
    ebike: bool
    frames: int
    start_ns: int
    seed: int
    index: int


def plan_drives(frames: int, seed: int) -> tuple[DrivePlan, ...]:
    """Return the drives of a sample of `frames` pictures, in a fixed order; their frames add up to `frames`."""
    if frames < MIN_FRAMES:
        raise UsageError(f"A sample needs {MIN_FRAMES} frames or more, got {frames}.")
    rows = _cast_rows(_drive_count(frames))
    lengths = _spread(frames, [2.0 if row[5] in ("slow", "halt") else 1.0 for row in rows])
    return tuple(
        _drive(index, row, length, seed) for index, (row, length) in enumerate(zip(rows, lengths, strict=True))
    )


def _drive_count(frames: int) -> int:
    smallest, whole_cast = 8, len(_cast_lines())
    return max(smallest, min(frames // 5, whole_cast), frames // _FRAMES_PER_DRIVE)


def _cast_lines() -> list[list[str]]:
    return [line.split() for line in _CAST.split("\n") if line]


def _cast_rows(count: int) -> list[list[str]]:
    lines = _cast_lines()
    return [lines[index % len(lines)] for index in range(count)]


def _spread(total: int, weights: Sequence[float]) -> list[int]:
    """Split `total` by `weights` so that the parts add up.

    >>> _spread(10, [1.0, 1.0, 2.0])
    [2, 3, 5]
    """
    parts, done, weight_sum, weight_done = [], 0, sum(weights), 0.0
    for weight in weights:
        weight_done += weight
        upto = int(total * weight_done / weight_sum + 1e-9)
        parts.append(upto - done)
        done = upto
    return parts


def _drive(index: int, row: Sequence[str], frames: int, seed: int) -> DrivePlan:
    batch, role, place, time_of_day, weather, motion, ebike = row
    return DrivePlan(
        name=f"{batch}{index + 1:02d}-{place}-{time_of_day}" + ("-rain" if weather == "rain" else ""),
        batch=f"drives_{batch}",
        holdout=role == "holdout",
        place=cast("Place", place),
        time_of_day=cast("TimeOfDay", time_of_day),
        weather=cast("Weather", weather),
        motion=cast("Motion", motion),
        ebike=ebike == "ebike",
        frames=frames,
        start_ns=_start_ns(index, _START_HOURS[time_of_day]),
        seed=seed,
        index=index,
    )


def _start_ns(index: int, hour: float) -> int:
    """Return when drive `index` begins: each on a day of its own; where winter is over, three minutes later again."""
    winters, day = divmod(index, _WINTER_DAYS)
    return _FIRST_DAY_NS + round((24 * day + hour + 0.05 * winters) * _HOUR_NS)
