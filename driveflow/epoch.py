"""Times as whole nanoseconds since 1970 in UTC, and which numbers may be such."""

from datetime import UTC, datetime
from typing import Final

FIRST_NS: Final = 10**17  # March 1973: what is less counts from the start of a recording, or is padded with zeros
FIRST_DIGITAL_NS: Final = 631_152_000 * 10**9  # 1990: before it no camera of a car took a digital picture
LAST_NS: Final = 4_102_444_800 * 10**9  # the year 2100
NS_OF_DIGITS: Final = {10: 10**9, 13: 10**6, 16: 10**3, 18: 1, 19: 1}
"""What a number of so many digits counts where it is a time; 18 are of a clock that began later than 1970."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ns(moment: datetime, digits: str = "") -> int:
    """Return `moment`, which is of a whole second and knows its zone, and `digits` of the second, of which nine count.

    >>> epoch_ns(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "5")
    1500000000
    """
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + int(digits[:9].ljust(9, "0"))
