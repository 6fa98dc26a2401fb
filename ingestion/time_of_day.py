"""Check what is said of the time of day against the sun and against the picture; nothing is changed by it.

The height of the sun is never stored: it follows from place and time, which are, and the last digit of a sine must not
be part of what a frame is. A frame without a tag gets none.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.errors import BrokenDataError
from driveflow.formats.label_set import LabelSet
from driveflow.images.decode import decode_gray_reduced
from driveflow.sun import sun_elevation_deg
from driveflow.time_of_day import CLOCKS, GREY, SUN_DEG, is_tagged, tags_in
from ingestion.metadata import Metadata

_LEAST_SIDE_PX: Final = 64


@dataclass(frozen=True, slots=True)
class Sighting:
    """One picture: what its batch calls it, where and when it was taken, and how bright it is where that was looked at.

    `attributes` is the canonical JSON of its frame.
    """

    frame_id: str
    batch: str
    path: str
    attributes: str
    lat: float | None
    lon: float | None
    captured_ns: int | None
    clock: str
    brightness: float | None


def check_times_of_day(sightings: Iterable[Sighting]) -> list[dict[str, str]]:
    """Return a row of CONFLICTS for each tag that the sun or the picture speaks against; each frame is heard once."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for sighting in sightings:
        if not is_tagged(sighting.attributes):
            continue
        for key, tag in tags_in(json.loads(sighting.attributes)).items():
            for rule, value, unit, limits in _measured(sighting, tag):
                if not limits[0] <= value <= limits[1]:
                    row = _row(sighting, key, rule, {unit: round(value, 1)})
                    found.setdefault((sighting.frame_id, key, rule), row)
    return list(found.values())


def _measured(sighting: Sighting, tag: str) -> Sequence[tuple[str, float, str, tuple[float, float]]]:
    found = []
    height = _sun_height(sighting)
    if height is not None:
        found.append(("sun", height, "sun_elevation_deg", SUN_DEG[tag]))
    if sighting.brightness is not None:
        found.append(("brightness", sighting.brightness, "brightness", GREY[tag]))
    return found


def _sun_height(sighting: Sighting) -> float | None:
    if sighting.lat is None or sighting.lon is None or sighting.captured_ns is None or sighting.clock not in CLOCKS:
        return None
    return sun_elevation_deg(sighting.lat, sighting.lon, sighting.captured_ns)


def _row(sighting: Sighting, key: str, rule: str, measured: Mapping[str, Json]) -> dict[str, str]:
    said = json.loads(sighting.attributes)[key]
    return {
        "frame_id": sighting.frame_id,
        "kind": "attribute",
        "left": canonical_json({"batch": sighting.path, "key": key, "value": said}),
        "right": canonical_json({"batch": sighting.path, "key": key, **measured}),
        "rule": rule,
        "winner": "left",
        "where": f"{sighting.batch}/{sighting.path}",
    }


def brightness_of(data: bytes) -> float | None:
    """Return the mean grey of a picture, 0 to 255, from a decode at an eighth of its size; None where it has none."""
    try:
        return float(decode_gray_reduced(data, _LEAST_SIDE_PX).mean())
    except BrokenDataError:
        return None


def tagged_places(labels: LabelSet, metadata: Metadata, defaults: Mapping[str, str]) -> Container[str]:
    """Return the places of pictures that a label file, the metadata or the batch itself gives a tag to check."""
    if tags_in(defaults):
        return _EVERYWHERE
    listed = zip(labels.images["path"].to_pylist(), labels.images["attributes"].to_pylist(), strict=True)
    tagged = {path for path, text in listed if is_tagged(text)}
    return tagged | {place for place, row in metadata.rows.items() if tags_in(row.attributes)}


class _Everywhere:
    """All places."""

    def __contains__(self, place: object) -> bool:
        return True


_EVERYWHERE: Final = _Everywhere()
