"""Unite the boxes of whole batches some frames at a time: memory goes by what is looked at, not by what there is.

Batches are sorted by frame. Boxes of a frame of which one batch speaks are passed on as they lie; only the others are
settled.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.aside import Aside, let_go
from driveflow.table_digest import first_of_equal
from ingestion.merge_boxes import BoxRules, Settler, looked_by
from ingestion.overlap import Ints

_BOXES_AT_ONCE = 200_000  # looked at together; bounds memory, not the result
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class BoxPart:
    """The boxes of one batch (BOXES, sorted by key), its turn and its name."""

    turn: int
    by: str
    boxes: pa.Table


@dataclass(frozen=True, slots=True)
class RangedBoxes:
    """The boxes left (BOXES, sorted by key), rows of CONFLICTS, what a review must look at, and where the others went.

    `leaked` counts boxes that are left of frames without a place.
    """

    boxes: pa.Table
    conflicts: pa.Table
    disputed: pl.DataFrame
    counts: Mapping[str, int]
    leaked: int


@dataclass(slots=True)
class _Union:
    """What is united so far."""

    settler: Settler
    looked: pl.DataFrame  # sorted by frame_id
    places: pl.DataFrame  # frame_id of the frames that have a place, sorted, and their number
    done: Aside = field(default_factory=lambda: Aside(columns.BOXES))
    leaked: int = 0


def unite_in_ranges(
    parts: Sequence[BoxPart], looked: pl.DataFrame, placed: pl.Series, rules: BoxRules, at_once: int = _BOXES_AT_ONCE
) -> RangedBoxes:
    """Return one set of boxes for each frame and class of the `placed` frames.

    `looked` has frame_id, annotated_classes, turn and by of every frame of the batches.
    """
    places = placed.sort().to_frame("frame_id").with_row_index("place")
    union = _Union(Settler(rules), looked.sort("frame_id", maintain_order=True), places)
    for some in _ranges(parts, union.looked, at_once):
        _unite(some, union)
        let_go()
    settler = union.settler
    return RangedBoxes(union.done.table(), settler.conflicts(), settler.disputed(), settler.counts, union.leaked)


@dataclass(frozen=True, slots=True)
class _Range:
    """The boxes of a range of frames, part by part, and who looked at them."""

    parts: list[BoxPart]
    looked: pl.DataFrame


def _ranges(parts: Sequence[BoxPart], looked: pl.DataFrame, at_once: int) -> Iterator[_Range]:
    count = -(-sum(part.boxes.num_rows for part in parts) // at_once) or 1
    frames = looked["frame_id"]
    firsts = sorted({frames[len(frames) * number // count] for number in range(1, count)}) if len(frames) else []
    cuts = [_cuts(part.boxes["frame_id"], firsts) for part in parts]
    heard = _cuts(frames, firsts)
    for number, (start, end) in enumerate(pairwise(heard)):
        some = [
            BoxPart(part.turn, part.by, part.boxes.slice(mine[number], mine[number + 1] - mine[number]))
            for part, mine in zip(parts, cuts, strict=True)
        ]
        yield _Range(some, looked.slice(start, end - start))


def _cuts(frames: pa.ChunkedArray | pl.Series, firsts: Sequence[str]) -> list[int]:
    """Return where in sorted `frames` each range begins, and where the last one ends."""
    value = frames.__getitem__ if isinstance(frames, pl.Series) else lambda row: frames[row].as_py()
    rows = range(len(frames))
    return [0, *(bisect_left(rows, first, key=value) for first in firsts), len(frames)]


def _unite(some: _Range, union: _Union) -> None:
    boxes = pa.concat_tables([part.boxes for part in some.parts]).combine_chunks()
    runs = _runs(some.parts, boxes)
    speakers = _speakers(runs, some.looked)
    runs = runs.with_columns(shared=pl.col("frame_id").is_in(speakers["frame_id"].implode()))
    lonely = runs.filter(~pl.col("shared"))
    crowd = _crowd(boxes, runs.filter("shared"))
    if speakers.height:
        left = union.settler.settle(crowd, looked_by(some.looked, speakers))
        settled = left.select(columns.BOXES.names).to_arrow().cast(columns.BOXES)
        begins = first_of_equal(settled.select(["frame_id"]))
        found = pl.DataFrame(
            {
                "frame_id": pl.Series(settled["frame_id"].take(pa.array(begins))),
                "start": begins + boxes.num_rows,
                "rows": np.diff(begins, append=settled.num_rows),
            }
        )
        lonely = pl.concat([lonely.select(found.columns), found])
        boxes = pa.concat_tables([boxes, settled]).combine_chunks()
    placed = lonely.join(union.places, on="frame_id", how="left", maintain_order="left").with_columns(
        pl.col("place").cast(pl.Int64).fill_null(_NOWHERE)
    )
    union.leaked += int(placed.filter(pl.col("place") == _NOWHERE)["rows"].sum())
    ordered = placed.filter(pl.col("place") != _NOWHERE).sort("place")
    if ordered.height:
        union.done.add(boxes.take(pa.array(_spread(ordered))))


def _runs(parts: Sequence[BoxPart], boxes: pa.Table) -> pl.DataFrame:
    """Return frame_id, turn, by, and first row and count of rows, of what each batch says of each frame."""
    begins = first_of_equal(boxes.select(["frame_id"]))
    lengths = [part.boxes.num_rows for part in parts]
    starts = np.cumsum([0, *lengths])
    begins = np.union1d(begins, starts[:-1][np.array(lengths, np.int64) > 0])  # two batches may meet in one frame
    part = np.searchsorted(starts, begins, side="right") - 1
    return pl.DataFrame(
        {
            "frame_id": pl.Series(boxes["frame_id"].take(pa.array(begins))),
            "turn": np.array([part.turn for part in parts], np.int64)[part],
            "start": begins,
            "rows": np.diff(begins, append=boxes.num_rows),
        }
    ).with_columns(by=pl.Series([part.by for part in parts], dtype=pl.String).gather(part))


def _speakers(runs: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and turn of all who speak of a frame that another speaks of too."""
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs.select("frame_id", "turn"), spoken]).unique()
    return speakers.filter(pl.col("frame_id").is_duplicated())


def _crowd(boxes: pa.Table, runs: pl.DataFrame) -> pl.DataFrame:
    crowd = pl.DataFrame(pl.from_arrow(boxes.take(pa.array(_spread(runs)))))
    times = np.repeat(np.arange(runs.height), runs["rows"].to_numpy())
    return crowd.hstack([runs["turn"].gather(times), runs["by"].gather(times)])


def _spread(runs: pl.DataFrame) -> Ints:
    """Return the rows of all runs, one run after the other."""
    starts, counts = runs["start"].to_numpy(), runs["rows"].to_numpy()
    firsts = np.repeat(starts - (np.cumsum(counts) - counts), counts)
    rows: Ints = firsts + np.arange(len(firsts))
    return rows
