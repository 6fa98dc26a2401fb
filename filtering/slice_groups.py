"""The groups of frames that slices of validation make: one a slice, or one for each value that it is cut along."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.dimension_values import HEIGHTS_PX, NOT_STATED, bin_names, bins, said_of_frames
from driveflow.flow.sections import BOX_DIMENSIONS, Dimension, SliceSection
from driveflow.predicates import matches
from driveflow.where import FRAME_COLUMNS, compile_where
from filtering.miners.material import Mask, Material
from filtering.rarity import evidence

_OF_BOXES: Final[tuple[Dimension, ...]] = ("class", "size")  # what a detection has too; the rest only labels say


def slice_rows(material: Material, slices: Sequence[SliceSection]) -> pl.DataFrame:
    """Return `name` of each group and the `row` of each of its frames, in the order of the slices, then of the values.

    A slice that is cut makes NAME/VALUE/VALUE, as in validation; occlusion and distance, which no detection has, are
    left out, and a slice that is cut along nothing else makes no group.
    """
    boxes = evidence(material.tables, material.tables.classes, material.sure(), material.min_score)
    boxes = boxes.filter(pc.invert(pc.fill_null(boxes["ignore"], False)))
    parts = [_rows(material, boxes, part) for part in slices]
    return pl.concat([pl.DataFrame(schema={"name": pl.String, "row": pl.Int64}), *parts])


def _rows(material: Material, boxes: pa.Table, part: SliceSection) -> pl.DataFrame:
    inside = pl.DataFrame({"row": np.flatnonzero(_inside(material, boxes, part))})
    asked = [dimension for dimension in part.by if dimension not in BOX_DIMENSIONS or dimension in _OF_BOXES]
    if part.by and not asked:
        return pl.DataFrame(schema={"name": pl.String, "row": pl.Int64})
    found = inside
    for dimension in asked:
        if dimension not in BOX_DIMENSIONS:
            found = found.join(_of_frames(material, dimension), on="row")
    if set(asked) & set(_OF_BOXES):
        found = found.join(_of_boxes(material, boxes), on="row")
    name = pl.concat_str(pl.lit(part.name), *(pl.col(item) for item in asked), separator="/")
    return found.select(name=name, row="row").unique().sort("name", "row")


def _inside(material: Material, boxes: pa.Table, part: SliceSection) -> Mask:
    mask = matches(material.tables.frames, boxes, part.where)
    if part.expression:
        mask &= compile_where(part.expression, FRAME_COLUMNS).mask(material.tables.frames, material.tables.sources)
    return mask


def _of_frames(material: Material, dimension: Dimension) -> pl.DataFrame:
    """Return the values of every frame; one that says nothing has the value for that."""
    _, said = said_of_frames(material.tables.frames, material.tables.sources, dimension)
    ids = pl.Series(material.tables.frames["frame_id"], dtype=pl.String)
    every = pl.DataFrame({"frame_id": ids, "row": np.arange(material.count)})
    found = every.join(said.filter(pl.col("value") != "").unique(), on="frame_id", how="left")
    return found.select("row", pl.col("value").fill_null(NOT_STATED).alias(dimension))


def _of_boxes(material: Material, boxes: pa.Table) -> pl.DataFrame:
    heights = pc.subtract(boxes["y2"], boxes["y1"]).to_numpy()
    sizes = np.array([*bin_names(HEIGHTS_PX), NOT_STATED])[bins(HEIGHTS_PX, heights)]
    names = pl.Series(boxes["class_name"], dtype=pl.String)
    found = pl.DataFrame(
        {"row": material.rows_of(boxes["frame_id"]), "class": names, "size": pl.Series(sizes, dtype=pl.String)}
    )
    return found.unique()
