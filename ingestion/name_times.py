"""Say what the names of pictures tell: the times of a recording, the photo that others were made of."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.epoch import FIRST_DIGITAL_NS, FIRST_NS, LAST_NS
from driveflow.formats.near_time import NameTime, time_in_name
from driveflow.formats.path_index import folder_of
from ingestion.series import Series, reunited

_MIN_SEQUENCE: Final = 3
_USUAL_GAP_NS: Final = 60 * 10**9  # numbers that only look like times are farther from each other
_LEAST_GAP_NS: Final = 10**6  # no camera is faster; a number behind a date is then no part of a second
_COUNTER: Final = re.compile(r"\d{3,}")  # shorter numbers before a time tell cameras apart
_DIGITS: Final = re.compile(r"\d+")
_MADE_OF: Final = re.compile(r"^(.+?)(?:_[A-Za-z]{3,4})?\.rf\.[0-9A-Za-z]{8,}$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """What the name of a picture says: its recording, its time, and the clock: utc, or empty where no zone is said."""

    sequence: str
    captured_ns: int
    clock: str


def times_in_names(places: Iterable[str]) -> dict[str, NamedTime]:
    """Return what the names of three or more pictures say that lie together and differ in a time and a count of frames.

    Half of them or more are to come within a minute of the one before: numbers of photos that are as long as a stamp
    are not so near. A stamp counts from 1970 in UTC where it says 1990 or later; a date and a time of day are those of
    a clock on some wall, but for a Z at their end. `sequence` is the name without its time.

    >>> times_in_names(f"cam/170000000{second}000.jpg" for second in range(3))["cam/1700000001000.jpg"]
    NamedTime(sequence='cam', captured_ns=1700000001000000000, clock='utc')
    """
    said = {place: time for place in places if (time := _time(place))}
    groups: dict[Series, list[tuple[str, int]]] = defaultdict(list)
    for place, time in said.items():
        folder, _, name = time.around.rpartition("/")
        groups[folder, _uncounted(name)].append((place, time.time_ns))
    found: dict[str, NamedTime] = {}
    for (folder, name), members in reunited(groups).items():
        if len(members) >= _MIN_SEQUENCE and _follow_each_other({place: said[place].time_ns for place in members}):
            sequence = _sequence(folder, name)
            found |= {place: NamedTime(sequence, said[place].time_ns, _clock(said[place])) for place in members}
    return found


def _uncounted(around: str) -> str:
    """Return a name without the numbers that count its frames beside the time.

    >>> _uncounted("cam1_*_07.jpg"), _uncounted("frame_000123_*.jpg")
    ('cam1_*_#', 'frame_#_*')
    """
    before, _, after = around.partition("*")
    return f"{_COUNTER.sub('#', before)}*{_DIGITS.sub('#', after.rpartition('.')[0])}"


def _follow_each_other(times_of: Mapping[str, int]) -> bool:
    """Tell whether the times of places follow each other as pictures do.

    Where a time is that of several pictures of one folder it is one of whole seconds, or that of a whole recording.
    """
    times = np.unique([*times_of.values()])
    if len(times) < _MIN_SEQUENCE - 1:
        return False
    folders: dict[str, set[int]] = defaultdict(set)
    for place, time in times_of.items():
        folders[folder_of(place)].add(time)
    own = np.concatenate([np.diff(sorted(found)) for found in folders.values()])
    least_ns = np.median(own if len(own) else np.diff(times))  # cameras of one rig may look at nearly one moment
    usual_ns = _USUAL_GAP_NS if 2 * sum(map(len, folders.values())) > len(times_of) else 10**9
    return bool(least_ns >= _LEAST_GAP_NS and np.median(np.diff(times)) <= usual_ns)


def photo_of(place: str) -> str:
    """Return the name without ending of the photo that Roboflow made a picture of; nothing where it did not.

    >>> photo_of("train/images/night_0001_jpg.rf.1f3870be274f6c49b3e31a0c6728957f.jpg"), photo_of("night_0001.jpg")
    ('night_0001', '')
    """
    match = _MADE_OF.match(place.rpartition("/")[2].rpartition(".")[0])
    return match[1] if match else ""


def _time(place: str) -> NameTime | None:
    """Return the time in a name; digits in what Roboflow adds are none."""
    said = None if photo_of(place) else time_in_name(place)
    return said if said is not None and FIRST_NS <= said.time_ns < LAST_NS else None


def _clock(time: NameTime) -> str:
    return "utc" if time.is_utc and time.time_ns >= FIRST_DIGITAL_NS else ""


def _sequence(folder: str, name: str) -> str:
    """Return the folder, and what stands before and after the time in the name."""
    words = "_".join(part for part in re.split(r"[_\-. #*]+", name) if part)
    return "/".join(part for part in (folder, words) if part) or "timed"
