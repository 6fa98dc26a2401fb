"""Read a whole COCO document, truth or predictions with scores, for an evaluation; and doubt its ids."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from driveflow.canonical import canonical_json
from driveflow.errors import InvalidInputError
from driveflow.formats.coco_records import CocoCategory, CocoImage, CocoVideo, key_text, plain_json
from validation.inputs.coco_keys import KeyIndex, whole_numbers
from validation.inputs.given import GIVEN_CLASSES, GIVEN_FRAMES, Given
from validation.inputs.json_records import syntax_error
from validation.model.box_facts import BoxFacts, box_facts
from validation.model.raw import RawBoxes
from validation.model.scene import Bools, Correction, Floats, Ints

_SHOWN: Final = 5
_MISSING: Final = (float("nan"),) * 4


class _Annotation(msgspec.Struct, gc=False):
    image_id: int | str | None = None
    category_id: int | str | None = None
    bbox: tuple[float, float, float, float] | None = None
    id: int | str | None = None
    area: float | None = None
    iscrowd: int | bool | None = None
    ignore: int | bool | None = None
    score: float | None = None
    attributes: Any = None


class _Document(msgspec.Struct):
    images: list[CocoImage]
    categories: list[CocoCategory] = []
    annotations: list[_Annotation] = []
    videos: list[CocoVideo] = []


def read_document(path: Path, *, scored: bool) -> Given:
    """Return what the COCO document at `path` says; `scored`: its boxes are predictions.

    Images stand in the order of their ids, as COCO's evaluator takes them.

    Raises:
        InvalidInputError: it is no such document, or an id means two things.
    """
    data = path.read_bytes()
    try:
        document = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=_Document)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{path}: no COCO document for an evaluation: {error}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise syntax_error(path, data, 1, error) from error
    del data
    images = sorted(_once(path, document.images), key=lambda image: _order(image.id))
    categories = sorted(_once(path, document.categories), key=lambda category: _order(category.id))
    frames, classes = _frames(images, document.videos), _classes(categories)
    return _Reader(path, document.annotations, frames, classes).read(images, scored=scored)


def _once(path: Path, entries: Sequence[Any]) -> list[Any]:
    """Return the entries, each id once; an id of two different entries means nothing."""
    found: dict[str, Any] = {}
    for entry in entries:
        key = key_text(entry.id)
        other = found.setdefault(key, entry)
        same = getattr(other, "name", None) == getattr(entry, "name", None)
        if not same or getattr(other, "file_name", "") != getattr(entry, "file_name", ""):
            raise InvalidInputError(f"{path}: id {key} is {other!r} and {entry!r}.")
    return list(found.values())


def _order(key: object) -> tuple[float, str]:
    text = key_text(key)  # type: ignore[arg-type]
    return (float(text), "") if text.isdecimal() else (float("inf"), text)


def _frames(images: Sequence[CocoImage], videos: Sequence[CocoVideo]) -> pl.DataFrame:
    video_names = {key_text(video.id): str(video.name or key_text(video.id)) for video in videos}
    rows = [
        (
            key_text(image.id),
            image.file_name,
            image.width,
            image.height,
            str(image.drive or video_names.get(key_text(image.video_id), key_text(image.video_id))),
            str(image.camera or ""),
            canonical_json(plain_json(image.attributes)) if isinstance(image.attributes, dict) else "{}",
        )
        for image in images
    ]
    return pl.DataFrame(rows, schema=GIVEN_FRAMES, orient="row")


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


class _Reader:
    """Annotations on their way into arrays; strangers among their ids are added to the frames and classes."""

    def __init__(self, path: Path, annotations: list[_Annotation], frames: pl.DataFrame, classes: pl.DataFrame) -> None:
        self._path = path
        self._annotations = annotations
        self._frames = frames
        self._classes = classes

    def read(self, images: Sequence[CocoImage], *, scored: bool) -> Given:
        """Return all; truth takes no box with a score, predictions take every one."""
        rows = self._annotations
        if not scored:
            rows = [row for row in rows if row.score is None]
        guesses = len(self._annotations) - len(rows)
        image_index, class_index = KeyIndex(self._frames["key"].to_list()), KeyIndex(self._classes["key"].to_list())
        frame = image_index.places([row.image_id for row in rows])
        label = class_index.places([row.category_id for row in rows])
        corners, size = xywh_columns([row.bbox for row in rows])
        boxes = RawBoxes(
            frame=frame,
            label=label,
            corners=corners,
            size=size,
            score=_numbers([row.score for row in rows]) if scored else None,
            area_px=_numbers([row.area for row in rows]),
            ignore=_flags([row.ignore for row in rows]),
            crowd=_flags([row.iscrowd for row in rows]),
            facts=None if scored else _facts(rows),
            where=_where(self._path, [row.id for row in rows]),
        )
        strange = [(key, "", None, None, "", "", "{}") for key in image_index.strangers]
        others = [(key, f"category {key}") for key in class_index.strangers]
        frames = self._frames.vstack(pl.DataFrame(strange, schema=GIVEN_FRAMES, orient="row"))
        classes = self._classes.vstack(pl.DataFrame(others, schema=GIVEN_CLASSES, orient="row"))
        return Given(
            source=str(self._path),
            frames=frames,
            classes=classes,
            boxes=boxes,
            looked=_looked(images, classes),
            corrections=tuple(_doubts(rows, guesses, scored=scored)),
            known_frames=len(self._frames),
            known_classes=len(self._classes),
        )


def xywh_columns(boxes: Sequence[tuple[float, float, float, float] | None]) -> tuple[Floats, Floats]:
    """Return corners and sizes of boxes given as x, y, width, height; NaN where there is none."""
    whole = [_MISSING if box is None else box for box in boxes] if None in boxes else boxes
    given = np.array(whole, np.float64).reshape(-1, 4)
    size = given[:, 2:].copy()
    given[:, 2:] += given[:, :2]
    return given, size


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _flags(values: Sequence[int | None]) -> Bools:
    return np.array([bool(value) for value in values], bool)


def _where(path: Path, ids: Sequence[int | str | None]) -> Callable[[int], str]:
    """Return what tells which annotation a row is, without holding on to the annotations."""
    return lambda row: f"{path}: annotation {key_text(ids[row])} (entry {row})"


def _facts(rows: Sequence[_Annotation]) -> BoxFacts | None:
    if not any(row.attributes for row in rows):
        return None
    said = [canonical_json(plain_json(row.attributes)) if isinstance(row.attributes, dict) else "{}" for row in rows]
    return box_facts(pl.Series(said, dtype=pl.String))


def _looked(images: Sequence[CocoImage], classes: pl.DataFrame) -> Bools | None:
    """Return where somebody looked, by driveflow's own key `annotated_classes`; COCO has none and means everywhere."""
    if all(image.annotated_classes is None for image in images):
        return None
    names = classes["name"].to_list()
    said = [frozenset(names if image.annotated_classes is None else image.annotated_classes) for image in images]
    return np.array([[name in looked for name in names] for looked in said], bool).reshape(len(images), len(names))


def _doubts(rows: Sequence[_Annotation], guesses: int, *, scored: bool) -> list[Correction]:
    """Say what other evaluators would have taken wrongly."""
    found = []
    if guesses:
        done = "not counted: boxes with a score are a model's, not the truth"
        found.append(Correction("truth_with_score", guesses, (), done))
    if scored:
        return found
    keys = whole_numbers([row.id for row in rows if row.id is not None])
    if keys is not None:
        found += _doubtful_ids(keys)
    done = "counted as no crowd"
    found += _counted("iscrowd_missing", [row for row in rows if row.iscrowd is None], done)
    done = "sized by its box"
    found += _counted("area_missing", [row for row in rows if row.area is None], done)
    done = "an ignore region in mode strict; COCO's evaluator overwrites the flag, so in mode coco an object"
    return found + _counted("ignore_beside_iscrowd", [row for row in rows if row.ignore and not row.iscrowd], done)


def _doubtful_ids(keys: Ints) -> list[Correction]:
    found = []
    if (keys == 0).any():
        done = "counted as any other: evaluators of COCO's line take an object with id 0 for no object"
        found.append(Correction("annotation_id_zero", int((keys == 0).sum()), ("annotation 0",), done))
    ids, count = np.unique(keys, return_counts=True)
    twice = ids[count > 1]
    if len(twice):
        done = "counted as objects of their own: COCO's evaluator would take the last one for all"
        examples = tuple(f"annotation {key}" for key in twice[:_SHOWN].tolist())
        found.append(Correction("annotation_id_twice", len(twice), examples, done))
    return found


def _counted(kind: str, rows: Sequence[_Annotation], done: str) -> list[Correction]:
    examples = tuple(f"annotation {key_text(row.id)}" for row in rows[:_SHOWN])
    return [Correction(kind, len(rows), examples, done)] if rows else []
