"""Read what CVAT says of one shape: where it is, how it is turned, and its attributes."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.mask_rle import around_rle
from driveflow.formats.shapes import Corners, around, around_turned, around_turned_ellipse, has_area
from driveflow.formats.xml_tree import XmlElement

BOX_TAGS: Final = ("box", "polygon", "ellipse", "mask", "cuboid")
OTHER_TAGS: Final = ("polyline", "points", "skeleton")
_NOT_BOXES: Final = frozenset(["polyline", "points", "skeleton", "tag"])
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_EXACT: Final = 2**53  # whole numbers up to here are all floats
_FRAME_STEP: Final = re.compile(r"step\s*=\s*(\d+)")


class ShapeError(ValueError):
    """A shape that cannot be used; its text says why."""


@dataclass(frozen=True, slots=True)
class CvatShape:
    """A drawn shape: a rectangle before its turn, of any other shape the box around it."""

    kind: str  # one of BOX_TAGS
    corners: Corners
    rotation_deg: float = 0.0

    @property
    def box(self) -> Corners:
        """Return the box around the turned shape."""
        return around_turned(self.corners, self.rotation_deg) if self.kind == "box" else self.corners


@dataclass(frozen=True, slots=True)
class CvatMeta:
    """The head of a file: the labels that can be boxes, the kinds of their attributes, and the task's frames."""

    labels: tuple[str, ...] = ()
    inputs: Mapping[tuple[str, str], str] = field(default_factory=dict)  # label and attribute -> checkbox, number ...
    tasks: int = 0
    is_video: bool = False
    name: str = ""
    video: str = ""
    start: int = 0
    stop: int | None = None
    step: int = 1
    width: int | None = None
    height: int | None = None


def read_meta(meta: XmlElement) -> CvatMeta:
    """Return what the element `meta` says of a task, a job or a project."""
    owner = meta.find("task") or meta.find("project") or meta.find("job") or meta
    tasks = (owner.find("tasks") or XmlElement("", {}, 0)).all("task") or [owner]
    labels = (owner.find("labels") or XmlElement("", {}, 0)).all("label")
    boxable = [label for label in labels if label.text_at("type") not in _NOT_BOXES and not label.text_at("parent")]
    first = tasks[0]
    step = _FRAME_STEP.search(first.text_at("frame_filter"))
    start, stop, size = (_whole(first.text_at(name)) for name in ("start_frame", "stop_frame", "size"))
    frame_step = max(int(step[1][:9]), 1) if step else 1
    if stop is None and size:
        stop = (start or 0) + (size - 1) * frame_step
    return CvatMeta(
        labels=tuple(dict.fromkeys(label.text_at("name") for label in boxable)),
        inputs=_inputs(labels),
        tasks=len(tasks),
        is_video=first.text_at("mode") == "interpolation",
        name=first.text_at("name"),
        video=first.text_at("source") or meta.text_at("source"),
        start=start or 0,
        stop=stop,
        step=frame_step,
        width=_whole(first.text_at("original_size", "width") or meta.text_at("original_size", "width")) or None,
        height=_whole(first.text_at("original_size", "height") or meta.text_at("original_size", "height")) or None,
    )


def read_shape(element: XmlElement) -> CvatShape:
    """Return the shape that a `box`, `polygon`, `ellipse`, `mask` or `cuboid` is.

    Raises:
        ShapeError: a number is missing or none, or the shape has no area.
    """
    values = element.attributes
    try:
        rotation_deg = float(values.get("rotation") or 0)
        shape = CvatShape(element.tag, _corners(element.tag, values, rotation_deg), rotation_deg)
    except (KeyError, ValueError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ShapeError(f"{element.tag}: {missing}"[:200]) from None
    if not has_area(shape.corners) or not has_area(shape.box):
        raise ShapeError(f"{element.tag}: no area")
    return shape


def read_attributes(element: XmlElement, shape: CvatShape, meta: CvatMeta, label: str) -> dict[str, Json]:
    """Return what else is said of the shape; an annotator's own attribute goes before CVAT's flag of that name."""
    found: dict[str, Json] = {}
    if "occluded" in element.attributes:
        found["occluded"] = element.attributes["occluded"] == "1"
    for name in ("source", "group_id"):
        if element.attributes.get(name, "manual") not in {"manual", "0", ""}:
            found[name] = element.attributes[name]
    for entry in element.all("attribute"):
        if name := entry.attributes.get("name", ""):
            found[name] = _value(entry.text, meta.inputs.get((label, name), ""))
    if shape.kind != "box":
        found["shape"] = shape.kind
    if shape.rotation_deg % 360:
        found["rotation_deg"] = shape.rotation_deg
    return found


def _inputs(labels: list[XmlElement]) -> dict[tuple[str, str], str]:
    return {
        (label.text_at("name"), entry.text_at("name")): entry.text_at("input_type")
        for label in labels
        for entry in _all(label, "attributes", "attribute")
    }


def _all(element: XmlElement, group: str, tag: str) -> list[XmlElement]:
    return [entry for found in element.all(group) for entry in found.all(tag)]


def _corners(tag: str, values: Mapping[str, str], rotation_deg: float) -> Corners:
    if tag == "box":
        return (float(values["xtl"]), float(values["ytl"]), float(values["xbr"]), float(values["ybr"]))
    if tag == "polygon":
        return around(_points(values["points"]))
    if tag == "ellipse":
        cx, cy, rx, ry = (float(values[name]) for name in ("cx", "cy", "rx", "ry"))
        return around_turned_ellipse((cx, cy), (rx, ry), rotation_deg)
    if tag == "mask":
        return _around_mask(values)
    names = [(f"x{corner}{side}", f"y{corner}{side}") for side in "12" for corner in ("tl", "bl", "tr", "br")]
    return around([(float(values[x]), float(values[y])) for x, y in names])


def _around_mask(values: Mapping[str, str]) -> Corners:
    """Return the box around the pixels of a mask: Datumaro gives them in a frame as large as the picture.

    Runs of nothing and something take turns along the rows of the frame; where they do not fill it, it is the box.
    """
    left, top, width, height = (float(values[name]) for name in ("left", "top", "width", "height"))
    runs = [int(run[:10]) for run in map(str.strip, values.get("rle", "").split(",")) if run.isdecimal()]
    tight = around_rle(runs, (int(width), int(height))) if sum(runs) == width * height else None
    if tight is None:
        return (left, top, left + width, top + height)
    y1, x1, y2, x2 = tight  # runs of COCO, which are read there, go down the columns
    return (left + x1, top + y1, left + x2, top + y2)


def _points(text: str) -> list[tuple[float, float]]:
    pairs = [point.split(",") for point in text.split(";") if point.strip()]
    points = [(float(x), float(y)) for x, y in pairs]
    if len(points) < 3:
        raise ValueError(f"{len(points)} points")
    return points


def _value(text: str, kind: str) -> Json:
    """Return the text of an attribute as what its label says it is."""
    if kind == "checkbox" and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if kind == "number":
        if _INTEGER.fullmatch(text) and abs(int(text)) < 2**63:  # a float has but 53 bits, and ids and times have 63
            return int(text)
        try:
            number = float(text)
        except ValueError:
            return text
        whole = number.is_integer() and abs(number) <= _EXACT
        return int(number) if whole else number if math.isfinite(number) else text
    return text


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None
