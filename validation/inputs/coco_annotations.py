"""The annotations of a COCO document as columns, and what other evaluators would have taken wrongly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from driveflow.canonical import canonical_json
from driveflow.formats.coco_columns import whole_numbers
from driveflow.formats.coco_records import Key, key_text, plain_json
from validation.inputs.coco_results import number_column, xywh_columns
from validation.inputs.plain_records import Layout, read_plain
from validation.model.box_facts import BoxFacts, box_facts
from validation.model.scene import Bools, Correction, Floats, Ints

_SHOWN: Final = 5
_NOT_SAID: Final = -1
_LAYOUT: Final = Layout(
    whole=("image_id", "category_id", "id"),
    numbers=("area", "score"),
    flags=("iscrowd", "ignore"),
    nothing=("attributes",),
)
Flags = NDArray[np.int8]
Keys = Sequence[Key] | Ints


class Annotation(msgspec.Struct, gc=False):
    """One entry of `annotations`."""

    image_id: Key = None
    category_id: Key = None
    bbox: tuple[float, float, float, float] | None = None
    id: Key = None
    area: float | None = None
    iscrowd: int | bool | None = None
    ignore: int | bool | None = None
    score: float | None = None
    attributes: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Columns, one row an annotation: numbers are NaN, flags -1 where nothing is said."""

    image: Keys
    category: Keys
    own: Keys  # its id
    corners: Floats
    size: Floats
    area: Floats
    score: Floats
    crowd: Flags
    ignore: Flags
    facts: BoxFacts | None = None

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.corners)

    def without_score(self) -> "Annotations":
        """Return those that are no model's."""
        kept = np.isnan(self.score)
        if kept.all():
            return self
        rows = np.flatnonzero(kept)
        return Annotations(
            image=_chosen(self.image, rows),
            category=_chosen(self.category, rows),
            own=_chosen(self.own, rows),
            corners=self.corners[rows],
            size=self.size[rows],
            area=self.area[rows],
            score=self.score[rows],
            crowd=self.crowd[rows],
            ignore=self.ignore[rows],
            facts=None if self.facts is None else self.facts.rows(rows),
        )


def plain_annotations(data: memoryview) -> Annotations | None:
    """Return the annotations of a JSON list of nothing but numbers and boxes; None where it is another one."""
    if bytes(data[:1]) != b"[":
        return None
    columns, end = read_plain(data[1:], _LAYOUT)
    if bytes(data[1 + end :]).strip() != b"]":
        return None
    return Annotations(
        image=columns.whole["image_id"],
        category=columns.whole["category_id"],
        own=columns.whole["id"],
        corners=columns.corners,
        size=columns.size,
        area=columns.numbers["area"],
        score=columns.numbers["score"],
        crowd=columns.flags["iscrowd"],
        ignore=columns.flags["ignore"],
    )


def annotation_columns(rows: Sequence[Annotation]) -> Annotations:
    """Return annotations of any kind as columns."""
    corners, size = xywh_columns([row.bbox for row in rows])
    return Annotations(
        image=[row.image_id for row in rows],
        category=[row.category_id for row in rows],
        own=[row.id for row in rows],
        corners=corners,
        size=size,
        area=number_column([row.area for row in rows]),
        score=number_column([row.score for row in rows]),
        crowd=_flags([row.iscrowd for row in rows]),
        ignore=_flags([row.ignore for row in rows]),
        facts=_facts(rows),
    )


def _flags(values: Sequence[int | None]) -> Flags:
    return np.array([_NOT_SAID if value is None else bool(value) for value in values], np.int8)


def _facts(rows: Sequence[Annotation]) -> BoxFacts | None:
    if not any(row.attributes for row in rows):
        return None
    said = [canonical_json(plain_json(row.attributes)) if isinstance(row.attributes, dict) else "{}" for row in rows]
    return box_facts(pl.Series(said, dtype=pl.String))


def _chosen(keys: Keys, rows: Ints) -> Keys:
    return keys[rows] if isinstance(keys, np.ndarray) else [keys[row] for row in rows.tolist()]


def doubts(rows: Annotations, guesses: int, *, scored: bool) -> list[Correction]:
    """Say what other evaluators would have taken wrongly; `guesses` had a score and were left out."""
    found = []
    if guesses:
        done = "not counted: boxes with a score are a model's, not the truth"
        found.append(Correction("truth_with_score", guesses, (), done))
    if scored:
        return found
    keys = rows.own
    numbers = keys if isinstance(keys, np.ndarray) else whole_numbers([key for key in keys if key is not None])
    if numbers is not None:
        found += _doubtful_ids(numbers)
    done = "counted as no crowd"
    found += _counted("iscrowd_missing", rows, rows.crowd == _NOT_SAID, done)
    done = "sized by its box"
    found += _counted("area_missing", rows, np.isnan(rows.area), done)
    done = "an ignore region in mode strict; COCO's evaluator overwrites the flag, so in mode coco an object"
    return found + _counted("ignore_beside_iscrowd", rows, (rows.ignore == 1) & (rows.crowd != 1), done)


def _doubtful_ids(keys: Ints) -> list[Correction]:
    found = []
    if (keys == 0).any():
        done = "counted as any other: evaluators of COCO's line take an object with id 0 for no object"
        found.append(Correction("annotation_id_zero", int((keys == 0).sum()), ("annotation 0",), done))
    if (keys[1:] > keys[:-1]).all():
        return found
    ids, count = np.unique(keys, return_counts=True)
    twice = ids[count > 1]
    if len(twice):
        done = "counted as objects of their own: COCO's evaluator would take the last one for all"
        examples = tuple(f"annotation {key}" for key in twice[:_SHOWN].tolist())
        found.append(Correction("annotation_id_twice", len(twice), examples, done))
    return found


def _counted(kind: str, rows: Annotations, which: Bools, done: str) -> list[Correction]:
    count = int(which.sum())
    shown = _chosen(rows.own, np.flatnonzero(which)[:_SHOWN])
    examples = tuple(f"annotation {key_text(key)}" for key in np.asarray(shown, object).tolist())
    return [Correction(kind, count, examples, done)] if count else []
