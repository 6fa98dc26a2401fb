"""What is compared between two snapshots: each column as a value, of a frame of a drive group."""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import polars as pl

from driveflow.predicates import attribute
from validation.data.request import Prepared

Kind = Literal["category", "number"]

_TAGS: Final = ("time_of_day", "weather", "scene")
_SIGNALS: Final = ("brightness", "contrast", "saturation", "sharpness")
_MOST_CLASSES: Final = 20  # of which the heights are compared one by one


class Column(NamedTuple):
    """One column of both sides: frame_id, drive_group, value."""

    name: str
    kind: Kind
    before: pl.DataFrame
    now: pl.DataFrame


def drift_columns(before: Prepared, now: Prepared, classes: tuple[str, ...]) -> Iterator[Column]:
    """Return every column that is compared."""
    sides = (before, now)
    yield Column("class of boxes", "category", *(_of_boxes(side, pl.col("class_name")) for side in sides))
    for key in _TAGS:
        yield Column(key, "category", *(_tag(side, key) for side in sides))
    yield Column("camera", "category", *(_camera(side) for side in sides))
    size = pl.format("{} x {}", "width", "height")
    yield Column("picture size", "category", *(_of_frames(side.frames, size) for side in sides))
    yield Column("boxes in a frame", "number", *(_box_counts(side) for side in sides))
    height = (pl.col("y2") - pl.col("y1")) / pl.col("height")
    aspect = (pl.col("x2") - pl.col("x1")) / (pl.col("y2") - pl.col("y1"))
    yield Column("height of boxes", "number", *(_of_boxes(side, height) for side in sides))
    yield Column("aspect of boxes", "number", *(_of_boxes(side, aspect) for side in sides))
    for name in classes[:_MOST_CLASSES]:
        own = (_of_boxes(side, height, name) for side in sides)
        yield Column(f"height of {name}", "number", *own)
    for name in _SIGNALS:
        yield Column(name, "number", *(_signal(side, name) for side in sides))


def _of_frames(frames: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    return frames.select("frame_id", "drive_group", value=value).drop_nulls()


def _of_boxes(side: Prepared, value: pl.Expr, class_name: str = "") -> pl.DataFrame:
    boxes = side.boxes.filter(pl.col("class_name") == class_name) if class_name else side.boxes
    return _finite(_of_frames(boxes, value))


def _finite(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("value").is_finite()) if rows["value"].dtype.is_float() else rows


def _tag(side: Prepared, key: str) -> pl.DataFrame:
    """Return what frames are tagged as; those without a tag say nothing."""
    said = pl.Series("value", attribute(side.side.frames, key), dtype=pl.String)
    return _of_frames(side.frames.with_columns(said), pl.col("value")).filter(pl.col("value") != "")


def _camera(side: Prepared) -> pl.DataFrame:
    of_frame = side.shots.unique("frame_id", keep="first", maintain_order=True).select("frame_id", "camera")
    return _of_frames(side.frames.join(of_frame, on="frame_id"), pl.col("camera"))


def _box_counts(side: Prepared) -> pl.DataFrame:
    """Return the number of boxes of frames in which somebody looked."""
    counts = side.boxes.group_by("frame_id").agg(boxes=pl.len().cast(pl.Float64))
    looked = side.frames.filter(pl.col("annotated_classes").list.len() > 0)
    rows = looked.join(counts, on="frame_id", how="left", maintain_order="left")
    return _of_frames(rows, pl.col("boxes").fill_null(0.0))


def _signal(side: Prepared, name: str) -> pl.DataFrame:
    rows = side.frames.join(side.signals.select("frame_id", name), on="frame_id", maintain_order="left")
    return _finite(_of_frames(rows, pl.col(name).cast(pl.Float64)))
