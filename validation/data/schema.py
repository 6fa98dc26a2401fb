"""What no table of a snapshot may hold: a number that is none, a box turned inside out, a frame that is not there."""

import json
from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from validation.data.report import Check, Suspect, judged
from validation.data.request import CORNERS, DataRequest

_NOT_NULL = {
    "frames": ("frame_id", "width", "height", "split", "drive_group", "annotated_classes"),
    "sources": ("frame_id", "batch", "path", "drive", "camera"),
    "boxes": ("frame_id", "box_id", "class_name", *CORNERS),
}


def check_schema(request: DataRequest) -> Check:
    """Return whether all rows are rows of a snapshot; a single one that is none blocks."""
    found = [*_missing(request), *_frames(request), *_sources(request), *_boxes(request), *_attributes(request)]
    rows = sum(getattr(request.side, name).num_rows for name in _NOT_NULL)
    suspects = [suspect for _, some in found for suspect in some][: request.settings.examples]
    count = sum(number for number, _ in found)
    kinds = sorted({suspect.detail for _, some in found for suspect in some})
    reason = "Every row is as the schema has it." if not count else f"{count:,} rows are broken: {'; '.join(kinds)}."
    check = Check("schema", "PASS", reason, float(count), "rows", None, 0.0, count, rows, tuple(suspects))
    return judged(check, min_n=0)


def _missing(request: DataRequest) -> Iterator[tuple[int, list[Suspect]]]:
    for table, names in _NOT_NULL.items():
        rows: pa.Table = getattr(request.side, table)
        for name in names:
            if rows[name].null_count:
                yield rows[name].null_count, [Suspect("", f"{table}.{name} is missing")]


def _frames(request: DataRequest) -> Iterator[tuple[int, list[Suspect]]]:
    frames = _table(request.side.frames, "frame_id", "width", "height", "split")
    yield _those(frames, (pl.col("width") <= 0) | (pl.col("height") <= 0), "a picture has no size")
    yield _those(frames, ~pl.col("split").is_in(list(columns.SPLITS)), "a split is none of train, val and holdout")
    yield _those(frames, pl.col("frame_id").is_duplicated(), "a frame is there twice")
    listed = _table(request.side.frames, "frame_id", "annotated_classes")
    listed = listed.explode("annotated_classes", empty_as_null=False)
    foreign = ~pl.col("annotated_classes").is_in(list(request.classes))
    yield _those(listed, foreign, "an annotated class is not in the taxonomy")


def _sources(request: DataRequest) -> Iterator[tuple[int, list[Suspect]]]:
    sources = _table(request.side.sources, "frame_id", "lat", "lon")
    known = _table(request.side.frames, "frame_id")["frame_id"].unique()
    yield _those(sources, ~pl.col("frame_id").is_in(known.implode()), "a source is of no frame")
    off = (pl.col("lat").abs() > 90.0) | (pl.col("lon").abs() > 360.0)
    yield _those(sources, off, "a place is not on Earth")


def _boxes(request: DataRequest) -> Iterator[tuple[int, list[Suspect]]]:
    boxes = _table(request.side.boxes, "frame_id", "box_id", "class_name", *CORNERS)
    known = _table(request.side.frames, "frame_id")["frame_id"].unique()
    yield _those(boxes, ~pl.col("frame_id").is_in(known.implode()), "a box is of no frame")
    yield _those(boxes, ~pl.col("class_name").is_in(list(request.classes)), "a class is not in the taxonomy")
    finite = pl.all_horizontal(pl.col(name).is_finite() for name in CORNERS)
    yield _those(boxes, ~finite, "a corner is no number")
    turned = (pl.col("x2") < pl.col("x1")) | (pl.col("y2") < pl.col("y1"))
    yield _those(boxes.filter(finite.fill_null(value=False)), turned, "a box ends before it begins")
    again = pl.struct("frame_id", "box_id").is_duplicated()
    yield _those(boxes, again, "two boxes of a frame have one id")


def _attributes(request: DataRequest) -> Iterator[tuple[int, list[Suspect]]]:
    for name in ("frames", "boxes"):
        table = _table(getattr(request.side, name), "frame_id", "attributes")
        texts = table["attributes"].unique().drop_nulls()
        odd = [text for text in texts.to_list() if not _is_object(text)]
        yield _those(table, pl.col("attributes").is_in(odd), f"attributes of {name} are no JSON object")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _table(table: pa.Table, *names: str) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table.select(list(names))))


def _those(rows: pl.DataFrame, condition: pl.Expr, detail: str) -> tuple[int, list[Suspect]]:
    odd = rows.filter(condition.fill_null(value=False))
    shown = odd.head(5)
    boxes = shown["box_id"].to_list() if "box_id" in shown.columns else [""] * shown.height
    ids = zip(shown["frame_id"].to_list(), boxes, strict=True)
    return odd.height, [Suspect(frame_id or "", detail, box_id or "") for frame_id, box_id in ids]
