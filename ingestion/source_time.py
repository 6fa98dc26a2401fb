"""Say when a picture was taken and by which clock, from all who speak of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driveflow.flow.sections import BatchSection
from driveflow.images.exif import Exif
from ingestion.metadata import PictureData
from ingestion.name_times import NamedTime

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class OwnTime:
    """When a picture says itself that it was taken; no clock: in a zone that it does not say."""

    captured_ns: int
    clock: str
    told_by: str


def own_time(exif: Exif, named: NamedTime | None) -> OwnTime | None:
    """Return the time that the EXIF of a picture says, else that of its name."""
    if exif.captured_ns is not None:
        return OwnTime(exif.captured_ns, exif.clock, "EXIF")
    return OwnTime(named.captured_ns, named.clock, "their names") if named else None


@dataclass(frozen=True, slots=True)
class SourceTime:
    """A time in int64 nanoseconds since 1970 where the clock is utc or gps, else since that clock began."""

    captured_ns: int | None
    clock: str
    was_zero: bool = False  # a stamp was there, and it was that of a clock that nobody had set
    own: OwnTime | None = None  # what it was made of, where that is the picture itself
    is_named: bool = False  # its source names the clock, so that those of the batch count for nothing


def source_time(data: PictureData, said: Mapping[str, Any], own: OwnTime | None, section: BatchSection) -> SourceTime:
    """Return the time that the metadata says, else that of the labels (`said`), else that of the picture itself.

    The batch's clock and epoch are for times whose source names no clock. Zero is a time only of a drive's own clock.
    """
    captured_ns = data.captured_ns if data.captured_ns is not None else said.get("captured_ns")
    stated = data.clock or said.get("clock") or ""
    if captured_ns is not None or stated or own is None:
        own = None
    else:
        captured_ns, stated = own.captured_ns, own.clock
    clock = stated or section.clock or "none"
    if captured_ns is None:
        return SourceTime(None, "none")
    if captured_ns == 0 and clock != "drive_relative":
        return SourceTime(None, "none", was_zero=True)
    moved = captured_ns + (section.epoch_ns if not stated else 0)
    return (
        SourceTime(moved, clock, own=own, is_named=bool(stated))
        if -_INT64 <= moved < _INT64
        else SourceTime(None, "none")
    )


def time_notes(times: Sequence[SourceTime], section: BatchSection) -> list[str]:
    """Note how many pictures tell their time themselves, how many of these not in which zone, and clocks never set.

    What the batch says of clocks and counts for nothing is noted too.
    """
    notes = []
    named = Counter(time.clock for time in times if time.is_named)
    if named and (section.clock not in {"", *named} or section.epoch_ns):
        listed = ", ".join(f"{count} {clock}" for clock, count in sorted(named.items()))
        notes.append(f"`clock` and `epoch_ns` of the batch count for no time whose source has a clock: {listed}.")
    told = [time.own for time in times if time.own is not None]
    for by in sorted({own.told_by for own in told}):
        clocks = [own.clock for own in told if own.told_by == by]
        unzoned = (
            f", {clocks.count('')} of them of no time zone: they count as if they were UTC, and of no clock;"
            " `clock: utc` and `epoch_ns` of the batch say how far off they are"
        )
        notes.append(f"Pictures with a time by {by}: {len(clocks)}{unzoned if '' in clocks else ''}.")
    zeros = sum(time.was_zero for time in times)
    return [*notes, f"{zeros} stamps of zero are of a clock that was not set: no times."] if zeros else notes
