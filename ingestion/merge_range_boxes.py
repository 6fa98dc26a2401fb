"""Unite the boxes of a range of frames: those of a frame of which one batch speaks are passed on as they lie."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.table_digest import first_of_equal, rows_of_runs
from ingestion.merge_boxes import DISPUTED, Settler, looked_by
from ingestion.merge_stack import Stack
from ingestion.overlap import Ints

_NOBODY = -1  # turn of what is settled


@dataclass(frozen=True, slots=True)
class RangeOfBoxes:
    """The boxes of a range of frames, who looked at those of which several speak, and which frames have a place.

    `looked` has frame_id, annotated_classes, turn and by, `places` frame_id and place, sorted.
    """

    stack: Stack
    looked: pl.DataFrame
    places: pl.DataFrame


@dataclass(frozen=True, slots=True)
class UnitedRange:
    """The boxes left (BOXES, sorted by key), what a review must look at, and how many are of frames without a place."""

    boxes: pa.Table
    disputed: pl.DataFrame
    leaked: int


def unite_range(some: RangeOfBoxes, settler: Settler) -> UnitedRange:
    """Return one set of boxes for each frame and class; boxes that several drew are settled by `settler`."""
    stacked = some.stack.table
    runs = _runs(stacked["frame_id"], some.stack.turns)
    speakers = _speakers(runs.filter(pl.Series(some.stack.is_shared[runs["start"].to_numpy()])), some.looked)
    disputed = pl.DataFrame(schema=DISPUTED)
    if speakers.height:
        is_disputed = runs["frame_id"].is_in(speakers["frame_id"].implode())
        crowd = replace(some.stack, is_shared=np.repeat(is_disputed.to_numpy(), runs["rows"].to_numpy())).shared()
        left = settler.settle(crowd, looked_by(some.looked, speakers))
        settled = left.select(columns.BOXES.names).to_arrow().cast(columns.BOXES)
        fresh = _runs(settled["frame_id"], np.full(settled.num_rows, _NOBODY))
        runs = pl.concat([runs.filter(~is_disputed), fresh.with_columns(pl.col("start") + stacked.num_rows)])
        stacked = pa.concat_tables([stacked, settled])
        disputed = settler.disputed()
    placed = runs.join(some.places.select("frame_id", "place"), on="frame_id", how="left")
    leaked = placed["place"].is_null()
    boxes = _gathered(stacked, placed.filter(~leaked).sort("place"))
    return UnitedRange(boxes, disputed, int(placed["rows"].filter(leaked).sum()))


def _runs(frames: pa.ChunkedArray, turns: Ints) -> pl.DataFrame:
    """Return frame_id, first row and count of rows of what each turn says of each frame; those rows stand together."""
    starts = first_of_equal(pa.table({"frame_id": frames, "turn": turns}))
    rows = np.diff(starts, append=len(frames))
    ids = pl.Series(frames.take(pa.array(starts)), dtype=pl.String)
    return pl.DataFrame({"frame_id": ids, "start": starts, "rows": rows, "turn": turns[starts]})


def _speakers(runs: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and turn of all who speak of a frame that another speaks of too."""
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs.select("frame_id", "turn"), spoken]).unique()
    return speakers.filter(pl.col("frame_id").is_duplicated())


def _gathered(stacked: pa.Table, runs: pl.DataFrame) -> pa.Table:
    """Return the rows of all runs; the frame is the same for each row of a run, and its id is long."""
    ids = runs["frame_id"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
    frames = ids.take(pa.array(np.repeat(np.arange(runs.height), runs["rows"].to_numpy())))
    rest = stacked.drop_columns(["frame_id"]).take(pa.array(_spread(runs)))
    return rest.add_column(0, columns.BOXES.field("frame_id"), frames)


def _spread(runs: pl.DataFrame) -> Ints:
    return rows_of_runs(runs["start"].to_numpy(), runs["rows"].to_numpy())
