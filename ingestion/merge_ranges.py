"""Unite whole batches some frames at a time: memory goes by what is looked at, not by what there is.

Batches are sorted by frame, and so is what comes of them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.aside import Aside, give_back, let_go
from ingestion.merge_boxes import BoxRules, Settler
from ingestion.merge_choose import Part
from ingestion.merge_frames import United, Voice, unite_frames, unite_sources
from ingestion.merge_range_boxes import RangeOfBoxes, unite_range
from ingestion.merge_stack import Stack, place_rows, stack_parts

_ROWS_AT_ONCE = 160_000  # looked at together; bounds memory, not the result
_SAMPLES = 64  # of so many rows, to cut ranges by


@dataclass(frozen=True, slots=True)
class UnionRules:
    """How boxes become one set, and whose attributes stand."""

    boxes: BoxRules
    voice: Voice


@dataclass(frozen=True, slots=True)
class UnitedTables:
    """Frames, sources and boxes that have a place, sorted by key, and where the others went.

    `conflicts` are tables of CONFLICTS in the order in which they are told, `once` counts frames and sources before
    those without a place are gone, `box_counts` is that of `Settler`, and `boxes_leaked` counts boxes that are left of
    frames without a place.
    """

    frames: pa.Table
    sources: pa.Table
    boxes: pa.Table
    conflicts: list[pa.Table]
    once: Mapping[str, int]
    box_counts: Mapping[str, int]
    boxes_leaked: int


@dataclass(slots=True)
class _Union:
    """What is united so far."""

    rules: UnionRules
    places: pl.DataFrame  # frame_id, split, drive_group of frames that have a place, sorted, and the number: place
    settler: Settler
    frames: Aside = field(default_factory=lambda: Aside(columns.FRAMES))
    sources: Aside = field(default_factory=lambda: Aside(columns.SOURCES))
    boxes: Aside = field(default_factory=lambda: Aside(columns.BOXES))
    conflicts: dict[tuple[str, int], Aside] = field(default_factory=dict)  # by kind and turn
    once: dict[str, int] = field(default_factory=lambda: {"frames": 0, "sources": 0})
    leaked: int = 0

    def note(self, kind: str, united: United, stack: Stack) -> None:
        """Count what is there once, and keep the conflicts for their turn."""
        self.once[kind] += united.table.height + int((~stack.is_shared).sum())
        for turn, row in zip(united.turns, united.conflicts, strict=True):
            told = self.conflicts.setdefault((kind, turn), Aside(columns.CONFLICTS))
            told.add(pa.Table.from_pylist([row], schema=columns.CONFLICTS))

    def told(self) -> list[pa.Table]:
        """Return all conflicts as they are told where all frames are united at once."""
        return [*(self.conflicts[key].table() for key in sorted(self.conflicts)), self.settler.conflicts()]


def unite_in_ranges(
    parts: Mapping[int, Part], places: pl.DataFrame, rules: UnionRules, at_once: int = _ROWS_AT_ONCE
) -> UnitedTables:
    """Return one set of frames, sources and boxes of `parts` (by turn, in order of the turns).

    `places` has frame_id, split and drive_group of the frames that have a place, sorted by frame_id.
    """
    union = _Union(rules, places.with_row_index("place"), Settler(rules.boxes))
    for some, placed in _ranges(parts, union.places, at_once):
        _unite(some, placed, union)
        give_back()
    tables = (union.frames.table(), union.sources.table(), union.boxes.table())
    return UnitedTables(*tables, union.told(), union.once, union.settler.counts, union.leaked)


def _ranges(
    parts: Mapping[int, Part], places: pl.DataFrame, at_once: int
) -> Iterator[tuple[dict[int, Part], pl.DataFrame]]:
    """Yield what all say of some frames, and the places of those."""
    tables = [table for part in parts.values() for table in (part.frames, part.sources, part.boxes)]
    firsts = _firsts(tables, at_once)
    cuts = [_cuts(table["frame_id"], firsts) for table in tables]
    placed = _cuts(places["frame_id"], firsts)
    for number, (start, end) in enumerate(pairwise(placed)):
        cut = iter(
            table.slice(mine[number], mine[number + 1] - mine[number]) for table, mine in zip(tables, cuts, strict=True)
        )
        some = {turn: Part(part.name, next(cut), next(cut), next(cut)) for turn, part in parts.items()}
        yield some, places.slice(start, end - start)


def _firsts(tables: Sequence[pa.Table], at_once: int) -> list[str]:
    """Return the first frame of each range but the first one, so that each has about `at_once` rows."""
    count = -(-sum(table.num_rows for table in tables) // at_once)
    step = max(1, at_once // _SAMPLES)
    sample: list[str] = []
    for table in tables:
        sample += (table["frame_id"][row].as_py() for row in range(0, table.num_rows, step))
        let_go()
    sample.sort()
    return sorted({sample[len(sample) * number // count] for number in range(1, count)})


def _cuts(frames: pa.ChunkedArray | pl.Series, firsts: Sequence[str]) -> list[int]:
    """Return where in sorted `frames` each range begins, and where the last one ends."""
    value = frames.__getitem__ if isinstance(frames, pl.Series) else lambda row: frames[row].as_py()
    rows = range(len(frames))
    found = [0, *(bisect_left(rows, first, key=value) for first in firsts), len(frames)]
    let_go()
    return found


def _unite(some: Mapping[int, Part], places: pl.DataFrame, union: _Union) -> None:
    frames = stack_parts(some, "frames")
    said = frames.shared()
    shared = said["frame_id"].unique()
    boxes = RangeOfBoxes(stack_parts(some, "boxes", shared), said, places)
    found = unite_range(boxes, union.settler)
    union.leaked += found.leaked
    union.boxes.add(found.boxes)
    once = unite_frames(said, union.rules.voice)
    union.note("frames", once, frames)
    kept = _without_disputed(once.table, found.disputed)
    union.frames.add(place_rows(frames, kept, places, columns.KEYS["frames"]))
    sources = stack_parts(some, "sources", shared)
    heard = unite_sources(sources.shared())
    union.note("sources", heard, sources)
    union.sources.add(place_rows(sources, heard.table, places.select("frame_id", "place"), columns.KEYS["sources"]))


def _without_disputed(frames: pl.DataFrame, disputed: pl.DataFrame) -> pl.DataFrame:
    """Return `frames` without the annotated classes that a review must look at first."""
    if disputed.is_empty():
        return frames
    out = disputed.group_by("frame_id").agg(_out="class_name")
    left = pl.col("annotated_classes").list.set_difference("_out").list.sort()
    joined = frames.join(out, on="frame_id", how="left", maintain_order="left")
    found = pl.when(pl.col("_out").is_null()).then("annotated_classes").otherwise(left)
    return joined.with_columns(annotated_classes=found).drop("_out")
