"""Rows of several batches, one batch after the other as they lie: what only one says is passed on untouched."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ingestion.disputes import Bools
from ingestion.merge_choose import Part
from ingestion.overlap import Ints


@dataclass(frozen=True, slots=True)
class Stack:
    """The rows of all parts, who says each of them (its turn), and which are of frames of which several speak."""

    table: pa.Table
    turns: Ints
    names: Mapping[int, str]  # by turn, in their order
    is_shared: Bools

    def shared(self) -> pl.DataFrame:
        """Return the rows of frames of which several speak, with `turn` and `by`."""
        rows = pl.DataFrame(pl.from_arrow(self.table.filter(pa.array(self.is_shared))))
        turns = self.turns[self.is_shared]
        by = pl.Series(list(self.names.values()), dtype=pl.String).gather(np.searchsorted(list(self.names), turns))
        return rows.with_columns(turn=pl.Series(turns), by=by)


def stack_parts(parts: Mapping[int, Part], name: str, shared: pl.Series | None = None) -> Stack:
    """Return one table of all parts; `shared` are the frames of which several speak, those that are here twice."""
    tables = [getattr(part, name) for part in parts.values()]
    table = pa.concat_tables(tables)
    turns = np.repeat(np.array(list(parts), np.int64), [some.num_rows for some in tables])
    frames = frame_ids(table)
    is_shared = frames.is_duplicated() if shared is None else frames.is_in(shared.implode())
    return Stack(table, turns, {turn: part.name for turn, part in parts.items()}, is_shared.to_numpy())


def frame_ids(table: pa.Table) -> pl.Series:
    """Return the frame of each row."""
    return pl.Series(table["frame_id"], dtype=pl.String)


def place_rows(stack: Stack, settled: pl.DataFrame, places: pl.DataFrame, keys: tuple[str, ...]) -> pa.Table:
    """Return the rows that only one says and those that are settled, of frames that have a place, in order of `keys`.

    `places` has frame_id and place, by which frames are ordered; what else it has takes the place of what rows say.
    """
    told = settled.select(stack.table.column_names).to_arrow().cast(stack.table.schema)
    whole = pa.concat_tables([stack.table, told])
    rows = np.concatenate([np.flatnonzero(~stack.is_shared), np.arange(stack.table.num_rows, whole.num_rows)])
    found = pl.DataFrame({"frame_id": frame_ids(whole)[rows], "row": rows}).join(places, on="frame_id").sort("place")
    if found["place"].is_duplicated().any():
        found = found[_ordered(whole, found, keys)]
    own = [name for name in whole.column_names if name in found.columns]
    rest = whole.drop_columns(own).take(pa.array(found["row"].to_numpy()))
    columns = {name: found[name].to_arrow(compat_level=pl.CompatLevel.oldest()) for name in own}
    columns |= dict(zip(rest.column_names, rest.columns, strict=True))
    return pa.table([columns[name] for name in whole.column_names], names=whole.column_names).cast(whole.schema)


def _ordered(whole: pa.Table, found: pl.DataFrame, keys: tuple[str, ...]) -> Ints:
    """Return the order of rows of which several are of one frame; its place is sorted faster than its id."""
    asked = whole.select(list(keys)).take(pa.array(found["row"].to_numpy()))
    asked = asked.set_column(asked.column_names.index("frame_id"), "frame_id", pa.array(found["place"].to_numpy()))
    order: Ints = pc.sort_indices(asked, sort_keys=[(key, "ascending") for key in keys]).to_numpy().astype(np.int64)
    return order
