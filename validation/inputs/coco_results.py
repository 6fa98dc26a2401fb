"""Read a COCO result list, predictions that name images and categories by the truth's ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from driveflow.formats.coco_records import Key
from driveflow.progress import Progress
from validation.inputs.coco_keys import KeyIndex
from validation.inputs.given import Given
from validation.inputs.json_records import RecordReader
from validation.inputs.plain_records import Layout, PlainColumns
from validation.model.raw import RawBoxes
from validation.model.scene import Floats, Ints

_LAYOUT: Final = Layout(whole=("image_id", "category_id"), numbers=("score",))
_MISSING: Final = (float("nan"),) * 4


class _Result(msgspec.Struct, gc=False):
    image_id: int | float | str
    category_id: int | float | str
    bbox: tuple[float, float, float, float]
    score: float | None = None


def read_results(path: Path, truth: Given, progress: Progress) -> tuple[RawBoxes, list[str], list[str]]:
    """Return the boxes of `path` by the truth's frames and classes, and the ids that the truth does not list.

    Raises:
        InvalidInputError: an entry is no result; the message names file and line.
    """
    frames = KeyIndex(truth.frames["key"].to_list()[: truth.known_frames])
    classes = KeyIndex(truth.classes["key"].to_list()[: truth.known_classes])
    found = _Boxes(path.stat().st_size // _LAYOUT.least_bytes + 1)
    for records in RecordReader(path, _Result, _LAYOUT, progress):
        if isinstance(records, PlainColumns):
            keys: tuple[Ints | Sequence[Key], ...] = records.whole["image_id"], records.whole["category_id"]
            boxes = records.corners, records.size, records.numbers["score"]
        else:
            keys = [record.image_id for record in records], [record.category_id for record in records]
            boxes = *xywh_columns([record.bbox for record in records]), number_column([row.score for row in records])
        found.add((frames.places(keys[0]), classes.places(keys[1])), *boxes)
    return found.all(path), frames.strangers, classes.strangers


class _Boxes:
    """Boxes as they come in, in arrays that are long enough for any: room that is not written to costs nothing."""

    def __init__(self, most: int) -> None:
        self._count = 0
        self._codes = np.empty((2, most), np.int64)  # of frame and class
        self._corners, self._size, self._score = np.empty((most, 4)), np.empty((most, 2)), np.empty(most)

    def add(self, codes: tuple[Ints, Ints], corners: Floats, size: Floats, score: Floats) -> None:
        """Add some boxes; `codes` are of their frames and classes."""
        rows = slice(self._count, self._count + len(score))
        self._codes[0, rows], self._codes[1, rows] = codes
        self._corners[rows], self._size[rows], self._score[rows] = corners, size, score
        self._count = rows.stop

    def all(self, path: Path) -> RawBoxes:
        """Return all boxes of the file."""
        rows = slice(self._count)
        return RawBoxes(
            frame=self._codes[0, rows],
            label=self._codes[1, rows],
            corners=self._corners[rows],
            size=self._size[rows],
            score=self._score[rows],
            where=lambda row: f"{path}: entry {row}",
        )


def xywh_columns(boxes: Sequence[tuple[float, float, float, float] | None]) -> tuple[Floats, Floats]:
    """Return corners and sizes of boxes given as x, y, width, height; NaN where there is none."""
    whole = [_MISSING if box is None else box for box in boxes] if None in boxes else boxes
    given = np.array(whole, np.float64).reshape(-1, 4)
    size = given[:, 2:].copy()
    with np.errstate(over="ignore"):  # an end that is no number is refused with its place
        given[:, 2:] += given[:, :2]
    return given, size


def number_column(values: Sequence[float | None]) -> Floats:
    """Return numbers, NaN where there is none."""
    return np.array([np.nan if value is None else value for value in values], np.float64)
