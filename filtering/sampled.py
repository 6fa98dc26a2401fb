"""Take a part of the training frames of which near-duplicates can be judged: whole drives, not single frames."""

import hashlib
from typing import Final

import polars as pl
import pyarrow as pa

from driveflow.snapshots import SnapshotTables
from filtering.places import first_places

_LAST_NS: Final = 2**63 - 1  # frames without a time come after those with one


def sample_drives(tables: SnapshotTables, frames: int, seed: int = 0) -> SnapshotTables:
    """Return the part of `tables` that holds up to `frames` training frames; 0 takes all of them.

    Drives are taken whole, in an order that `seed` decides and that no order of the frames changes; of the last one, as
    much of its beginning as there is room for. The leader rule asks a drive's frames in time order, so it decides about
    a beginning as it would about the whole.
    """
    train = tables.frames.filter(pa.compute.equal(tables.frames["split"], "train"))
    if not frames or train.num_rows <= frames:
        return tables.only(train["frame_id"])
    drives = [drive for drive, _ in first_places(train, tables.sources)]
    first = _first_sources(tables.sources)
    rows = pl.DataFrame({"frame_id": train["frame_id"].to_pylist(), "drive": drives}).join(
        first, on="frame_id", how="left"
    )
    turns = {drive: hashlib.sha256(f"{seed} {drive}".encode()).hexdigest() for drive in set(drives)}
    ordered = rows.with_columns(turn=pl.col("drive").replace_strict(turns, return_dtype=pl.String)).sort(
        "turn", pl.col("captured_ns").fill_null(_LAST_NS), "batch", "path", "frame_id"
    )
    return tables.only(pa.array(ordered["frame_id"].head(frames).to_list(), pa.string()))


def _first_sources(sources: pa.Table) -> pl.DataFrame:
    table = pl.DataFrame(pl.from_arrow(sources.select(["frame_id", "captured_ns", "batch", "path"])))
    return table.sort("frame_id", "batch", "path").unique("frame_id", keep="first")
