"""Say when a picture was taken and by which clock, from all who speak of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driveflow.flow.sections import BatchSection
from ingestion.metadata import PictureData

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class SourceTime:
    """A time in int64 nanoseconds since 1970 where the clock is utc or gps, else since that clock began."""

    captured_ns: int | None
    clock: str
    was_zero: bool = False  # a stamp was there, and it was that of a clock that nobody had set


def source_time(data: PictureData, said: Mapping[str, Any], section: BatchSection) -> SourceTime:
    """Return the time that the metadata says, else that of the labels (`said`).

    The batch's clock and epoch are for times whose source names no clock. Zero is a time only of a drive's own clock.
    """
    captured_ns = data.captured_ns if data.captured_ns is not None else said.get("captured_ns")
    stated = data.clock or said.get("clock") or ""
    clock = stated or section.clock or "none"
    if captured_ns is None:
        return SourceTime(None, "none")
    if captured_ns == 0 and clock != "drive_relative":
        return SourceTime(None, "none", was_zero=True)
    moved = captured_ns + (section.epoch_ns if not stated else 0)
    return SourceTime(moved, clock) if -_INT64 <= moved < _INT64 else SourceTime(None, "none")
