"""Turn the labels of a Scalabel frame into boxes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.json_text import list_of, number_of, object_of, plain_object, text_of
from driveflow.formats.label_collector import BoxRow
from driveflow.formats.mask_rle import around_rle
from driveflow.formats.shapes import Corners, around

_AREAS: Final = ("lane", "area", "drivable")
_LAMPS: Final = frozenset(["traffic light", "traffic_light"])
_FLAGS: Final = ("crowd", "ignored", "ignore")
_NO_COLOUR: Final = frozenset(["NA", "none", ""])
_CURVE_STEPS: Final = 64


def corners_of(label: Mapping[str, object]) -> tuple[Corners | None, str]:
    """Return what a label draws and how: a box, a mask, a polygon; nothing and why where that is no box.

    The corners of box2d are taken as edges, as they were drawn: x2 is where the box ends, not its last pixel.
    """
    box = _any(label, "box2d", "box_2d")
    if box is not None:
        sides = [number_of(object_of(box).get(side)) for side in ("x1", "y1", "x2", "y2")]
        x1, y1, x2, y2 = (side if side is not None else float("nan") for side in sides)
        return (x1, y1, x2, y2), ""
    if category_of(label).lower().startswith(_AREAS):
        return None, "lanes and areas of the road"
    mask = object_of(label.get("rle"))
    if mask:
        counts = mask.get("counts")
        around_mask = around_rle(counts if isinstance(counts, str) else list_of(counts), list_of(mask.get("size")))
        return around_mask or (0.0, 0.0, 0.0, 0.0), "mask"
    points = [point for part in list_of(_any(label, "poly2d", "poly_2d")) for point in _outline(object_of(part))]
    if points:
        return around(points), "polygon"
    if _any(label, "poly2d", "poly_2d"):
        return None, "open lines"
    return None, "labels with a cuboid, a graph or no shape at all"


def category_of(label: Mapping[str, object]) -> str:
    """Return the category of a label, empty where it has none."""
    return text_of(label.get("category"))


def row_of(
    label: Mapping[str, object], corners: Corners, shape: str, ignore_as: Mapping[str, str], *, tracked: bool
) -> BoxRow:
    """Return the box of a label.

    `ignore_as` names categories that are ignore regions of a class; they keep their name as an attribute. `tracked`:
    the label's id is that of one object through the frames of a video.
    """
    own_id, name = text_of(label.get("id")), category_of(label)
    more: dict[str, Json] = {flag: True for flag in _FLAGS if label.get(flag) is True}
    more |= {"manualShape": False} if label.get("manualShape") is False else {}
    more |= {"category": name} if name in ignore_as else {}
    more |= {"shape": shape} if shape else {}
    more |= {"track_id": own_id} if tracked and own_id else {}
    attributes = object_of(label.get("attributes"))
    try:
        said = tuple((key, type(value), value) for key, value in attributes.items())
        text, ignore = _words(said, tuple(more.items()), is_lamp=name in _LAMPS)
    except TypeError:  # a list or an object among the values
        text, ignore = _words.__wrapped__(said, tuple(more.items()), is_lamp=name in _LAMPS)
    x1, y1, x2, y2 = corners
    return {
        "own_id": own_id,
        "class_name": ignore_as.get(name, name),
        "x1": x1,
        "y1": y1,
        "x2": x2,
        "y2": y2,
        "ignore": ignore or name in ignore_as,
        "attributes": text,
        "score": number_of(label.get("score")),
    }


@lru_cache(maxsize=4096)  # labels by the million have few different attributes
def _words(
    said: tuple[tuple[str, type, object], ...], more: tuple[tuple[str, Json], ...], *, is_lamp: bool
) -> tuple[str, bool]:
    """Return the attributes of a label as canonical JSON, and whether they say that it is a region to ignore."""
    found = {attribute_name(key): value for key, value in plain_object({key: value for key, _, value in said}).items()}
    if not is_lamp and text_of(found.get("trafficLightColor")) in _NO_COLOUR:
        found.pop("trafficLightColor", None)
    found = {key: value for key, value in found.items() if key not in _FLAGS or value}
    found |= dict(more)
    return canonical_json(found), any(flag in found for flag in _FLAGS)


def attribute_name(name: str) -> str:
    """Return the name under which an attribute of a label is read: of some only the small letters count."""
    return name.lower() if name.lower() in {"truncated", "occluded", *_FLAGS} else name


def _any(label: Mapping[str, object], *names: str) -> object:
    return next((label[name] for name in names if label.get(name) is not None), None)


def _outline(part: Mapping[str, object]) -> list[tuple[float, float]]:
    """Return points of a closed outline that box it, those of its curves too; nothing where it is an open line."""
    if part.get("closed") is False:
        return []
    numbers = [[number_of(value) for value in list_of(vertex)[:2]] for vertex in list_of(part.get("vertices"))]
    points = [(pair[0], pair[1]) for pair in numbers if len(pair) == 2 and pair[0] is not None and pair[1] is not None]
    kinds = text_of(part.get("types"))
    if "C" not in kinds or len(kinds) != len(points):
        return points
    found: list[tuple[float, float]] = []
    for place, kind in enumerate(kinds):
        found += [points[place]] if kind != "C" else []
        if kinds[place : place + 3] == "LCC":
            found += _curve([points[(place + step) % len(points)] for step in range(4)])
    return found


def _curve(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points of the cubic curve from the first of four points to the last, the others pull it."""
    found = []
    for step in range(1, _CURVE_STEPS):
        t = step / _CURVE_STEPS
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        x, y = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
        found.append((x, y))
    return found
