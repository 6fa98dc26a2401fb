"""Find the file that is meant by a name with a time in it that is a little off."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from driveflow.epoch import FIRST_NS, NS_OF_DIGITS, epoch_ns

_ISO: Final = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)[T_ -](\d\d)[:_-]?(\d\d)[:_-]?(\d\d)(?:[.,_](\d{1,9}))?(Z|[+-]00:?00)?"
)
_COUNT: Final = re.compile(r"(?<!\d)(\d{9,10}\.\d{1,9}|\d{18,19}|\d{16}|\d{13}|\d{10})(?!\d)")


@dataclass(frozen=True, slots=True)
class NameTime:
    """What a name says: a time, and the name with a gap where the time stands.

    `is_utc`: a count is from 1970, as far as one can tell, and text has a Z; else the zone is not said.
    """

    around: str
    time_ns: int
    is_utc: bool


def time_in_name(path: str) -> NameTime | None:
    """Return the time in the last part of `path`: ISO 8601 in UTC, or a count of s, ms, us or ns by its digits.

    A count goes before a date, which may be that of the whole recording, but for one that says less than 1973.

    >>> time_in_name("a/x_2022-02-14T13:23:32.140954Z.jpg")
    NameTime(around='a/x_*.jpg', time_ns=1644845012140954000, is_utc=True)
    >>> time_in_name("cam/1700000000000001.jpg").time_ns
    1700000000000001000
    """
    folder, slash, name = path.rpartition("/")
    counts, dates = ([*_found(name, pattern, read)] for pattern, read in ((_COUNT, _count_ns), (_ISO, _iso_ns)))
    late = [found for found in counts if found[1] >= FIRST_NS]
    for match, time_ns in (*late, *dates, *counts):
        around = f"{folder}{slash}{name[: match.start()]}*{name[match.end() :]}"
        return NameTime(around, time_ns, match.re is _COUNT or bool(match[8]))
    return None


def _found(
    name: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], int | None]
) -> Iterator[tuple[re.Match[str], int]]:
    """Yield what is a time, the last first."""
    for match in reversed(list(pattern.finditer(name))):
        time_ns = read(match)
        if time_ns is not None:
            yield match, time_ns


@dataclass(frozen=True, slots=True)
class Joined:
    """A name that no file has, and the file that was taken for it."""

    wanted: str
    found: str
    gap_ns: int

    @property
    def detail(self) -> str:
        """Return one sentence for a person."""
        return (
            f"{self.wanted!r} is no file of the batch; {self.found!r} is, {self.gap_ns / 1e6:+g} ms away, and was taken"
        )


class NearTimes:
    """Files by the time in their names; only those at most `tolerance_ns` away are found."""

    def __init__(self, paths: Iterable[str], tolerance_ns: int) -> None:
        """Index `paths`."""
        self._tolerance_ns = tolerance_ns
        by_name: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for path in paths if tolerance_ns > 0 else ():
            said = time_in_name(path)
            if said:
                by_name[said.around].append((said.time_ns, path))
        self._by_name = {around: sorted(times) for around, times in by_name.items()}
        self._folders: dict[str, list[str]] = defaultdict(list)  # what stands around a time in the last part alone
        for around in self._by_name:
            self._folders[around.rpartition("/")[2]].append(around)

    def find(self, wanted: str) -> Joined | None:
        """Return the file whose name differs from `wanted` only by the least time, of two equally near the earlier."""
        said = time_in_name(wanted) if self._by_name else None
        times = self._by_name.get(said.around, []) if said else []
        if said is None or not times:
            return None
        spot = bisect_left(times, (said.time_ns, ""))
        near = min(times[max(spot - 1, 0) : spot + 1], key=lambda item: abs(item[0] - said.time_ns))
        gap_ns = near[0] - said.time_ns
        return Joined(wanted, near[1], gap_ns) if abs(gap_ns) <= self._tolerance_ns else None

    def ending_in(self, wanted: str) -> Joined | None:
        """Return the file in any folder whose last parts are those of `wanted` but for the time, if it is only one."""
        said = time_in_name(wanted) if self._folders else None
        if said is None:
            return None
        around = [known for known in self._folders.get(said.around.rpartition("/")[2], ())
                  if f"/{known}".endswith(f"/{said.around}")]  # fmt: skip
        found = [self.find(known.removesuffix(said.around) + wanted) for known in around]
        near = [joined for joined in found if joined is not None]
        return Joined(wanted, near[0].found, near[0].gap_ns) if len(near) == 1 else None


class TimedPaths(tuple[str, ...]):
    """The files of a batch in which a name with a time may mean the file nearest in time; `joined` tells which did."""

    tolerance_ns: int
    joined: dict[str, Joined]

    @classmethod
    def of(cls, paths: Iterable[str], tolerance_ns: int) -> "TimedPaths":
        """Return `paths` with a tolerance."""
        found = cls(paths)
        found.tolerance_ns = tolerance_ns
        found.joined = {}
        return found


def as_timed(paths: Iterable[str], others: Iterable[str]) -> Iterable[str]:
    """Return `others` with the tolerance that `paths` have, if they have one; what is joined is noted in `paths`."""
    if not isinstance(paths, TimedPaths):
        return others
    found = TimedPaths.of(others, paths.tolerance_ns)
    found.joined = paths.joined
    return found


def _iso_ns(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return epoch_ns(moment, match[7] or "")


def _count_ns(match: re.Match[str]) -> int | None:
    whole, dot, part = match[1].partition(".")
    if dot:
        return int(whole) * 10**9 + int(part.ljust(9, "0"))
    return int(whole) * NS_OF_DIGITS[len(whole)]
