"""Tell Scalabel documents by their content and go through their frames, whatever they are wrapped in.

A list of frames, `{"frames": [...]}` with `config` and `groups`, a document of one picture as BDD100K first had it
(`frames` of `objects`), and the names of keys that older tools wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from driveflow.formats.json_items import JsonItems, members_named, names_in
from driveflow.formats.json_text import (
    JsonTextError,
    list_of,
    number_of,
    object_of,
    strict_json,
    text_of,
    value_of,
)
from driveflow.formats.sniff import Sniffer

_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "frame_name"),
    "url": ("url",),
    "video": ("videoName", "video_name"),
    "index": ("frameIndex", "frame_index", "index"),
    "timestamp": ("timestamp",),
    "attributes": ("attributes",),
    "labels": ("labels", "objects"),
    "size": ("size", "imageSize", "image_size"),
    "sensor": ("sensor",),
}
_OTHER_KEYS: Final = frozenset(["intrinsics", "extrinsics", "frames", "id", "context", "isKeyFrame", "hasSequence"])
_FRAME_KEYS: Final = frozenset(key for keys in _SYNONYMS.values() for key in keys) | _OTHER_KEYS
_SIGNS: Final = frozenset(["labels", "videoName", "video_name", "frameIndex", "frame_index", "timestamp"])
_SHAPES: Final = frozenset(["box2d", "box_2d", "box3d", "box_3d", "poly2d", "poly_2d", "rle", "graph"])
_SAMPLE: Final = 100
_TOP: Final = frozenset(["frames", "config", "groups", "name", "attributes"])


@dataclass(frozen=True, slots=True)
class ScalabelFrame:
    """One picture of a document; `labels` is None where it says null, and `silent` where it has no such key."""

    name: str
    url: str = ""
    video: str = ""
    numbered: bool = False
    timestamp: object = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    labels: Sequence[object] | None = None
    silent: bool = False
    size: tuple[int | None, int | None] = (None, None)
    camera: str = ""
    broken: str = ""  # why the frame cannot be read at all


@dataclass(frozen=True, slots=True)
class ScalabelDocument:
    """A document whose frames are decoded one at a time; `classes` are the leaves of the categories it states."""

    entries: JsonItems | None
    classes: tuple[str, ...] = ()
    parents: frozenset[str] = frozenset()  # categories that have others below them
    size: tuple[int | None, int | None] = (None, None)
    groups: int = 0
    picture: ScalabelFrame | None = None  # the one picture that all entries are of
    states_classes: bool = False  # it has a list of categories, be it an empty one

    def frames(self) -> Iterator[ScalabelFrame]:
        """Yield the frames in order."""
        for number, entry in enumerate(self.entries.values() if self.entries else ()):
            try:
                value = object_of(value_of(entry))
            except JsonTextError as error:
                yield ScalabelFrame("", broken=f"frame {number}: {error}")
                continue
            yield self._frame(number, value)

    def _frame(self, number: int, value: Mapping[str, object]) -> ScalabelFrame:
        attributes, labels = object_of(_of(value, "attributes")), _of(value, "labels")
        name, video = text_of(_of(value, "name")), text_of(_of(value, "video"))
        if self.picture:
            name, attributes = self.picture.name, {**self.picture.attributes, **attributes}
        url = text_of(_of(value, "url"))
        size = _size(_of(value, "size"))
        return ScalabelFrame(
            name=name or url,
            url=url,
            video=video,
            numbered=number_of(_of(value, "index")) is not None,
            timestamp=_of(value, "timestamp"),
            attributes=attributes,
            labels=list_of(labels) if labels is not None else None,
            silent=not any(key in value for key in _SYNONYMS["labels"]),
            size=size if size[0] else self.size,
            camera=text_of(_of(value, "sensor")),
            broken="" if name or url else f"frame {number} has no name",
        )


def scalabel_documents(sniffer: Sniffer) -> Iterator[tuple[str, ScalabelDocument]]:
    """Yield the files of the batch that are Scalabel documents, by content."""
    for path in sniffer.ending_in(".json"):
        shape = sniffer.json_shape(path)
        if shape.keys & {"openlabel", "vcd"} or not shape.keys & {*_SYNONYMS["name"], "url", "frames"}:
            continue
        try:
            document = read_document(sniffer.read(path))
        except JsonTextError:
            continue
        if _is_scalabel(document):
            yield path, document


def read_document(data: bytes) -> ScalabelDocument:
    """Return the document in `data`.

    Raises:
        JsonTextError: it is no JSON.
    """
    text = strict_json(data)
    if text[:1024].lstrip().startswith(b"["):
        return ScalabelDocument(JsonItems(memoryview(text)))
    top = members_named(text, _TOP)
    entries = JsonItems(top["frames"]) if "frames" in top else None
    config = object_of(value_of(top["config"])) if "config" in top else {}
    categories = list_of(config.get("treeCategories")) or list_of(config.get("categories"))
    leaves, parents = _tree(categories)
    size = _size(config.get("imageSize", config.get("image_size")))
    groups = sum(1 for _ in JsonItems(top["groups"])) if "groups" in top else 0
    states = not {"treeCategories", "categories"}.isdisjoint(config)
    return ScalabelDocument(entries, leaves, parents, size, groups, _one_picture(top, entries), states)


def sample(document: ScalabelDocument) -> list[ScalabelFrame]:
    """Return the first frames of a document, enough to tell what it is."""
    return list(islice(document.frames(), _SAMPLE))


def _one_picture(top: Mapping[str, memoryview], entries: JsonItems | None) -> ScalabelFrame | None:
    """Return what the document says of its one picture, where its frames have no names of their own."""
    first = next(entries.values(), None) if entries else None
    if "name" not in top or first is None or "name" in names_in(first):
        return None
    attributes = object_of(value_of(top["attributes"])) if "attributes" in top else {}
    return ScalabelFrame(text_of(value_of(top["name"])), attributes=attributes)


def _of(value: Mapping[str, object], what: str) -> object:
    return next((value[key] for key in _SYNONYMS[what] if key in value), None)


def _size(value: object) -> tuple[int | None, int | None]:
    width, height = (number_of(object_of(value).get(side)) for side in ("width", "height"))
    usable = width and height and 0 < width < 2**31 and 0 < height < 2**31
    return (int(width), int(height)) if usable and width and height else (None, None)


def _tree(categories: Sequence[object], depth: int = 0) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names of the leaves in order, and those of what is above them."""
    leaves: list[str] = []
    parents: set[str] = set()
    for category in categories:
        name = text_of(category) or text_of(object_of(category).get("name"))
        below = list_of(object_of(category).get("subcategories"))
        if below and depth < 20:
            found, above = _tree(below, depth + 1)
            leaves += found
            parents |= {name} | above
        elif name:
            leaves.append(name)
    return tuple(dict.fromkeys(leaves)), frozenset(parents)


def _is_scalabel(document: ScalabelDocument) -> bool:
    """Tell by the first frames: labels with a category and a shape, or no other keys than those of a frame."""
    first = list(islice(document.entries.values(), _SAMPLE)) if document.entries else []
    if document.classes and not first:
        return True
    all_keys = [names_in(entry) for entry in first]
    named = [keys for keys in all_keys if document.picture or keys & {*_SYNONYMS["name"], "url"}]
    if 2 * len(named) <= len(all_keys):
        return False
    own = [keys for keys in named if keys <= _FRAME_KEYS and keys & _SIGNS]
    labels = [object_of(label) for frame in sample(document) for label in frame.labels or ()]
    return any("category" in label and label.keys() & _SHAPES for label in labels) or (
        not labels and len(own) == len(all_keys)
    )
