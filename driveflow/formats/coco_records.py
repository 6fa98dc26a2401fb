"""Decode a COCO document into typed records, without letting one bad entry cost the rest."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from driveflow.canonical import Json
from driveflow.formats.label_set import LabelProblem

Key = int | float | str | None
_SNIFFED_BYTES = 2**20


class CocoImage(msgspec.Struct, gc=False):  # a decoded document has no circles to look for
    """One entry of `images`; hints that tools spell in many types stay as they are."""

    id: Key = None
    file_name: str = ""
    width: float | None = None
    height: float | None = None
    video_id: Key = None
    frame_id: Any = None
    frame_index: Any = None
    drive: Any = None
    camera: Any = None
    captured_ns: Any = None
    attributes: Any = None
    annotated_classes: list[str] | None = None
    neg_category_ids: list[Key] | None = None  # of LVIS: other classes that were looked for
    not_exhaustive_category_ids: list[Key] | None = None  # of LVIS: classes not labeled to the end
    coco_url: Any = None  # where LVIS 1.0 says alone which picture of COCO that is

    @property
    def name(self) -> str:
        """What the picture is called: its file, or its address where it has none."""
        return self.file_name or (self.coco_url if isinstance(self.coco_url, str) else "")


class CocoAnnotation(msgspec.Struct, gc=False):
    """One entry of `annotations`."""

    id: Key = None
    image_id: Key = None
    category_id: Key = None
    bbox: list[float] | None = None
    iscrowd: Any = None
    ignore: Any = None
    track_id: Any = None
    score: Any = None
    attributes: Any = None
    box_id: str | None = None


_EXACT = 2.0**53  # below that every whole number is a double
WholeNumber: TypeAlias = Annotated[float, msgspec.Meta(gt=-_EXACT, lt=_EXACT, multiple_of=1.0)]


class PlainBox(msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True):
    """Four numbers, as nearly every `bbox` is."""

    x: float
    y: float
    width: float
    height: float


class PlainAnnotation(msgspec.Struct, gc=False):
    """One entry of `annotations` with numbers for ids and nothing but a box, as nearly all files have them.

    All of it is numbers, so that many become columns at once: see `plain_columns`. What `CocoAnnotation` has beyond
    that may be null here.
    """

    id: WholeNumber
    image_id: WholeNumber
    category_id: WholeNumber
    bbox: PlainBox
    iscrowd: float = 0.0
    ignore: None = None
    track_id: None = None
    score: None = None
    attributes: None = None
    box_id: None = None


class CocoCategory(msgspec.Struct):
    """One entry of `categories`."""

    id: Key
    name: str
    supercategory: Any = None


class CocoVideo(msgspec.Struct):
    """One entry of `videos`."""

    id: Key
    name: Any = None


_Annotation = TypeVar("_Annotation", CocoAnnotation, PlainAnnotation)


class CocoDocument(msgspec.Struct, Generic[_Annotation]):
    """A whole COCO file; `annotations` is None where the file has no such list."""

    images: list[CocoImage]
    annotations: list[_Annotation] | None = None
    categories: list[CocoCategory] = []
    videos: list[CocoVideo] = []


AnyDocument: TypeAlias = CocoDocument[CocoAnnotation] | CocoDocument[PlainAnnotation]


class _Heads(msgspec.Struct):
    images: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    categories: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, slots=True)
class DecodedCoco:
    """A document and what of it could not be used; no document where the file is no JSON."""

    document: AnyDocument | None
    problems: tuple[LabelProblem, ...] = ()
    spoiled: tuple[str, ...] = ()  # ids of the images of annotations that are none


def key_text(key: Key) -> str:
    """Return an id as text: 7, 7.0 and "7" are one id, as files of one data set mix them."""
    if type(key) is int:  # nearly always, a million times a file
        return str(key)
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return "" if key is None else str(key).strip()


def looks_like_coco(data: bytes) -> bool:
    """Tell by its keys whether `data` is a COCO file, even one that is cut short."""
    try:
        heads = msgspec.json.decode(data, type=_Heads)
    except (msgspec.DecodeError, RecursionError):
        start = data[:_SNIFFED_BYTES]
        return _names(start, b"images") and any(_names(start, key) for key in (b"annotations", b"categories"))
    lists = [bytes(part).lstrip().startswith(b"[") for part in (heads.images, heads.annotations, heads.categories)]
    return lists[0] and (lists[1] or lists[2])


def decode_coco(path: str, data: bytes) -> DecodedCoco:
    """Return the document in `data`: all at once where it is clean, entry by entry where it is not."""
    try:
        return DecodedCoco(msgspec.json.decode(data, type=CocoDocument[PlainAnnotation]))
    except msgspec.ValidationError:
        return _decode_whole(path, data)
    except (msgspec.DecodeError, RecursionError):
        return _decode_patiently(path, data)


def _decode_whole(path: str, data: bytes) -> DecodedCoco:
    try:
        document = msgspec.json.decode(data, type=CocoDocument[CocoAnnotation])
    except (msgspec.DecodeError, RecursionError):
        return _decode_patiently(path, data)
    if not all(annotation.bbox for annotation in document.annotations or ()):
        return _decode_patiently(path, data)  # there may be polygons to make the boxes from
    return DecodedCoco(document)


def _names(data: bytes, key: bytes) -> bool:
    return re.search(rb'"' + key + rb'"\s*:\s*\[', data) is not None


def _decode_patiently(path: str, data: bytes) -> DecodedCoco:
    """Decode with Python's parser, which takes NaN, and turn each bad entry into a problem."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        return DecodedCoco(None, (LabelProblem(path, "label_syntax", f"no JSON: {error}"[:200], line),))
    if not isinstance(value, dict):
        return DecodedCoco(None, (LabelProblem(path, "label_syntax", "no JSON object at the top"),))
    problems: list[LabelProblem] = []
    parts = _Parts(path, value, problems)
    annotations = None
    if isinstance(value.get("annotations"), list):
        annotations = list(parts.read("annotations", CocoAnnotation))
    document = CocoDocument(
        list(parts.read("images", CocoImage)),
        annotations,
        list(parts.read("categories", CocoCategory)),
        list(parts.read("videos", CocoVideo)),
    )
    return DecodedCoco(document, tuple(problems), tuple(parts.spoiled))


_Record = TypeVar("_Record", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The lists of a document, read one entry at a time."""

    path: str
    value: Mapping[str, Any]
    problems: list[LabelProblem]
    spoiled: list[str] = field(default_factory=list)

    def read(self, name: str, kind: type[_Record]) -> Iterator[_Record]:
        """Yield the entries of the list `name`; what is no `kind` becomes a problem."""
        entries = self.value.get(name)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            try:
                record = msgspec.convert(_clean(entry), kind, strict=False)
            except (msgspec.ValidationError, RecursionError) as error:
                boxes = 1 if kind is CocoAnnotation else 0
                detail = f"{name}[{number}]: {error}"
                self.problems.append(LabelProblem(self.path, "label_syntax", detail, None, boxes))
                image = entry.get("image_id") if boxes and isinstance(entry, dict) else None
                self.spoiled.extend([key_text(image)] if isinstance(image, int | float | str) else [])
                continue
            if isinstance(record, CocoAnnotation) and not record.bbox:
                record.bbox = _box_of_polygons(entry.get("segmentation"))
            yield record


def _clean(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return `value` with text that UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _box_of_polygons(segmentation: object) -> list[float] | None:
    """Return x, y, width and height around a list of polygons or one flat polygon, None where there is none."""
    if not isinstance(segmentation, list) or not segmentation:
        return None
    polygons = segmentation if isinstance(segmentation[0], list) else [segmentation]
    values = [float(value) for polygon in polygons for value in _numbers(polygon)]
    if len(values) < 6 or len(values) % 2:
        return None
    left, top = min(values[0::2]), min(values[1::2])
    return [left, top, max(values[0::2]) - left, max(values[1::2]) - top]


def _numbers(polygon: object) -> Iterable[float]:
    if not isinstance(polygon, list):
        return ()
    return (value for value in polygon if isinstance(value, int | float))


def plain_json(value: Any) -> Json:  # noqa: ANN401 any JSON
    """Return `value` with null for numbers that JSON cannot spell."""
    if isinstance(value, float) and value - value != 0:
        return None
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    return value  # type: ignore[no-any-return]
