"""Columns of metadata that seem to say by another name what a known one says: nothing is measured by an attribute."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ingestion.capture_times import COUNTS, MOMENT

_TIME: Final = (*COUNTS, MOMENT)
_MEANT: Final[Mapping[str, Collection[str]]] = {
    **dict.fromkeys(("timestamp", "timestamp_ns", "timestamp_us", "timestamp_ms", "timestamp_s"), _TIME),
    **dict.fromkeys(("time", "time_ns", "time_us", "time_ms", "time_s", "datetime", "stamp"), _TIME),
    **dict.fromkeys(("latitude", "gps_lat", "gps_latitude"), ("lat",)),
    **dict.fromkeys(("longitude", "lng", "gps_lon", "gps_longitude"), ("lon",)),
    **dict.fromkeys(("speed", "velocity", "speed_kmh", "speed_mph"), ("speed_mps",)),
    **dict.fromkeys(("heading", "bearing", "yaw"), ("heading_deg",)),
}


def misnamed(path: str, header: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each column of the table at `path` that is an attribute, and may not be meant as one."""
    for name in header:
        meant = _MEANT.get(name.lower(), ())
        if meant and not set(meant) & set(header):
            known = " or ".join(meant)
            yield f"{path}: column {name!r} is read as an attribute; what it seems to say is read from {known}."
