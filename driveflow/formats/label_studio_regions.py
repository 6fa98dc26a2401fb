"""Turn the results of Label Studio into boxes: percent of the picture, turned about the top left corner."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.json_text import list_of, number_of, object_of, plain, text_of
from driveflow.formats.shapes import Corners, around, around_turned_ellipse, has_area

_LABELS: Final = ("rectanglelabels", "ellipselabels", "polygonlabels", "brushlabels", "keypointlabels", "labels")
_SAID: Final = ("choices", "text", "number", "rating", "taxonomy", "datetime", "pairwise", "ranker")
_MASKS: Final = frozenset(["rle", "imageDataURL", "bitmasklabels"])
MASKS: Final = "masks of a brush"
"""What a sheet calls outlines of objects that were painted: what was there, but no box of it."""
Value = Mapping[str, object]
Size = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Region:
    """One shape; `reason` and `detail` say why it makes no box."""

    own_id: str
    names: tuple[str, ...]
    corners: Corners = (0.0, 0.0, 0.0, 0.0)
    normalised: bool = False
    attributes: Mapping[str, Json] = field(default_factory=dict)
    score: float | None = None
    reason: str = ""
    detail: str = ""


@dataclass(slots=True)
class Sheet:
    """What was drawn in one picture: its size in pixels where a result says it, regions, and words about the whole."""

    size: Size | None = None
    regions: list[Region] = field(default_factory=list)
    attributes: dict[str, Json] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def read_results(results: Sequence[Value]) -> Sheet:
    """Return what `results`, all about one picture, say; those of one id are one region."""
    sheet = Sheet(size=next(filter(None, map(_size, results)), None))
    groups: dict[str, list[Value]] = {}
    for number, result in enumerate(results):
        groups.setdefault(text_of(result.get("id")) or f"#{number}", []).append(result)
    for key, group in groups.items():
        drawn = next(filter(is_shape, group), None)
        if drawn is None:
            sheet.attributes |= _said(group)
            continue
        kind = _kind(object_of(drawn.get("value")))
        if kind in {"rectangle", "ellipse", "polygon"}:
            sheet.regions.append(_region(key if key[0] != "#" else "", drawn, group, sheet.size))
        else:
            sheet.left_out[kind] += 1
    return sheet


def is_shape(result: Value) -> bool:
    """Tell whether a result draws something."""
    return bool(_kind(object_of(result.get("value"))))


def _kind(value: Value) -> str:
    """Return what a value draws: one of the three shapes that make boxes, or the name of what does not."""
    if not _MASKS.isdisjoint(value) or text_of(value.get("format")) == "rle":
        return MASKS
    if "sequence" in value:
        return "tracks in videos"
    if value.keys() >= {"radiusX", "radiusY"}:
        return "ellipse"
    if "points" in value or "vertices" in value:
        return "polygon" if value.get("closed", True) is not False and "points" in value else "open lines"
    if value.keys() >= {"x", "y", "width", "height"}:
        return "rectangle"
    return "points" if value.keys() >= {"x", "y"} else ""


def _size(result: Value) -> Size | None:
    width, height = number_of(result.get("original_width")), number_of(result.get("original_height"))
    usable = width and height and 0 < width < 2**31 and 0 < height < 2**31
    return (width, height) if usable and width and height else None


def _said(group: Iterable[Value]) -> dict[str, Json]:
    """Return what results without a shape say (choices, text, ratings) under the names of their controls."""
    said: dict[str, Json] = {}
    for result in group:
        value = object_of(result.get("value"))
        for key in _SAID:
            found = plain(value.get(key))
            if found is not None and text_of(result.get("from_name")):
                single = isinstance(found, list) and len(found) == 1
                said[text_of(result.get("from_name"))] = found[0] if single and isinstance(found, list) else found
    return said


def _region(key: str, drawn: Value, group: Sequence[Value], size: Size | None) -> Region:
    values = [object_of(result.get("value")) for result in group]
    names = dict.fromkeys(text_of(name) for value in values for kind in _LABELS for name in list_of(value.get(kind)))
    value = object_of(drawn.get("value"))
    kind = _kind(value)
    turn = number_of(value.get("rotation")) or 0.0
    said = _said(group)
    said |= {"rotation_deg": turn} if turn % 360 and kind != "polygon" else {}
    said |= {"shape": kind} if kind != "rectangle" else {}
    said |= _meta(drawn.get("meta"))
    found = Region(key, tuple(filter(None, names)), attributes=said, score=number_of(drawn.get("score")))
    own = _size(drawn) or size
    if number_of(drawn.get("image_rotation")) or 0:
        return _wrong(found, "label_turned_view", "it was drawn on a picture that was turned in the labeling tool")
    if turn % 360 and own is None:
        return _wrong(found, "label_bad_box", "it is turned, and the size of the picture is not said")
    if not found.names:
        return _wrong(found, "label_no_class", "it has no label")
    corners = _corners(kind, value, turn, own or (1.0, 1.0))
    if corners is None or not has_area(corners):
        return _wrong(found, "label_bad_box", f"{plain(value)!s:.120} is no shape with an area")
    return Region(key, found.names, corners, own is None, said, found.score)


def _meta(meta: object) -> dict[str, Json]:
    """Return what a program put beside a region under its own keys; what a person wrote there stays `meta`."""
    if not isinstance(meta, dict):
        return {"meta": plain(meta)} if meta else {}
    own = {str(key): plain(value) for key, value in meta.items() if key != "text"}
    return own | ({"meta": {"text": plain(meta["text"])}} if meta.get("text") else {})


def _wrong(region: Region, reason: str, detail: str) -> Region:
    return Region(region.own_id, region.names, reason=reason, detail=detail)


def _corners(kind: str, value: Value, turn: float, size: Size) -> Corners | None:
    """Return the box around a shape, in pixels of a picture of `size`."""
    wide, high = size[0] / 100, size[1] / 100
    if kind == "polygon":
        pairs = [[number_of(number) for number in list_of(point)[:2]] for point in list_of(value.get("points"))]
        points = [
            (pair[0] * wide, pair[1] * high)
            for pair in pairs
            if len(pair) == 2 and pair[0] is not None and pair[1] is not None
        ]
        return around(points) if len(points) > 2 else None
    sides = ("x", "y", "width", "height") if kind == "rectangle" else ("x", "y", "radiusX", "radiusY")
    numbers = [number_of(value.get(side)) for side in sides]
    if any(number is None for number in numbers):
        return None
    x, y, across, down = (number or 0.0 for number in numbers)
    if kind == "ellipse":
        return around_turned_ellipse((x * wide, y * high), (across * wide, down * high), turn)
    return _about_corner((x * wide, y * high), (across * wide, down * high), turn)


def _about_corner(corner: tuple[float, float], size: Size, turn: float) -> Corners:
    """Return the box around a rectangle that is turned clockwise about its top left corner.

    >>> [round(value, 6) for value in _about_corner((10.0, 20.0), (4.0, 2.0), 90)]
    [8.0, 20.0, 10.0, 24.0]
    """
    x, y = corner
    if turn % 360 == 0:
        return (x, y, x + size[0], y + size[1])
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    right, down = (size[0] * cos, size[0] * sin), (-size[1] * sin, size[1] * cos)
    return around(
        [
            (x, y),
            (x + right[0], y + right[1]),
            (x + down[0], y + down[1]),
            (x + right[0] + down[0], y + right[1] + down[1]),
        ]
    )
