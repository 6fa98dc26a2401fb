"""Boxes that cannot be right: outside their picture, without area, there twice, or of a size no other has."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from driveflow.flow.data_validation_section import DataValidationSection
from validation.data.pairs import overlapping
from validation.data.report import Check, Suspect, judged
from validation.data.request import CORNERS, Prepared

_LEAST_SPREAD = 0.1  # of a logarithm: a class whose boxes are all alike is not judged by a hair
_OF_CLASS = 30  # boxes of a class, fewer say nothing of its sizes


def check_boxes(data: Prepared, settings: DataValidationSection) -> Iterator[Check]:
    """Return a check for each way a box can be wrong; ignore regions may be as they like."""
    boxes = data.boxes.filter(pl.all_horizontal(pl.col(name).is_finite() for name in CORNERS))
    out = _outside(boxes)
    rows = boxes.filter(out > settings.outside_px).with_columns(_by=out.filter(out > settings.outside_px))
    limits = (settings.outside_review, settings.outside_block)
    yield _check("boxes_outside", rows, boxes.height, limits, settings, lambda row: f"{row['_by']:.0f} px outside")
    flat = (pl.col("x2") <= pl.col("x1")) | (pl.col("y2") <= pl.col("y1"))
    limits = (settings.empty_review, settings.empty_block)
    yield _check("boxes_empty", boxes.filter(flat), boxes.height, limits, settings, lambda _: "has no area")
    whole = boxes.filter(~flat)
    yield _twice(whole, settings)
    limits = (settings.size_review, settings.size_block)
    yield _check(
        "boxes_size", _odd_sizes(whole, settings), whole.height, limits, settings, lambda row: str(row["_why"])
    )


def _outside(boxes: pl.DataFrame) -> pl.Series:
    """Return by how many pixels each box reaches out of its picture."""
    edges = (-pl.col("x1"), -pl.col("y1"), pl.col("x2") - pl.col("width"), pl.col("y2") - pl.col("height"))
    return boxes.select(pl.max_horizontal(*edges, 0.0).alias("by"))["by"]


def _twice(boxes: pl.DataFrame, settings: DataValidationSection) -> Check:
    """Look for boxes of one class that lie on each other."""
    place = boxes.select(pl.struct("frame_id", "class_name").rank("dense"))["frame_id"].to_numpy().astype(np.int64)
    pairs = overlapping(place, boxes.select(CORNERS).to_numpy().astype(np.float64), settings.twice_min_iou)
    again, first = np.unique(pairs.second, return_index=True)
    rows = boxes[again].with_columns(_iou=pairs.iou[first], **_other(boxes[pairs.first[first]]))
    limits = (settings.twice_review, settings.twice_block)
    return _check(
        "boxes_twice", rows, boxes.height, limits, settings, lambda row: f"IoU {row['_iou']:.2f} with another"
    )


def _other(boxes: pl.DataFrame) -> dict[str, pl.Series]:
    return {f"_other_{name}": boxes[name] for name in CORNERS}


def _odd_sizes(boxes: pl.DataFrame, settings: DataValidationSection) -> pl.DataFrame:
    """Return the boxes with a side of hardly any pixels, or far from all others of their class in area or aspect.

    Of an object that the edge of its picture cuts only a part is seen, so its area and aspect say nothing.
    """
    width, height = pl.col("x2") - pl.col("x1"), pl.col("y2") - pl.col("y1")
    sized = boxes.with_columns(
        _side=pl.min_horizontal(width, height),
        _area=(width * height / (pl.col("width") * pl.col("height"))).log(),
        _aspect=(width / height).log(),
    )
    judged_rows = sized.with_columns(*(_robust_z(name).alias(f"{name}_z") for name in ("_area", "_aspect")))
    limit = settings.size_max_z
    far = (pl.col("_area_z").abs() > limit) | (pl.col("_aspect_z").abs() > limit)
    odd = judged_rows.filter((pl.col("_side") < settings.size_min_side_px) | (far & ~_is_cut()))
    small = pl.format("{} px on its smaller side", pl.col("_side").round(1))
    area = pl.format("area {} robust deviations from its class", pl.col("_area_z").round(1))
    aspect = pl.format("aspect {} robust deviations from its class", pl.col("_aspect_z").round(1))
    unlike = pl.when(pl.col("_area_z").abs() > limit).then(area).otherwise(aspect)
    why = pl.when(pl.col("_side") < settings.size_min_side_px).then(small).otherwise(unlike)
    worst = pl.max_horizontal(pl.col("_area_z").abs(), pl.col("_aspect_z").abs())
    return odd.with_columns(_why=why).sort(worst, "frame_id", "box_id", descending=[True, False, False])


def _is_cut() -> pl.Expr:
    """Tell which boxes reach the edge of their picture, to a pixel."""
    low = (pl.col("x1") <= 1) | (pl.col("y1") <= 1)
    return low | (pl.col("x2") >= pl.col("width") - 1) | (pl.col("y2") >= pl.col("height") - 1)


def _robust_z(name: str) -> pl.Expr:
    """Return by how many robust standard deviations a value differs from its class; 0 in a class of few boxes."""
    value = pl.col(name)
    center = value.median().over("class_name")
    spread = (value - center).abs().median().over("class_name") * 1.4826
    z = (value - center) / pl.max_horizontal(spread, _LEAST_SPREAD)
    return pl.when(pl.len().over("class_name") >= _OF_CLASS).then(z).otherwise(0.0)


def _check(
    name: str,
    rows: pl.DataFrame,
    n: int,
    limits: tuple[float, float],
    settings: DataValidationSection,
    detail: Callable[[dict[str, object]], str],
) -> Check:
    """Return the check of a share of boxes."""
    share = rows.height / n if n else None
    told = f"{rows.height:,} of {n:,} boxes" if n else "There are no boxes"
    check = Check(
        name=name,
        outcome="PASS",
        reason=f"{told}{_MEANING[name] if n else ''}.",
        value=share,
        unit="share of boxes",
        review=limits[0],
        block=limits[1],
        found=rows.height,
        n=n,
        suspects=box_suspects(rows, settings.examples, detail),
    )
    return judged(check, settings.min_n)


_MEANING = {
    "boxes_outside": " reach out of their picture",
    "boxes_empty": " have no area",
    "boxes_twice": " lie on another box of their class",
    "boxes_size": " have a size that no other of their class has",
}


def box_suspects(rows: pl.DataFrame, most: int, detail: Callable[[dict[str, object]], str]) -> tuple[Suspect, ...]:
    """Return up to `most` of `rows` as suspects, from different frames first."""
    turn = pl.int_range(pl.len()).over("frame_id")
    shown = rows.with_columns(_turn=turn).sort("_turn", maintain_order=True).head(most)
    return tuple(_suspect(row, detail(row)) for row in shown.iter_rows(named=True))


def _suspect(row: dict[str, object], detail: str) -> Suspect:
    return Suspect(
        frame_id=str(row["frame_id"]),
        detail=detail,
        box_id=str(row["box_id"]),
        class_name=str(row["class_name"]),
        corners=_corners(row, CORNERS),
        other=_corners(row, [f"_other_{name}" for name in CORNERS]) if "_other_x1" in row else None,
        other_name=str(row.get("_other_name", "")),
    )


def _corners(row: dict[str, object], names: Sequence[str]) -> tuple[float, float, float, float] | None:
    values = [row[name] for name in names]
    if any(value is None for value in values):
        return None
    x1, y1, x2, y2 = (float(value) for value in values)  # type: ignore[arg-type]
    return x1, y1, x2, y2
