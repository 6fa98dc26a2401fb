"""Batches in the order in which they arrived: who came with which, and what decided about each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import Json, digest
from driveflow.code_digest import code_digest
from driveflow.snapshots import SnapshotTables
from driveflow.table_digest import table_digest
from filtering.decisions import Ints, Mask
from filtering.filter_request import FilterRequest
from filtering.judge import judge
from filtering.kept_index import Judged

_MEASURED: Final = [field.name for field in columns.SIGNALS if not pa.types.is_fixed_size_binary(field.type)]


@dataclass(frozen=True, slots=True)
class BatchNote:
    """What became of the frames that came with a batch, and whether an earlier run had decided it."""

    batch: str
    frames: int
    kept: int
    known: bool


def judge_in_order(request: FilterRequest) -> tuple[Judged, tuple[BatchNote, ...]]:
    """Judge batch by batch, each against what those before it kept; without an order, all frames at once.

    A batch is judged with what was known when it arrived: its own frames and places and those of batches before it. So
    new data changes no old decision, and of a batch that `index` knows nothing is asked again.
    """
    if not request.arrival:
        return judge(request, Judged.joined([])), ()
    order, index, key = _Order.of(request), request.index, ""
    parts: list[Judged] = []
    notes: list[BatchNote] = []
    for number, batch in enumerate((*request.arrival, "")):
        if not order.count(number):
            continue
        key = order.key(number, key)
        known = None if index is None else index.load(key)
        judged = judge(order.until(number), Judged.joined(parts)) if known is None else known
        if index is not None and known is None:
            index.keep(key, judged)
        parts.append(judged)
        kept = pc.sum(pc.equal(judged.decisions["verdict"], "kept")).as_py() or 0
        notes.append(BatchNote(batch, judged.decisions.num_rows, kept, known is not None))
    return Judged.joined(parts), tuple(notes)


def arrivals(frame_ids: pa.Array, sources: pa.Table, batches: Sequence[str]) -> tuple[Ints, Ints]:
    """Return with which of `batches` each frame and each source came; those of no named batch come last of all."""
    named = pc.fill_null(pc.index_in(sources["batch"], value_set=pa.array(batches, pa.string())), len(batches))
    source = named.to_numpy().astype(np.int64)
    frame = np.full(len(frame_ids), len(batches), np.int64)
    row = pc.fill_null(pc.index_in(sources["frame_id"], value_set=frame_ids), -1).to_numpy().astype(np.int64)
    np.minimum.at(frame, row[row >= 0], source[row >= 0])
    return frame, source


@dataclass(frozen=True, slots=True)
class _Order:
    """The number of the batch with which each frame and each source of a request came."""

    request: FilterRequest
    frame: Ints
    source: Ints
    rules: str

    @staticmethod
    def of(request: FilterRequest) -> "_Order":
        tables = request.tables
        frame, source = arrivals(tables.frames["frame_id"].combine_chunks(), tables.sources, request.arrival)
        return _Order(request, frame, source, _rules(request))

    def count(self, number: int) -> int:
        """Return how many frames came with a batch."""
        return int((self.frame == number).sum())

    def until(self, number: int) -> FilterRequest:
        """Return the request as it would have been when a batch had arrived, and none after it."""
        if number >= max(self.frame.max(initial=0), self.source.max(initial=0)):
            return self.request
        tables = self._tables(self.frame <= number, self.source <= number)
        return replace(self.request, tables=tables, predictions=_of(self.request.predictions, tables.frames))

    def key(self, number: int, before: str) -> str:
        """Return the digest of all that decides about a batch: what decided about those before it, and what came."""
        mine = self.frame == number
        frames = self.request.tables.frames.filter(pa.array(mine))
        measured = np.asarray(pc.is_valid(self.request.signal_rows()).to_numpy(zero_copy_only=False), np.bool_)
        tables = {
            "frames": frames,
            "sources": self._sources(number),
            "boxes": _of(self.request.tables.boxes, frames),
            "signals": self.request.signals_of(np.flatnonzero(mine & measured)).select(_MEASURED),
            "predictions": _of(self.request.predictions, frames),
        }
        content: Json = {name: table_digest(table) for name, table in tables.items() if table is not None}
        return digest({"before": before, "rules": self.rules, "content": content, "by_hand": self._by_hand(number)})

    def _sources(self, number: int) -> pa.Table:
        """Return what came with a batch and, where batches without a frame came between, with these."""
        last = int(self.frame[self.frame < number].max(initial=-1))
        return self.request.tables.sources.filter(pa.array((self.source > last) & (self.source <= number)))

    def _by_hand(self, number: int) -> Json:
        """Return what people said that matters from this batch on."""
        said, ids = self.request.by_hand, self.request.tables.frames["frame_id"].combine_chunks()
        kept = ids.filter(pa.array((self.frame == number) & self.request.among(pa.array(said.kept, pa.string()))))
        pairs = said.pairs()
        ends = [
            pc.fill_null(pc.index_in(pairs[name], value_set=ids), -1).to_numpy().astype(np.int64)
            for name in ("frame_a", "frame_b")
        ]
        both = (ends[0] >= 0) & (ends[1] >= 0)
        came = np.where(both, np.maximum(self.frame[ends[0]], self.frame[ends[1]]), -1)
        return {"kept": kept.to_pylist(), "pairs": pairs.filter(pa.array(came == number)).to_pylist()}

    def _tables(self, frame: Mask, source: Mask) -> SnapshotTables:
        tables = self.request.tables
        frames = tables.frames.filter(pa.array(frame))
        return SnapshotTables(
            frames, tables.sources.filter(pa.array(source)), _of(tables.boxes, frames), tables.classes
        )


def _of(table: pa.Table | None, frames: pa.Table) -> pa.Table | None:
    """Return the rows of `table` that belong to `frames`."""
    if table is None:
        return None
    return table.filter(pc.is_in(table["frame_id"], value_set=frames["frame_id"].combine_chunks()))


def _rules(request: FilterRequest) -> str:
    """Return the digest of what decides about every batch alike; miners are no part of it, they shield nothing."""
    cases: Json = [
        [case.name, asdict(case.where), case.expression, case.boxes_expression, case.quota_frames]
        for case in request.corner_cases
        if case.miner == "rule"
    ]
    return digest(
        {
            "filters": asdict(request.filters),
            "cases": cases,
            "classes": request.tables.classes,
            "code": code_digest("filtering"),
            "model": "" if request.vectors is None else request.vectors.digest,
            "vectors": request.vectors is not None,
            "pixels": request.pixels is not None,
        }
    )


def until_arrival(sources: pa.Table, batches: Sequence[str], number: int) -> pa.Table:
    """Return the sources that were known when batch `number` had arrived."""
    _, source = arrivals(pa.array([], pa.string()), sources, batches)
    return sources.filter(pa.array(source <= number))
