"""The boxes that annotators start from: what the frames have of a missing class, and what a model sees in them."""

import json
import math
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.snapshots import SnapshotTables
from driveflow.truth import predictions_of, truth_of
from labeling.answer_boxes import Corners, clip
from labeling.manifest import SentBox

_COLUMNS = ("frame_id", "box_id", "class_name", "x1", "y1", "x2", "y2", "score", "origin", "attributes")


def sent_boxes(
    tables: SnapshotTables, predictions: pa.Table | None, asked: Mapping[str, tuple[str, ...]], min_score: float
) -> dict[str, tuple[SentBox, ...]]:
    """Return the boxes to send with each frame: of its asked classes, inside the picture, each id once a frame."""
    ids = pa.array(sorted(asked), pa.string())
    frames = tables.frames.filter(pc.is_in(tables.frames["frame_id"], ids))
    sizes = {
        frame_id: (width, height)
        for frame_id, width, height in zip(
            *(frames[name].to_pylist() for name in ("frame_id", "width", "height")), strict=True
        )
    }
    found: dict[str, dict[str, SentBox]] = {}
    wanted = tables.boxes.filter(pc.invert(tables.boxes["ignore"]))
    sources = [truth_of(wanted)]
    for guesses in (predictions, predictions_of(wanted)):
        if guesses is not None:
            sources.append(guesses.filter(pc.greater_equal(guesses["score"], min_score)))
    for table in sources:
        for frame_id, box in _boxes(table.filter(pc.is_in(table["frame_id"], ids)), sizes):
            if box.class_name in asked[frame_id]:
                found.setdefault(frame_id, {}).setdefault(box.box_id, box)  # what the frame has goes before a guess
    return {frame_id: tuple(boxes[key] for key in sorted(boxes)) for frame_id, boxes in found.items()}


def _boxes(table: pa.Table, sizes: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, SentBox]]:
    for frame_id, box_id, class_name, *corners, score, origin, attributes in zip(
        *(table[name].to_pylist() for name in _COLUMNS), strict=True
    ):
        inside = _inside(corners, sizes[frame_id])
        if inside is not None:
            x1, y1, x2, y2 = inside
            yield (
                frame_id,
                SentBox(
                    box_id=box_id,
                    class_name=class_name,
                    x1=x1,
                    y1=y1,
                    x2=x2,
                    y2=y2,
                    score=score,
                    origin=origin,
                    attributes=_plain(attributes),
                ),
            )


def _inside(corners: list[float], size: tuple[int, int]) -> Corners | None:
    if not all(math.isfinite(value) for value in corners):
        return None
    x1, y1, x2, y2 = corners
    inside = clip((x1, y1, x2, y2), *size)
    return inside if inside[0] < inside[2] and inside[1] < inside[3] else None


def _plain(attributes: str | None) -> dict[str, str | int | float | bool | None]:
    """Return what a labeling tool can show: attributes with a plain value."""
    found = json.loads(attributes or "{}")
    return {
        name: value for name, value in found.items() if value is None or isinstance(value, str | int | float | bool)
    }
