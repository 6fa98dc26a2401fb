"""Read a whole COCO document, truth or predictions with scores, for an evaluation; and doubt its ids."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import polars as pl

from driveflow.errors import InvalidInputError
from driveflow.formats.coco_columns import key_column, whole_numbers
from driveflow.formats.coco_hints import image_hints
from driveflow.formats.coco_records import CocoCategory, CocoImage, CocoVideo, Key, key_text
from validation.inputs.coco_annotations import (
    Annotation,
    Annotations,
    Keys,
    annotation_columns,
    doubts,
    plain_annotations,
)
from validation.inputs.coco_keys import KeyIndex
from validation.inputs.coco_looked import looked_at, not_exhaustive_pairs
from validation.inputs.given import GIVEN_CLASSES, GIVEN_FRAMES, Given
from validation.inputs.json_records import syntax_error
from validation.model.raw import RawBoxes

_Entry = TypeVar("_Entry", CocoImage, CocoCategory)


class _Document(msgspec.Struct):
    images: list[CocoImage]
    categories: list[CocoCategory] = []
    annotations: list[Annotation] = []
    videos: list[CocoVideo] = []


class _Heads(msgspec.Struct):
    images: list[CocoImage]
    categories: list[CocoCategory] = []
    annotations: msgspec.Raw = msgspec.Raw(b"[]")
    videos: list[CocoVideo] = []


def read_document(path: Path, *, scored: bool) -> Given:
    """Return what the COCO document at `path` says; `scored`: its boxes are predictions, else those without a score.

    Images stand in the order of their ids, as COCO's evaluator takes them.

    Raises:
        InvalidInputError: it is no such document, or an id means two things.
    """
    document, said = _decoded(path)
    images, categories = _sorted(path, document.images), _sorted(path, document.categories)
    rows = said if scored else said.without_score()
    listed = _frames(images, document.videos), _classes(categories)
    frame_index, class_index = (KeyIndex(table["key"].to_list()) for table in listed)
    boxes = _boxes(path, rows, frame_index, class_index, scored=scored)
    strange = [(key, "", None, None, "", "", "{}") for key in frame_index.strangers]
    others = [(key, f"category {key}") for key in class_index.strangers]
    classes = listed[1].vstack(pl.DataFrame(others, schema=GIVEN_CLASSES, orient="row"))
    return Given(
        source=str(path),
        frames=listed[0].vstack(pl.DataFrame(strange, schema=GIVEN_FRAMES, orient="row")),
        classes=classes,
        boxes=boxes,
        looked=looked_at(images, classes, boxes),
        not_exhaustive=not_exhaustive_pairs(images, classes),
        corrections=tuple(doubts(rows, len(said) - len(rows), scored=scored)),
        known_frames=len(listed[0]),
        known_classes=len(listed[1]),
    )


def _decoded(path: Path) -> tuple[_Heads | _Document, Annotations]:
    data = path.read_bytes()
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        heads = msgspec.json.decode(body, type=_Heads)
        plain = plain_annotations(memoryview(heads.annotations))
        if plain is not None:
            heads.annotations = msgspec.Raw()  # it would keep the whole text
            return heads, plain
    except (msgspec.DecodeError, RecursionError):
        pass  # it is said below what is wrong
    try:
        document = msgspec.json.decode(body, type=_Document)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{path}: no COCO document for an evaluation: {error}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise syntax_error(path, data, 1, error) from error
    return document, annotation_columns(document.annotations)


def _sorted(path: Path, entries: Sequence[_Entry]) -> Sequence[_Entry]:
    """Return the entries in the order of their ids, each id once."""
    keys = whole_numbers([entry.id for entry in entries])
    if keys is not None and (keys >= 0).all() and (keys[1:] > keys[:-1]).all():
        return entries
    return sorted(_once(path, entries), key=lambda entry: _order(entry.id))


def _once(path: Path, entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the entries, each id once; an id of two different entries means nothing."""
    found: dict[str, _Entry] = {}
    for entry in entries:
        key = key_text(entry.id)
        other = found.setdefault(key, entry)
        same = getattr(other, "name", None) == getattr(entry, "name", None)
        if not same or getattr(other, "file_name", "") != getattr(entry, "file_name", ""):
            first, second = (repr(getattr(one, "file_name", "") or getattr(one, "name", "")) for one in (other, entry))
            what = f"id {key} is" if key else "without an id are"
            raise InvalidInputError(f"{path}: {what} {first} and {second}: give each an id.")
    return list(found.values())


def _order(key: Key) -> tuple[float, str]:
    text = key_text(key)
    return (float(text), "") if text.isdecimal() else (float("inf"), text)


def _frames(images: Sequence[CocoImage], videos: Sequence[CocoVideo]) -> pl.DataFrame:
    video_names = {key_text(video.id): str(video.name or key_text(video.id)) for video in videos}
    hints = image_hints(images, video_names, "")
    nothing = {"drive": "", "camera": "", "attributes": "{}"}
    return pl.DataFrame(
        {
            "key": key_column([image.id for image in images]),
            "name": [image.file_name for image in images],
            "width": [image.width for image in images],
            "height": [image.height for image in images],
            **{name: hints.get(name, [value] * len(images)) for name, value in nothing.items()},
        },
        schema=GIVEN_FRAMES,
    )


def _classes(categories: Sequence[CocoCategory]) -> pl.DataFrame:
    """Name the classes; two ids of one name stay two classes, as they do in COCO."""
    names = Counter(category.name.strip() for category in categories)
    rows = [
        (
            key_text(category.id),
            category.name.strip() + (f" ({category.id})" if names[category.name.strip()] > 1 else ""),
        )
        for category in categories
    ]
    return pl.DataFrame(rows, schema=GIVEN_CLASSES, orient="row")


def _boxes(path: Path, rows: Annotations, frames: KeyIndex, classes: KeyIndex, *, scored: bool) -> RawBoxes:
    """Return annotations as boxes; strangers among their ids are noted in `frames` and `classes`."""
    return RawBoxes(
        frame=frames.places(rows.image),
        label=classes.places(rows.category),
        corners=rows.corners,
        size=rows.size,
        score=rows.score if scored else None,
        area_px=rows.area,
        ignore=rows.ignore == 1,
        crowd=rows.crowd == 1,
        facts=None if scored else rows.facts,
        where=_where(path, rows.own),
    )


def _where(path: Path, ids: Keys) -> Callable[[int], str]:
    """Return what tells which annotation a row is, without holding on to the annotations."""
    return lambda row: f"{path}: annotation {key_text(ids[row])} (entry {row})"
