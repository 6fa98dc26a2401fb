"""Say when the frames of a recording were taken, by which clock, and what else lies near in time."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from driveflow.epoch import FIRST_NS
from driveflow.formats.recording_text import RecordedFrame, RecordingText

_INT64: Final = 2**63
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Timed:
    """A frame with its time: `stamp_ns` as messages know it, `captured_ns` by `clock`."""

    path: str
    camera: str
    topic: str
    sensor: str
    stamp_ns: int
    log_ns: int | None
    captured_ns: int | None
    clock: str


class Timeline(Generic[_Item]):
    """Things by time, of which the nearest can be asked for."""

    def __init__(self, items: Sequence[tuple[int, _Item]], within_ns: int) -> None:
        """Keep `items`; what is further away than `within_ns` is not near."""
        self._items = sorted(items, key=lambda item: item[0])
        self._within_ns = within_ns

    def nearest(self, stamp_ns: int) -> _Item | None:
        """Return what is nearest to `stamp_ns`, of two equally near the earlier."""
        at = bisect_left(self._items, stamp_ns, key=lambda item: item[0])
        near = self._items[max(at - 1, 0) : at + 1]
        if not near:
            return None
        stamp, item = min(near, key=lambda pair: abs(pair[0] - stamp_ns))
        return item if abs(stamp - stamp_ns) <= self._within_ns else None


def timed_frames(text: RecordingText) -> tuple[list[Timed], list[str]]:
    """Return the frames with their times, and notes on how they were found.

    The stamp of the header counts. Where it is zero the time of writing does, but for cameras whose clock begins at
    zero. The clock is utc for stamps after 1973, else what the drive counts from its own beginning.
    """
    own_clock = {frame.topic for frame in text.frames if 0 < frame.stamp_ns < FIRST_NS}
    written = 0
    frames: list[Timed] = []
    for frame in text.frames:
        stamp_ns = frame.stamp_ns
        if not stamp_ns and frame.log_ns is not None and frame.topic not in own_clock:
            stamp_ns, written = frame.log_ns, written + 1
        frames.append(_timed(frame, stamp_ns, text.start_ns))
    notes = []
    if written:
        notes.append(f"{written} pictures have no stamp of their own; the time they were written at counts.")
    return frames, notes


def _timed(frame: RecordedFrame, stamp_ns: int, start_ns: int | None) -> Timed:
    if start_ns is not None:
        captured_ns, clock = start_ns + stamp_ns, "utc"
    else:
        captured_ns, clock = stamp_ns, "utc" if stamp_ns >= FIRST_NS else "drive_relative"
    names = (frame.path, frame.camera or frame.topic, frame.topic, frame.sensor)
    if not -_INT64 <= captured_ns < _INT64:
        return Timed(*names, stamp_ns, frame.log_ns, None, "")
    return Timed(*names, stamp_ns, frame.log_ns, captured_ns, clock)
