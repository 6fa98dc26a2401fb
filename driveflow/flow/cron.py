"""The five fields of a schedule, checked, and the six that KFP wants."""

import re

from driveflow.errors import UsageError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)
_LONGEST_MONTH = {1: 31, 2: 29, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}
_ITEM = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d{1,4}))?")


def check_cron(text: str) -> None:
    """Refuse what is no schedule of five fields: minute, hour, day of month, month, day of week.

    Raises:
        UsageError: with the field and what would do.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise UsageError(
            f"a schedule has 5 fields (minute, hour, day of month, month, day of week), got {len(parts)} in '{text}'; "
            "'0 2 * * 1' is every Monday at 02:00"
        )
    _, _, days, months, weekdays = [_values(part, *field) for part, field in zip(parts, _FIELDS, strict=True)]
    if parts[4] == "*" and not any(min(days) <= _LONGEST_MONTH[month] for month in months) and weekdays:
        raise UsageError(f"the schedule '{text}' never comes: no such month has a day {min(days)}")


def kfp_cron(text: str) -> str:
    """Return the schedule as KFP reads it, seconds first; KFP would misread five fields without a word.

    >>> kfp_cron("0 2 * * 1")
    '0 0 2 * * 1'
    """
    check_cron(text)
    return f"0 {' '.join(text.split())}"


def _values(part: str, name: str, low: int, high: int, words: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for item in part.split(","):
        match = _ITEM.fullmatch(item)
        if not match:
            raise UsageError(f"the {name} of a schedule must be like *, 5, 1-5, */2 or 1,3, got '{item}'")
        star, first, last, step = match.groups()
        if step is not None and (int(step) == 0 or not (star or last)):
            raise UsageError(f"the {name} '{item}' of a schedule has no good step; '*/{step.strip('0') or 5}' would do")
        start = low if star else _number(first, name, low, high, words)
        end = high if star else _number(last, name, low, high, words) if last else start
        if end < start:
            raise UsageError(f"the {name} '{item}' of a schedule runs backwards; '{last}-{first}' would do")
        found.update(range(start, end + 1, int(step or 1)))
    return found


def _number(word: str, name: str, low: int, high: int, words: tuple[str, ...]) -> int:
    if word.lower() in words:
        return words.index(word.lower()) + low
    if word.isascii() and word.isdigit() and low <= int(word) <= high:
        return int(word)
    also = f" or {words[0]} to {words[-1]}" if words else ""
    sunday = "; Sunday is 0" if name == "day of week" and word == "7" else ""
    raise UsageError(f"the {name} of a schedule must be {low} to {high}{also}, got '{word}'{sunday}")
