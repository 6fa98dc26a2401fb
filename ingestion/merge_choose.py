"""Choose what is taken of each batch: by conditions, by share, by quota."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.as_polars import as_polars
from driveflow.aside import set_aside
from driveflow.canonical import draw_share
from driveflow.errors import UsageError
from driveflow.flow.merge_section import MergeSection
from driveflow.where import BOX_COLUMNS, FRAME_COLUMNS, Columns, Mask, Where, compile_where

_ROWS_AT_ONCE = 100_000
REASONS = ("where", "sampling", "quota")


@dataclass(frozen=True, slots=True)
class Part:
    """The tables of one batch, sorted by key; they are large and stay as they lie."""

    name: str
    frames: pa.Table
    sources: pa.Table
    boxes: pa.Table


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is taken, how many rows of it, and what is not.

    `left_out` has frame_id, batch and reason, one row a frame of a batch; `counts` say why how much is not taken.
    """

    parts: list[Part]
    taken: dict[str, int]
    left_out: pl.DataFrame
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Sample:
    batch: str
    where: Where | None
    keep: float


@dataclass(slots=True)
class Chooser:
    """The checked wishes of a merge section.

    Raises:
        UsageError: a condition is wrong, or a batch is named that is not there.
    """

    section: MergeSection
    batches: Sequence[str]
    _where: Where | None = field(init=False)
    _of_batch: dict[str, Where | None] = field(init=False)
    _boxes: Where | None = field(init=False)
    _samples: tuple[_Sample, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Check every wish."""
        section = self.section
        named = [*section.quotas, *section.batch_where, *(sample.batch for sample in section.sampling if sample.batch)]
        unknown = [name for name in named if name not in self.batches]
        if unknown:
            known = ", ".join(sorted(self.batches))
            raise UsageError(f"merge: no batch is called {unknown[0]!r}; known are {known}.")
        self._where = _compiled("merge.where", section.where, FRAME_COLUMNS)
        self._of_batch = {
            name: _compiled(f"merge.batch_where.{name}", text, FRAME_COLUMNS)
            for name, text in section.batch_where.items()
        }
        self._boxes = _compiled("merge.boxes_where", section.boxes_where, BOX_COLUMNS)
        self._samples = tuple(
            _Sample(sample.batch, _compiled(f"merge.sampling[{place}].where", sample.where, FRAME_COLUMNS), sample.keep)
            for place, sample in enumerate(section.sampling)
        )

    def choose(self, parts: Iterable[Part], places: pl.DataFrame) -> Chosen:
        """Return what is taken of `parts`; `places` has frame_id, split and drive_group of the frames that have one.

        A frame is asked for its conditions first, then whether it is in the sample, then whether the quota has room.
        The quota fills by drive groups in a seeded order, and in a group by frames in a seeded order, so that frames
        that come later push out few of those that were there.
        """
        chosen, left_out = [], [pl.DataFrame(schema={"frame_id": pl.String, "batch": pl.String, "reason": pl.String})]
        counts = dict.fromkeys(("sources_left_out", "boxes_left_out", "boxes_filtered"), 0)
        for part in parts:
            taken = part
            if self._asks(part.name):
                reasons = self._reasons(part, places)
                taken = _taken(part, reasons.filter(pl.col("reason") == "").select("frame_id"))
                missed = reasons.filter(pl.col("reason") != "")
                left_out.append(missed.select("frame_id", pl.lit(part.name).alias("batch"), "reason"))
            boxes = taken.boxes if self._boxes is None else _where(taken.boxes, self._boxes)
            counts["sources_left_out"] += part.sources.num_rows - taken.sources.num_rows
            counts["boxes_left_out"] += part.boxes.num_rows - taken.boxes.num_rows
            counts["boxes_filtered"] += taken.boxes.num_rows - boxes.num_rows
            chosen.append(Part(part.name, taken.frames, taken.sources, boxes))
        gone = pl.concat(left_out)
        counts |= {f"frames_{reason}": int((gone["reason"] == reason).sum()) for reason in REASONS}
        rows = {name: sum(getattr(part, name).num_rows for part in chosen) for name in ("frames", "sources")}
        return Chosen(chosen, rows, gone, counts)

    def _reasons(self, part: Part, places: pl.DataFrame) -> pl.DataFrame:
        """Return frame_id and reason of every frame of a batch; no reason: it is taken."""
        frames = as_polars(part.frames).drop("split", "drive_group")
        frames = frames.join(places, on="frame_id", how="left", maintain_order="left")
        sources = as_polars(part.sources)
        reasons = np.full(frames.height, "", dtype="<U8")
        for where in (self._where, self._of_batch.get(part.name)):
            if where is not None:
                reasons[(reasons == "") & ~where.mask(frames, sources)] = "where"
        for number, sample in enumerate(self._samples):
            if sample.batch in {"", part.name}:
                reasons[(reasons == "") & ~self._sampled(sample, number, frames, sources)] = "sampling"
        if part.name in self.section.quotas:
            reasons[self._over_quota(frames, part.name, reasons == "")] = "quota"
        return frames.select("frame_id", pl.Series("reason", reasons.tolist(), dtype=pl.String))

    def _asks(self, batch: str) -> bool:
        """Tell whether anything may leave out frames of a batch."""
        sampled = any(sample.batch in {"", batch} for sample in self._samples)
        return bool(self._where or self._of_batch.get(batch) or sampled or batch in self.section.quotas)

    def _sampled(self, sample: _Sample, number: int, frames: pl.DataFrame, sources: pl.DataFrame) -> Mask:
        asked = np.ones(frames.height, np.bool_) if sample.where is None else sample.where.mask(frames, sources)
        draws = np.array(
            [draw_share("sample", self.section.seed, number, key) for key in frames["frame_id"]], np.float64
        )
        mask: Mask = ~asked | (draws < sample.keep)
        return mask

    def _over_quota(self, frames: pl.DataFrame, batch: str, open_: Mask) -> Mask:
        """Tell which frames the quota has no room for; frames without a drive group are left out for that anyway."""
        seed = self.section.seed
        groups = frames["drive_group"].fill_null("")
        placed = np.flatnonzero(open_ & frames["drive_group"].is_not_null().to_numpy())
        draws = {group: draw_share("group", seed, 0, group) for group in set(groups)}
        keys = frames["frame_id"]
        order = sorted(
            placed.tolist(), key=lambda row: (draws[groups[row]], groups[row], draw_share("frame", seed, 0, keys[row]))
        )
        over = np.zeros(frames.height, np.bool_)
        over[order[self.section.quotas[batch] :]] = True
        return over


def _compiled(where: str, text: str, columns: Columns) -> Where | None:
    if not text:
        return None
    try:
        return compile_where(text, columns)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _taken(part: Part, kept: pl.DataFrame) -> Part:
    if kept.height == part.frames.num_rows:
        return part
    ids = kept["frame_id"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
    tables = [
        _filtered(table, lambda some: pc.is_in(some["frame_id"], value_set=ids))
        for table in (part.frames, part.sources, part.boxes)
    ]
    return Part(part.name, *tables)


def _where(boxes: pa.Table, where: Where) -> pa.Table:
    """Return the boxes that a condition asks for."""
    return _filtered(boxes, lambda some: pa.array(where.mask(as_polars(some))))


def _filtered(table: pa.Table, mask: Callable[[pa.Table], pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Return the rows that `mask` names; it looks at some at a time, and what is left lies aside where it is much."""
    parts = (table.slice(start, _ROWS_AT_ONCE) for start in range(0, table.num_rows, _ROWS_AT_ONCE))
    return set_aside((part.filter(mask(part)) for part in parts), table.schema)
