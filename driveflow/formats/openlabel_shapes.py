"""Turn the object data of OpenLABEL into boxes."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.json_text import list_of, number_of, object_of, plain, text_of
from driveflow.formats.shapes import Corners, around, around_turned, has_area

_GEOMETRY: Final = ("bbox", "rbbox", "poly2d")
"""What makes a box, the most exact first: where an object has the first, its others draw the same thing again."""

_NO_BOXES: Final[Mapping[str, str]] = {
    "cuboid": "cuboids",
    "mat": "masks, pictures and matrices",
    "binary": "masks, pictures and matrices",
    "image": "masks, pictures and matrices",
    "point2d": "points",
    "point3d": "points",
    "poly3d": "lines and meshes in space",
    "mesh": "lines and meshes in space",
}
_VALUES: Final = ("boolean", "num", "text", "vec")
_SCORES: Final = ("score", "confidence")
_FLAGS: Final = frozenset(["ignore", "ignored", "crowd", "iscrowd"])
SPELLINGS: Final[Mapping[str, str]] = {"Occluded": "occluded", "Truncated": "truncated"}
"""Names of values that tools write in another way, and how they are read."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One shape of an object in one frame; no corners where they make no box, then `detail` says why."""

    kind: str
    name: str
    own_id: str
    stream: str  # the sensor that it is drawn in, empty where the format does not say
    uri: str  # the picture, where the shape itself names it
    corners: Corners | None
    attributes: Mapping[str, Json]
    score: float | None
    ignore: bool
    detail: str = ""


def drawn_in(data: Mapping[str, object], *, top_left: bool, left_out: Counter[str]) -> list[Drawn]:
    """Return the shapes of one object's data that make boxes; count in `left_out` what makes none.

    `top_left`: boxes are given by that corner, as before VCD 4.3, not by their centre.
    """
    left_out.update(what for kind, what in _NO_BOXES.items() for _ in list_of(data.get(kind)))
    found = [
        drawn
        for kind in _GEOMETRY
        for shape in list_of(data.get(kind))
        if (drawn := _drawn(kind, object_of(shape), top_left=top_left, left_out=left_out))
    ]
    best: dict[tuple[str, str], str] = {}
    for one in found:  # the most exact kinds come first
        best.setdefault(_where(one), one.kind)
    return [one for one in found if one.kind == best[_where(one)]]


def values_of(data: Mapping[str, object]) -> dict[str, Json]:
    """Return the named values (boolean, num, text, vec) of an object, a shape or a frame."""
    said: dict[str, Json] = {}
    for kind in _VALUES:
        for entry in map(object_of, list_of(data.get(kind))):
            name, value = text_of(entry.get("name")), plain(entry.get("val"))
            if name and value is not None:
                said[SPELLINGS.get(name, name)] = value
    return said


def _where(one: Drawn) -> tuple[str, str]:
    return one.stream, one.uri


def _drawn(kind: str, shape: Mapping[str, object], *, top_left: bool, left_out: Counter[str]) -> Drawn | None:
    values = [number_of(value) for value in list_of(shape.get("val"))]
    numbers = [value for value in values if value is not None]
    attributes = values_of(object_of(shape.get("attributes")))
    stream = text_of(shape.get("coordinate_system")) or text_of(attributes.pop("stream", shape.get("stream")))
    if kind == "poly2d":
        what = _no_outline(shape, values)
        if what:
            left_out[what] += 1
            return None
        corners = around(list(zip(numbers[::2], numbers[1::2], strict=True)))
    else:
        corners = _rectangle(values, top_left=top_left)
    ignore = any(attributes.get(name) is True for name in _FLAGS)
    if kind == "rbbox" and len(numbers) == 5:
        attributes["rotation_deg"] = round(math.degrees(numbers[4]), 6)
    if kind == "poly2d":
        attributes["shape"] = "polygon"
    return Drawn(
        kind=kind,
        name=text_of(shape.get("name")),
        own_id=text_of(shape.get("uid")),
        stream=stream,
        uri=text_of(shape.get("uri")),
        corners=corners if has_area(corners) else None,
        attributes=attributes,
        score=_score(shape, attributes),
        ignore=ignore,
        detail=f"{kind} {plain(shape.get('val'))!s:.80} is no box with an area",
    )


def _score(shape: Mapping[str, object], attributes: dict[str, Json]) -> float | None:
    """Take the score out of `attributes`, or from the shape itself; a number beyond 0 to 1 is none, and stays."""
    for name in _SCORES:
        score = number_of(attributes.get(name, shape.get(name)))
        if score is not None and 0 <= score <= 1:
            attributes.pop(name, None)
            return score
    return None


def _rectangle(values: Sequence[float | None], *, top_left: bool) -> Corners:
    if len(values) not in {4, 5} or any(value is None for value in values):
        return (0.0, 0.0, 0.0, 0.0)
    x, y, width, height, *turn = (value or 0.0 for value in values)
    left, top = (x, y) if top_left else (x - width / 2, y - height / 2)
    corners = (left, top, left + width, top + height)
    if turn and has_area(corners):
        return around_turned(corners, math.degrees(turn[0]))
    return corners


def _no_outline(shape: Mapping[str, object], values: Sequence[float | None]) -> str:
    """Return what a poly2d is where that is no closed outline in pixels."""
    if text_of(shape.get("mode")) not in {"", "MODE_POLY2D_ABSOLUTE"}:
        return "outlines in a code of differences"
    if shape.get("closed") is False:
        return "open lines"
    usable = len(values) >= 6 and len(values) % 2 == 0 and None not in values
    return "" if usable else "outlines without three points"


def frames_in(intervals: object) -> Iterator[tuple[int, int]]:
    """Yield first and last frame of each interval; both belong to it."""
    for entry in map(object_of, list_of(intervals)):
        first, last = number_of(entry.get("frame_start")), number_of(entry.get("frame_end"))
        if first is not None and last is not None:
            yield int(first), int(last)
