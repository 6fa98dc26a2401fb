"""Moments and days as a person writes them in an option."""

from datetime import UTC, date, datetime, timedelta

_TICK = timedelta(microseconds=1)  # the ledger's


def moment_of(text: str, option: str = "--at") -> datetime:
    """Return the moment that an option spells; without a time zone it is UTC.

    Raises:
        UsageError: it spells none.
    """
    from driveflow.errors import UsageError

    try:
        moment = datetime.fromisoformat(text)
        moment.astimezone(UTC)  # a moment that UTC cannot spell is none
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} {text!r} is no moment; 2026-01-31 or 2026-01-31T12:00:00+01:00 would do."
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def span_of(text: str, option: str = "--at") -> tuple[datetime, datetime]:
    """Return the first and the last moment of what an option spells: of a day alone all of it, in UTC.

    Raises:
        UsageError: it spells neither a moment nor a day.
    """
    first = moment_of(text, option)
    try:
        date.fromisoformat(text)
        return first, first + (timedelta(days=1) - _TICK)
    except (ValueError, OverflowError):  # a moment, or the last day that there is
        return first, first
