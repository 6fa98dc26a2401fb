"""Unite the boxes of a range of frames: those of a frame of which one batch speaks are passed on as they lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.table_digest import first_of_equal, rows_of_runs
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
    tables = [part.boxes for part in some.parts]
    stacked = pa.concat_tables(tables)
    runs = _runs(stacked["frame_id"], [(part.turn, part.boxes.num_rows) for part in some.parts])
    speakers = _speakers(runs, some.looked)
    disputed = pl.DataFrame(schema=DISPUTED)
    if speakers.height:
        is_shared = runs["frame_id"].is_in(speakers["frame_id"].implode())
        crowd = _crowd(stacked, runs.filter(is_shared), {part.turn: part.by for part in some.parts})
        left = settler.settle(crowd, looked_by(some.looked, speakers))
        settled = left.select(columns.BOXES.names).to_arrow().cast(columns.BOXES)
        fresh = _runs(settled["frame_id"], [(_NOBODY, settled.num_rows)])
        runs = pl.concat([runs.filter(~is_shared), fresh.with_columns(pl.col("start") + stacked.num_rows)])
        stacked = pa.concat_tables([stacked, settled])
        disputed = settler.disputed()
    placed = runs.join(some.places.select("frame_id", "place"), on="frame_id", how="left")
    leaked = placed["place"].is_null()
    boxes = _gathered(stacked, placed.filter(~leaked).sort("place"))
    return UnitedRange(boxes, disputed, int(placed["rows"].filter(leaked).sum()))


def _runs(frames: pa.ChunkedArray, parts: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Return frame_id, turn, first row and count of rows of what each part says of each frame.

    `frames` has the frame of each row, one part after the other; `parts` are their turns and how many rows they have.
    """
    ends = np.cumsum([rows for _, rows in parts])
    begins = np.union1d(first_of_equal(pa.table({"frame_id": frames})), ends[:-1][ends[:-1] < len(frames)])
    turns = np.array([turn for turn, _ in parts], np.int64)
    return pl.DataFrame(
        {
            "frame_id": pl.Series(frames.take(pa.array(begins)), dtype=pl.String),
            "start": begins,
            "rows": np.diff(begins, append=len(frames)),
            "turn": turns[np.searchsorted(ends, begins, side="right")],
        }
    )


def _speakers(runs: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and turn of all who speak of a frame that another speaks of too."""
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs.select("frame_id", "turn"), spoken]).unique()
    return speakers.filter(pl.col("frame_id").is_duplicated())


def _crowd(stacked: pa.Table, runs: pl.DataFrame, names: Mapping[int, str]) -> pl.DataFrame:
    """Return the boxes of `runs`, with who drew them."""
    boxes = pl.DataFrame(pl.from_arrow(stacked.take(pa.array(_spread(runs)))))
    whose = runs.select("turn", by=pl.col("turn").replace_strict(names, return_dtype=pl.String))
    drawn = np.repeat(np.arange(runs.height), runs["rows"].to_numpy())
    return boxes.hstack(whose.select(pl.all().gather(pl.Series(drawn))))


def _gathered(stacked: pa.Table, runs: pl.DataFrame) -> pa.Table:
    """Return the rows of all runs; the frame is the same for each row of a run, and its id is long."""
    ids = runs["frame_id"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
    frames = ids.take(pa.array(np.repeat(np.arange(runs.height), runs["rows"].to_numpy())))
    rest = stacked.drop_columns(["frame_id"]).take(pa.array(_spread(runs)))
    return rest.add_column(0, columns.BOXES.field("frame_id"), frames)


def _spread(runs: pl.DataFrame) -> Ints:
    return rows_of_runs(runs["start"].to_numpy(), runs["rows"].to_numpy())
