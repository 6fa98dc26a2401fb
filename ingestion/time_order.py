"""Follow the times of each drive: where they go back or stop for long, it is another recording from there on.

Parts are called "name", "name~2", "name~3" in the order in which they were recorded, so that frames that come later
rename nothing before them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from driveflow.formats.label_set import LabelProblem

_NUMBERED: Final = re.compile(r"(.*?)(\d+)(\.[^.]*)?", re.DOTALL)
_PIECES: Final = re.compile(r"(\D*)(\d*)")
_UNNUMBERED, _LOG = "\0", "\1"  # no name has these
_DIGITS: Final = 40  # of a number that is looked at
_BACK_NS: Final = 10**9  # frames that are less out of order are jitter, not a clock that was set
_MIN_RUN: Final = 3  # frames in order before a step back means anything: names of two say little of their order
_MOST_ODD: Final = 0.1  # of the steps so far, go back or to another clock: beyond, names are in no order of time
_Order: TypeAlias = tuple[tuple[tuple[str, int], ...], int]


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture in its drive; `stated`: somebody named that drive, and it is not cut."""

    place: str
    drive: str
    camera: str
    captured_ns: int | None
    clock: str
    stated: bool = False
    recorded: tuple[str, int] | None = None  # the recording and its number in it, where that is known


@dataclass(slots=True)
class TimeOrder:
    """The drive of each place, a row for every jump, and what a person should know."""

    drives: dict[str, str] = field(default_factory=dict)
    jumps: list[LabelProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Timed:
    """A picture with a time; `run` counts how often the clock went back or became another before it."""

    time_ns: int
    place: str
    clock: str
    run: int

    @property
    def order(self) -> tuple[int, int, str]:
        return self.run, self.time_ns, self.place


def follow_times(shots: Iterable[Shot], max_gap_s: float) -> TimeOrder:
    """Return the drives of `shots`, cut where time jumps.

    A clock has gone back where a picture is more than a second older than the one recorded before it, by its number or
    by that at the end of its name; where it is of another clock, that is a jump too. Where names are not numbered, or
    numbers are in no order of time, times alone say the order. A gap is more than `max_gap_s` (0: none is) without a
    picture of any camera. Pictures without a time stay with the one before them. Drives that somebody stated are not
    cut: their jumps are listed.
    """
    found = TimeOrder()
    by_drive: dict[str, list[Shot]] = defaultdict(list)
    for shot in shots:
        by_drive[shot.drive].append(shot)
        found.drives[shot.place] = shot.drive
    for drive, members in by_drive.items():
        if sum(shot.captured_ns is not None for shot in members) > 1:
            _Drive(drive, members, round(max_gap_s * 10**9), found).follow()
    return found


@dataclass(slots=True)
class _Drive:
    """One drive as it is followed."""

    name: str
    members: Sequence[Shot]
    max_gap_ns: int
    found: TimeOrder
    parts: int = 1

    def follow(self) -> None:
        ordered = sorted(self._timed(), key=lambda item: item.order)
        clocks = {item.clock for item in ordered}
        if len({(item.run, item.clock) for item in ordered}) > len({item.run for item in ordered}):
            said = ", ".join(sorted(clocks))
            self.found.notes.append(f"Drive {self.name} has times of several clocks ({said}); not compared.")
            return
        part_of = {ordered[0].place: self.name}
        for before, after in pairwise(ordered):
            if self._is_cut(before, after):
                self._cut(before, after)
            part_of[after.place] = self._part()
        self.found.drives.update(part_of if not self._is_stated() else {})
        self._keep_untimed_together()

    def _is_stated(self) -> bool:
        return any(shot.stated for shot in self.members)

    def _part(self) -> str:
        return self.name if self.parts == 1 else f"{self.name}~{self.parts}"

    def _is_cut(self, before: _Timed, after: _Timed) -> bool:
        return after.run != before.run or 0 < self.max_gap_ns < after.time_ns - before.time_ns

    def _cut(self, before: _Timed, after: _Timed) -> None:
        self.parts += 1
        step_ns = after.time_ns - before.time_ns
        what = f"{step_ns / 1e9:+.3f} s from {before.time_ns} ({before.place}) to {after.time_ns}"
        then = "it is stated and not cut" if self._is_stated() else f"from here on it is {self._part()}"
        detail = f"drive {self.name}: {what}; {then}"
        self.found.jumps.append(LabelProblem(after.place, "time_jump", detail))

    def _timed(self) -> list[_Timed]:
        """Return the pictures with a time, with the runs that their numbers tell."""
        groups: dict[tuple[str, str], list[tuple[_Order, Shot]]] = defaultdict(list)
        for shot in self.members:
            if shot.captured_ns is not None:
                stem, order = _place_in_order(shot)
                groups[shot.camera, stem].append((order, shot))
        found: list[_Timed] = []
        for (_, stem), numbered in groups.items():
            ordered = sorted(numbered, key=lambda item: (item[0], item[1].place))
            times = [(shot.captured_ns or 0, shot.clock) for _, shot in ordered]
            runs = _runs(times) if stem != _UNNUMBERED else [0] * len(times)
            found += [
                _Timed(time, shot.place, clock, run)
                for (time, clock), run, (_, shot) in zip(times, runs, ordered, strict=True)
            ]
        return found

    def _keep_untimed_together(self) -> None:
        """Leave pictures without a time in the part of the one before them by name."""
        part, camera = self.name, ""
        for shot in sorted(self.members, key=lambda shot: (shot.camera, *_place_in_order(shot), shot.place)):
            if shot.captured_ns is None:
                self.found.drives[shot.place] = part if shot.camera == camera else self.name
            part, camera = self.found.drives[shot.place], shot.camera


def _runs(times: Sequence[tuple[int, str]]) -> list[int]:
    """Return how often the clock went back or changed before each time, by what came before, so that it stays so."""
    runs = [0]
    odd_steps, since_cut = 0, 1
    for number, ((before, old), (after, new)) in enumerate(pairwise(times), 1):
        odd_steps += after < before or old != new
        back = old == new and before - after > _BACK_NS and since_cut >= _MIN_RUN
        is_jump = (back or old != new) and odd_steps <= max(1.0, _MOST_ODD * number)
        since_cut = 1 if is_jump else since_cut + 1
        runs.append(runs[-1] + is_jump)
    return runs


def _place_in_order(shot: Shot) -> tuple[str, _Order]:
    """Return what a picture is numbered among, and its place there: parts of a log follow each other by their names."""
    if shot.recorded is not None:
        recording, number = shot.recorded
        return _LOG, (_natural(recording), number)
    match = _NUMBERED.fullmatch(shot.place)
    return (match[1], ((), int(match[2][-_DIGITS:]))) if match else (_UNNUMBERED, ((), 0))


def _natural(text: str) -> tuple[tuple[str, int], ...]:
    """Return `text` so that numbers in it sort as numbers."""
    return tuple((words, int(digits[-_DIGITS:] or 0)) for words, digits in _PIECES.findall(text))
