"""Read the columns of metadata that say when a picture was taken, into int64 nanoseconds and never through a float."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from typing import Final

from driveflow.epoch import epoch_ns

COUNTS: Final[Mapping[str, int]] = {
    "captured_ns": 1,
    "captured_us": 10**3,
    "captured_ms": 10**6,
    "captured_s": 10**9,
}
"""Nanoseconds in the unit of each column, the finest first: the first that has a value counts."""
MOMENT: Final = "captured_at"
OFFSET: Final = "epoch_ns"

_INT64: Final = 2**63
_LONGEST: Final = 60  # characters of a number that may be a time
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,18}))?\s*(Z|[+-]\d\d(?::?\d\d)?)?", re.IGNORECASE
)


class TimeCellError(ValueError):
    """A cell that is no time; the message goes on after the cell's text."""


@dataclass(frozen=True, slots=True)
class CaptureTime:
    """A time, the column it stood in, and the clock where that column has one."""

    captured_ns: int
    column: str
    clock: str = ""


def count_ns(text: str, unit_ns: int) -> int:
    """Return the nanoseconds of a decimal number of units; below a nanosecond it is rounded to the even one.

    Raises:
        TimeCellError: it is no number, or none that int64 holds.
    """
    if unit_ns == 1:
        return _whole(text)
    try:
        number = Decimal(text) if len(text) <= _LONGEST else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise TimeCellError("is no decimal number")
    if number.adjusted() > 20:
        raise TimeCellError("does not fit into 64 bits")
    with localcontext() as context:
        context.prec = 2 * _LONGEST
        return _fitting(int((number * unit_ns).to_integral_value(ROUND_HALF_EVEN)))


def moment_ns(text: str) -> int:
    """Return the nanoseconds since 1970 of an ISO 8601 time with a time zone.

    Raises:
        TimeCellError: it is none, or has no zone: nobody can say when it was.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise TimeCellError("is no time as ISO 8601 has it")
    day, clock, part, zone = match.groups()
    if not zone:
        raise TimeCellError("has no time zone; write Z or an offset such as +01:00")
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{_zone(zone)}")
    except ValueError as error:
        raise TimeCellError(f"is no time: {error}") from None
    return _fitting(epoch_ns(moment) + count_ns(f"0.{part or 0}", 10**9))


def _zone(zone: str) -> str:
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return "+00:00" if zone in {"Z", "z"} else f"{zone[0]}{digits[:2]}:{digits[2:]}"


def _whole(text: str) -> int:
    try:
        value = int(text) if len(text) <= _LONGEST else None
    except ValueError:
        value = None
    if value is None:
        raise TimeCellError("is no whole number of nanoseconds")
    return _fitting(value)


def _fitting(value: int) -> int:
    if not -_INT64 <= value < _INT64:
        raise TimeCellError("does not fit into 64 bits")
    return value
