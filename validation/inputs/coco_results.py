"""Read a COCO result list, predictions that name images and categories by the truth's ids."""

from pathlib import Path

import msgspec
import numpy as np

from driveflow.progress import Progress
from validation.inputs.coco_document import xywh_columns
from validation.inputs.coco_keys import KeyIndex
from validation.inputs.given import Given
from validation.inputs.json_records import RecordReader
from validation.model.raw import RawBoxes
from validation.model.scene import Floats, Ints


class _Result(msgspec.Struct, gc=False):
    image_id: int | str
    category_id: int | str
    bbox: tuple[float, float, float, float]
    score: float | None = None


def read_results(path: Path, truth: Given, progress: Progress) -> tuple[RawBoxes, list[str], list[str]]:
    """Return the boxes of `path` by the truth's frames and classes, and the ids that the truth does not list.

    Raises:
        InvalidInputError: an entry is no result; the message names file and line.
    """
    frames = KeyIndex(truth.frames["key"].to_list()[: truth.known_frames])
    classes = KeyIndex(truth.classes["key"].to_list()[: truth.known_classes])
    parts: list[tuple[Ints, Ints, Floats, Floats, Floats]] = []
    for records in RecordReader(path, _Result, progress):
        corners, size = xywh_columns([record.bbox for record in records])
        score = np.array([np.nan if record.score is None else record.score for record in records], np.float64)
        frame = frames.places([record.image_id for record in records])
        label = classes.places([record.category_id for record in records])
        parts.append((frame, label, corners, size, score))
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros((0, 2)), np.zeros(0))
    columns = [np.concatenate(column) for column in zip(*(parts or [none]), strict=True)]
    boxes = RawBoxes(
        frame=columns[0],
        label=columns[1],
        corners=columns[2],
        size=columns[3],
        score=columns[4],
        where=lambda row: f"{path}: entry {row}",
    )
    return boxes, frames.strangers, classes.strangers
