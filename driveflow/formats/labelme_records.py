"""Decode one LabelMe file, JSON or XML, without the picture that may be in it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from driveflow.canonical import Json
from driveflow.formats.box_cap import MOST_BOXES
from driveflow.formats.coco_records import plain_json
from driveflow.formats.json_items import JsonItems
from driveflow.formats.label_set import LabelProblem, ProblemList
from driveflow.formats.shapes import Corners, around, has_area
from driveflow.formats.xml_tree import XmlElement, XmlError, iter_xml

OLD_SIGNS: Final = (b"<imagesize", b"<polygon", b"<sourceImage", b"<segm>", b"<deleted")
"""What the XML of the old web tool has and Pascal VOC, whose root has the same name, has not."""
_HEADS: Final = frozenset(["folder", "filename", "imagesize"])
_MAX_SHAPE_BYTES: Final = 16 << 20
_NO_BOXES: Final = frozenset(["point", "points", "line", "linestrip"])
_BY_CORNERS: Final = frozenset(["oriented_rectangle", "quadrilateral", "cuboid"])
"""What newer versions of the tool, and its successors, draw by all corners."""
_KNOWN: Final = frozenset(["rectangle", "polygon", "circle", "mask", "rotation", *_BY_CORNERS])


class DocumentError(ValueError):
    """A file that cannot be read; `line` where that is known, and how many boxes seem to be in it."""

    def __init__(self, detail: str, line: int | None, boxes: int = 0) -> None:
        """Keep what is wrong, the line and the count."""
        super().__init__(detail)
        self.line = line
        self.boxes = boxes


@dataclass(frozen=True, slots=True)
class LabelMeShape:
    """One shape with an area."""

    label: str
    corners: Corners
    attributes: Mapping[str, Json]
    own_id: str = ""
    line: int | None = None
    score: float | None = None
    annotator: str | None = None


@dataclass(slots=True)
class LabelMeDocument:
    """The whole file at `path`; `others` counts the shapes that are no boxes by kind."""

    path: str
    picture: str
    width: int | None
    height: int | None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    shapes: list[LabelMeShape] = field(default_factory=list)
    problems: ProblemList = field(default_factory=ProblemList)
    others: Counter[str] = field(default_factory=Counter)

    def problem(self, reason: str, detail: str, line: int | None = None) -> None:
        """Note one shape that cannot be used."""
        self.problems.append(LabelProblem(self.path, reason, detail, line, 1))


class _File(msgspec.Struct, rename="camel"):
    """The JSON file; `imageData`, the picture as text, is passed over."""

    shapes: msgspec.Raw
    image_path: str | None = None
    image_width: Any = None
    image_height: Any = None
    flags: Any = None


class _Shape(msgspec.Struct):
    """One shape of the JSON file, with the fields that its successors add."""

    label: str
    points: list[tuple[float, float]]
    shape_type: str | None = None
    group_id: Any = None
    description: str | None = None
    flags: Any = None
    attributes: Any = None
    difficult: bool | None = None
    score: float | None = None
    direction: float | None = None


def decode_json(path: str, data: bytes) -> LabelMeDocument:
    """Return what the JSON file at `path` says.

    Raises:
        DocumentError: that is no JSON, or not LabelMe's.
    """
    try:
        file = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=_File)
        shapes = JsonItems(_list_of(file.shapes))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"no LabelMe JSON: {error}"[:200], None, data.count(b'"points"')) from None
    flags = plain_json(file.flags)
    document = LabelMeDocument(
        path,
        file.image_path or "",
        _pixels(file.image_width),
        _pixels(file.image_height),
        flags if isinstance(flags, dict) else {},
    )
    for number, raw in enumerate(shapes):
        if number == MOST_BOXES:
            raise DocumentError(f"more than {MOST_BOXES:,} shapes, which no picture has", None, data.count(b'"points"'))
        _take_shape(document, number, raw)
    return document


def _list_of(raw: msgspec.Raw) -> memoryview:
    """Return the text of a list; anything else is refused as the decoder does it."""
    text = memoryview(raw)
    if not bytes(text[:1024]).lstrip().startswith(b"["):
        msgspec.json.decode(text, type=list[msgspec.Raw])
    return text


def decode_xml(path: str, data: bytes) -> LabelMeDocument:
    """Return what the file of the old web tool at `path` says; deleted objects are passed over.

    Raises:
        DocumentError: that is no XML.
    """
    document = LabelMeDocument(path, "", None, None)
    heads: dict[str, XmlElement] = {}
    try:
        for element in iter_xml(data):
            if element.tag in _HEADS:
                heads.setdefault(element.tag, element)
            if element.tag == "object" and element.text_at("deleted") != "1":
                _take_object(document, element)
    except XmlError as error:
        raise DocumentError(str(error), error.line, data.count(b"<object>")) from None
    names = [heads[tag].text for tag in ("folder", "filename") if tag in heads]
    document.picture = "/".join(filter(None, names))
    if "imagesize" in heads:
        document.width, document.height = (_pixels(heads["imagesize"].text_at(name)) for name in ("ncols", "nrows"))
    return document


def _take_object(document: LabelMeDocument, element: XmlElement) -> None:
    corners, kind = _drawn(element)
    label = element.text_at("name")
    if not label:
        document.problem("label_syntax", "an object without a name", element.line)
    elif corners is None or not has_area(corners):
        document.problem("label_bad_box", f"{label}: no area", element.line)
    elif len(document.shapes) == MOST_BOXES:
        raise XmlError(f"more than {MOST_BOXES:,} objects, which no picture has", element.line)
    else:
        document.shapes.append(_object(element, label, corners, kind))


def _take_shape(document: LabelMeDocument, number: int, raw: memoryview) -> None:
    if len(raw) > _MAX_SHAPE_BYTES:
        document.problem("label_syntax", f"shapes[{number}]: it is larger than {_MAX_SHAPE_BYTES >> 20} MiB")
        return
    try:
        shape = msgspec.json.decode(raw, type=_Shape)
    except (msgspec.DecodeError, RecursionError) as error:
        document.problem("label_syntax", f"shapes[{number}]: {error}"[:200])
        return
    kind = shape.shape_type or "polygon"  # what the tool drew before it had kinds
    if kind in _NO_BOXES:
        document.others[kind] += 1
        return
    corners = _corners(kind, shape.points)
    if not shape.label.strip() or kind not in _KNOWN:
        detail = (
            f"shapes[{number}]: {kind!r} is no known shape" if shape.label.strip() else f"shapes[{number}]: no label"
        )
        document.problem("label_syntax", detail[:200])
    elif corners is None or not has_area(corners):
        document.problem("label_bad_box", f"shapes[{number}] ({shape.label}): no area")
    elif shape.score is not None and not 0 <= shape.score <= 1:
        detail = f"shapes[{number}] ({shape.label}): score {shape.score:g} is not within 0 to 1"
        document.problem("label_bad_score", detail)
    else:
        document.shapes.append(LabelMeShape(shape.label.strip(), corners, _attributes(shape, kind), score=shape.score))


def _corners(kind: str, points: Sequence[tuple[float, float]]) -> Corners | None:
    """Return the box around the points; a circle is its centre and a point on it."""
    if kind == "circle" and len(points) == 2:
        (x, y), edge = points
        radius = math.dist((x, y), edge)
        return (x - radius, y - radius, x + radius, y + radius)
    if len(points) < (3 if kind == "polygon" else 2):
        return None
    x1, y1, x2, y2 = around(points)
    return (x1, y1, x2 + 1, y2 + 1) if kind == "mask" else (x1, y1, x2, y2)  # a mask's last pixel belongs to it


def _attributes(shape: _Shape, kind: str) -> Mapping[str, Json]:
    found: dict[str, Json] = {}
    for said in (shape.flags, shape.attributes):
        value = plain_json(said)
        found |= value if isinstance(value, dict) else {}
    if shape.group_id is not None:
        found["group_id"] = plain_json(shape.group_id)
    if shape.description:
        found["description"] = shape.description
    if shape.difficult is not None:
        found["difficult"] = shape.difficult
    if kind != "rectangle":
        found["shape"] = kind
    if kind == "rotation" and shape.direction is not None:
        found["rotation_deg"] = math.degrees(shape.direction)
    return found


def _drawn(element: XmlElement) -> tuple[Corners | None, str]:
    """Return the box of an object of the old tool, and what was drawn, nothing for a plain box."""
    try:
        if mask := element.find("segm"):
            x1, y1, x2, y2 = (float(mask.text_at("box", name)) for name in ("xmin", "ymin", "xmax", "ymax"))
            return (x1, y1, x2, y2), "mask"
        polygon = element.find("polygon")
        points = [(float(at.text_at("x")), float(at.text_at("y"))) for at in polygon.all("pt")] if polygon else []
    except ValueError:
        return None, ""
    kind = "" if element.text_at("type") == "bounding_box" else "polygon"
    return (around(points) if points else None), kind


def _object(element: XmlElement, label: str, corners: Corners, kind: str) -> LabelMeShape:
    said: dict[str, Json] = {"shape": kind} if kind else {}
    if element.text_at("occluded") in {"yes", "no"}:
        said["occluded"] = element.text_at("occluded") == "yes"
    if element.text_at("verified") == "1":
        said["verified"] = True
    for name, place in (("attributes", ("attributes",)), ("part_of", ("parts", "ispartof"))):
        if text := element.text_at(*place):
            said[name] = text
    drawn = element.find("polygon") or element.find("segm")
    annotator = (drawn.text_at("username") if drawn else "") or None
    return LabelMeShape(label, corners, said, element.text_at("id"), element.line, None, annotator)


def _pixels(value: object) -> int | None:
    try:
        number = int(str(value))
    except ValueError:
        return None
    return number if 0 < number < 2**31 else None
