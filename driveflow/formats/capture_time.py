"""Read the time at which a picture was taken, in whole nanoseconds."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from driveflow.epoch import FIRST_NS, LAST_NS, epoch_ns
from driveflow.formats.json_text import number_of

_FRACTION: Final = re.compile(r"\.(\d+)")
_FIRST_MS: Final = FIRST_NS // 10**6
_LAST_MS: Final = LAST_NS // 10**6  # what is more is in another unit
_UNITS: Final = ((10**8, 10**11, 10**9), (10**11, 10**14, 10**6), (10**14, 10**17, 10**3), (10**17, 10**19, 1))


def milliseconds(value: object) -> tuple[int | None, str]:
    """Return nanoseconds and clock of a time in milliseconds: of the Unix epoch, or small, of the recording.

    >>> milliseconds(1700000001600), milliseconds(10000), milliseconds(1700000001600000000)
    ((1700000001600000000, 'utc'), (10000000000, 'drive_relative'), (None, ''))
    """
    number = number_of(value)
    if number is None or not 0 <= number <= _LAST_MS:
        return None, ""
    return int(Decimal(str(value)) * 10**6), "utc" if number >= _FIRST_MS else "drive_relative"


def utc_ns(value: object) -> int | None:
    """Return nanoseconds of the Unix epoch: of a number in the unit that its size tells, or of a date and time.

    A time without a zone is UTC; a number below 10**8 does not say what it counts.

    >>> utc_ns(1700000001.6), utc_ns("2020-04-11 12:00:07.5"), utc_ns(12), utc_ns("2020-04-11T14:00:07+02:00")
    (1700000001600000000, 1586606407500000000, None, 1586606407000000000)
    """
    if number_of(value) is not None:
        number = Decimal(str(value).strip())
        return next((int(number * unit) for low, high, unit in _UNITS if low <= number < high), None)
    return _iso_ns(value) if isinstance(value, str) else None


def _iso_ns(text: str) -> int | None:
    """Return the time of ISO 8601 text with any number of digits of the second, of which nine count."""
    fraction = _FRACTION.search(text)
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text.strip().replace(" UTC", "Z"), count=1))
    except ValueError:
        return None
    return epoch_ns(moment if moment.tzinfo else moment.replace(tzinfo=UTC), fraction[1] if fraction else "")
