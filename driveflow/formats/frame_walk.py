"""Walk through the frames of a table with their boxes, a few at a time: memory does not grow with the boxes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import Json

_AT_ONCE: Final = 256  # frames whose boxes are Python objects at a time
_BETWEEN: Final = "\0"  # what no class name holds
_NO_ATTRIBUTES: Final[Mapping[str, Json]] = {}
_EXTENSIONS: Final = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/tiff": ".tif",
    "image/x-portable-anymap": ".ppm",
    "image/avif": ".avif",
    "image/jp2": ".jp2",
}
_FRAME: Final = ("frame_id", "width", "height", "media_type", "split", "annotated_classes", "attributes")
_PLACE: Final = ("drive", "camera", "captured_ns", "clock", "lat", "lon", "speed_mps", "heading_deg")
_BOX: Final = ("box_id", "class_name", "x1", "y1", "x2", "y2", "score", "ignore", "annotator", "attributes")


@dataclass(frozen=True, slots=True)
class Box:
    """One box; a `score` makes it a prediction."""

    box_id: str
    class_name: str
    x1: float
    y1: float
    x2: float
    y2: float
    score: float | None
    ignore: bool
    annotator: str | None
    attributes: Mapping[str, Json]

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Return x1, y1, x2, y2 in upright pixels."""
        return (self.x1, self.y1, self.x2, self.y2)


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when a frame was taken, as the first of its sources says; nothing where no source is known."""

    drive: str = ""
    camera: str = ""
    captured_ns: int | None = None
    clock: str = "none"
    lat: float | None = None
    lon: float | None = None
    speed_mps: float | None = None
    heading_deg: float | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with its boxes by id; `number` is 1 to n over all frames of the walk."""

    number: int
    frame_id: str
    width: int
    height: int
    media_type: str
    split: str
    annotated_classes: tuple[str, ...]
    attributes: Mapping[str, Json]
    place: Place
    boxes: tuple[Box, ...] = ()

    @property
    def picture_name(self) -> str:
        """Return the file name of the frame: its id, and the extension that fits its content."""
        return f"{self.frame_id}{extension_of(self.media_type)}"

    @property
    def truth(self) -> tuple[Box, ...]:
        """Return the boxes that are no predictions."""
        return tuple(box for box in self.boxes if box.score is None)

    @property
    def predictions(self) -> tuple[Box, ...]:
        """Return the boxes with a score."""
        return tuple(box for box in self.boxes if box.score is not None)

    @property
    def plain(self) -> tuple[Box, ...]:
        """Return the boxes that are neither predictions nor ignore regions."""
        return tuple(box for box in self.boxes if box.score is None and not box.ignore)

    @property
    def ignore_regions(self) -> tuple[Box, ...]:
        """Return one box for each region that people drew to be ignored, for whatever classes."""
        return tuple({box.corners: box for box in reversed(self.truth) if box.ignore}.values())[::-1]

    @property
    def is_labeled(self) -> bool:
        """Tell whether somebody looked for anything in this frame, or drew a box."""
        return bool(self.annotated_classes or self.truth)


class FrameWalk:
    """Frames of `frames` by split (train, val, holdout) and id, with boxes and sources (schemas in `driveflow.tables`).

    Arrow tables are put in order once; Python objects are made for a few frames at a time.
    """

    def __init__(self, frames: pa.Table, boxes: pa.Table, sources: pa.Table) -> None:
        """Put the tables in order."""
        ranks = pc.index_in(frames["split"], value_set=pa.array(columns.SPLITS))
        self._frames = frames.append_column("rank", ranks).sort_by([("rank", "ascending"), ("frame_id", "ascending")])
        ids = pa.chunked_array([self._frames["frame_id"].combine_chunks()])
        self._boxes = _Rows(boxes, ids, ("box_id",), _BOX)
        self._scored = boxes["score"].null_count < boxes.num_rows
        self._sources = _Rows(sources, ids, ("batch", "path"), _PLACE)

    def splits(self) -> list[str]:
        """Return the splits that have frames, in order."""
        present = set(self._frames["split"].unique().to_pylist())
        return [split for split in columns.SPLITS if split in present]

    def has_predictions(self, split: str) -> bool:
        """Tell whether any frame of `split` has a box with a score."""
        return self._scored and any(frame.predictions for frame in self.frames(split))

    def frames(self, split: str = "", *, with_boxes: bool = True) -> Iterator[Frame]:
        """Yield the frames of `split`, or of all splits, by split and id."""
        start, end = self._range(split)
        for first in range(start, end, _AT_ONCE):
            last = min(first + _AT_ONCE, end)
            rows = self._frames.slice(first, last - first).select(_FRAME)
            boxes = self._boxes.of(first, last) if with_boxes else {}
            sources = self._sources.of(first, last)
            values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
            for row, value in enumerate(values, start=first):
                yield _frame(row, value, sources.get(row, []), boxes.get(row, []))

    def _range(self, split: str) -> tuple[int, int]:
        if not split:
            return 0, self._frames.num_rows
        ranks = self._frames["rank"].to_numpy()
        rank = columns.SPLITS.index(split)
        return int(np.searchsorted(ranks, rank, "left")), int(np.searchsorted(ranks, rank, "right"))


class _Rows:
    """Rows of a table by the row of their frame."""

    def __init__(self, table: pa.Table, ids: pa.ChunkedArray, order: tuple[str, ...], names: tuple[str, ...]) -> None:
        row = pc.index_in(table["frame_id"], value_set=ids.combine_chunks())
        known = table.append_column("row", row).filter(pc.is_valid(row))
        keys = [("row", "ascending"), *((name, "ascending") for name in order)]
        self._table = known.sort_by(keys).select(names)
        self._row = np.sort(known["row"].to_numpy())

    def of(self, first: int, last: int) -> dict[int, list[tuple[Any, ...]]]:
        """Return the rows of the frames from `first` on, before `last`."""
        start, end = np.searchsorted(self._row, (first, last))
        part = self._table.slice(int(start), int(end - start))
        values = zip(*(column.to_pylist() for column in part.columns), strict=True)
        found: dict[int, list[tuple[Any, ...]]] = {}
        for row, value in zip(self._row[start:end].tolist(), values, strict=True):
            found.setdefault(row, []).append(value)
        return found


def class_lists(frames: pa.Table) -> dict[tuple[str, ...], int]:
    """Return the lists of annotated classes, and how many frames have each."""
    joined = pc.binary_join(frames["annotated_classes"].combine_chunks(), _BETWEEN).value_counts()
    counts = ((item["values"].as_py(), item["counts"].as_py()) for item in joined)
    return {tuple(text.split(_BETWEEN)) if text else (): count for text, count in counts}


def extension_of(media_type: str) -> str:
    """Return the extension that fits content of this type, with its dot."""
    return _EXTENSIONS.get(media_type, "")


def _frame(row: int, values: tuple[Any, ...], sources: list[tuple[Any, ...]], boxes: list[tuple[Any, ...]]) -> Frame:
    *known, annotated, attributes = values
    place = Place(*sources[0]) if sources else Place()
    found = tuple(Box(*(*box[:-1], _parsed(box[-1]))) for box in boxes)
    return Frame(*(row + 1, *known, tuple(annotated), _parsed(attributes), place, found))


def _parsed(text: str) -> Mapping[str, Json]:
    if text == "{}":
        return _NO_ATTRIBUTES
    found: dict[str, Json] = msgspec.json.decode(text)
    return found
