"""Unite the boxes of a range of frames: those of a frame of which one batch speaks are passed on as they lie."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.table_digest import first_of_equal
from ingestion.merge_boxes import DISPUTED, Settler, looked_by
from ingestion.overlap import Ints

_NOBODY = -1  # turn of what is settled


@dataclass(frozen=True, slots=True)
class BoxPart:
    """The boxes of one batch (BOXES, sorted by key), its turn and its name."""

    turn: int
    by: str
    boxes: pa.Table


@dataclass(frozen=True, slots=True)
class RangeOfBoxes:
    """The boxes of a range of frames, part by part, who looked at them, and which frames have a place.

    `looked` has frame_id, annotated_classes, turn and by, `places` frame_id and place, sorted.
    """

    parts: Sequence[BoxPart]
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
    firsts = np.cumsum([0, *(part.boxes.num_rows for part in some.parts)])
    runs = pl.concat(_runs(part, int(first)) for part, first in zip(some.parts, firsts, strict=False))
    speakers = _speakers(runs, some.looked)
    tables = [part.boxes for part in some.parts]
    disputed = pl.DataFrame(schema=DISPUTED)
    if speakers.height:
        shared = pl.col("frame_id").is_in(speakers["frame_id"].implode())
        crowd = pl.concat(
            _crowd(part, int(first), runs.filter(shared & (pl.col("turn") == part.turn)))
            for part, first in zip(some.parts, firsts, strict=False)
        )
        left = settler.settle(crowd, looked_by(some.looked, speakers))
        settled = left.select(columns.BOXES.names).to_arrow().cast(columns.BOXES)
        runs = pl.concat([runs.filter(~shared), _runs(BoxPart(_NOBODY, "", settled), int(firsts[-1]))])
        tables.append(settled)
        disputed = settler.disputed()
    placed = runs.join(some.places.select("frame_id", "place"), on="frame_id", how="left")
    leaked = placed["place"].is_null()
    boxes = _gathered(tables, placed.filter(~leaked).sort("place"))
    return UnitedRange(boxes, disputed, int(placed["rows"].filter(leaked).sum()))


def _runs(part: BoxPart, first: int) -> pl.DataFrame:
    """Return frame_id, turn, first row and count of rows of what a batch says of each frame; it begins at `first`."""
    begins = first_of_equal(part.boxes.select(["frame_id"]))
    found = {
        "frame_id": pl.Series(part.boxes["frame_id"].take(pa.array(begins)), dtype=pl.String),
        "start": begins + first,
        "rows": np.diff(begins, append=part.boxes.num_rows),
    }
    return pl.DataFrame(found).with_columns(turn=pl.lit(part.turn, pl.Int64))


def _speakers(runs: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and turn of all who speak of a frame that another speaks of too."""
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs.select("frame_id", "turn"), spoken]).unique()
    return speakers.filter(pl.col("frame_id").is_duplicated())


def _crowd(part: BoxPart, first: int, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes of `runs`, with who drew them."""
    taken = part.boxes.take(pa.array(_spread(runs) - first))
    boxes = pl.DataFrame(pl.from_arrow(taken))
    return boxes.with_columns(turn=pl.lit(part.turn, pl.Int64), by=pl.lit(part.by))


def _gathered(tables: Sequence[pa.Table], runs: pl.DataFrame) -> pa.Table:
    """Return the rows of all runs; the frame is the same for each row of a run, and its id is long."""
    rest = pa.concat_tables(tables).drop_columns(["frame_id"]).combine_chunks()
    ids = runs["frame_id"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
    frames = ids.take(pa.array(np.repeat(np.arange(runs.height), runs["rows"].to_numpy())))
    return rest.take(pa.array(_spread(runs))).add_column(0, columns.BOXES.field("frame_id"), frames)


def _spread(runs: pl.DataFrame) -> Ints:
    """Return the rows of all runs, one run after the other."""
    starts, counts = runs["start"].to_numpy(), runs["rows"].to_numpy()
    firsts = np.repeat(starts - (np.cumsum(counts) - counts), counts)
    rows: Ints = firsts + np.arange(len(firsts))
    return rows
