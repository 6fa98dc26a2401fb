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

_BOXES_AT_ONCE = 130_000  # looked at together; bounds memory, not the result
_NOBODY = -1  # turn of what is settled


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
    places: pl.DataFrame  # frame_id of the frames that have a place, sorted, and their number
    done: Aside = field(default_factory=lambda: Aside(columns.BOXES))
    leaked: int = 0


def unite_in_ranges(
    parts: Sequence[BoxPart], looked: pl.DataFrame, placed: pl.Series, rules: BoxRules, at_once: int = _BOXES_AT_ONCE
) -> RangedBoxes:
    """Return one set of boxes for each frame and class of the `placed` frames, whose ids are sorted.

    `looked` has frame_id, annotated_classes, turn and by of every frame of the batches.
    """
    places = placed.to_frame("frame_id").with_row_index("place")
    union = _Union(Settler(rules), places)
    for some in _ranges(parts, looked, at_once):
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
    order = looked["frame_id"].arg_sort()
    frames = looked["frame_id"].gather(order)
    firsts = sorted({frames[len(frames) * number // count] for number in range(1, count)}) if len(frames) else []
    cuts = [_cuts(part.boxes["frame_id"], firsts) for part in parts]
    heard = _cuts(frames, firsts)
    for number, (start, end) in enumerate(pairwise(heard)):
        some = [
            BoxPart(part.turn, part.by, part.boxes.slice(mine[number], mine[number + 1] - mine[number]))
            for part, mine in zip(parts, cuts, strict=True)
        ]
        yield _Range(some, looked.select(pl.all().gather(order.slice(start, end - start))))


def _cuts(frames: pa.ChunkedArray | pl.Series, firsts: Sequence[str]) -> list[int]:
    """Return where in sorted `frames` each range begins, and where the last one ends."""
    value = frames.__getitem__ if isinstance(frames, pl.Series) else lambda row: frames[row].as_py()
    rows = range(len(frames))
    return [0, *(bisect_left(rows, first, key=value) for first in firsts), len(frames)]


def _unite(some: _Range, union: _Union) -> None:
    firsts = np.cumsum([0, *(part.boxes.num_rows for part in some.parts)])
    runs = pl.concat(_runs(part, int(first)) for part, first in zip(some.parts, firsts, strict=False))
    speakers = _speakers(runs, some.looked)
    tables = [part.boxes for part in some.parts]
    if speakers.height:
        shared = pl.col("frame_id").is_in(speakers["frame_id"].implode())
        crowd = pl.concat(
            _crowd(part, int(first), runs.filter(shared & (pl.col("turn") == part.turn)))
            for part, first in zip(some.parts, firsts, strict=False)
        )
        left = union.settler.settle(crowd, looked_by(some.looked, speakers))
        settled = left.select(columns.BOXES.names).to_arrow().cast(columns.BOXES)
        runs = pl.concat([runs.filter(~shared), _runs(BoxPart(_NOBODY, "", settled), int(firsts[-1]))])
        tables.append(settled)
    placed = runs.join(union.places, on="frame_id", how="left")
    leaked = placed["place"].is_null()
    union.leaked += int(placed["rows"].filter(leaked).sum())
    ordered = placed.filter(~leaked).sort("place")
    if ordered.height:
        union.done.add(_gathered(tables, ordered))


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
