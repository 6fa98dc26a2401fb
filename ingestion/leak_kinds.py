"""Ways in which two sides of a split must not touch: equal bytes or pixels, near-duplicates, one drive group."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.clocks import utc_ns
from driveflow.neighbours.near_pairs import nearest_pairs
from driveflow.snapshots import SnapshotTables

PixelDigests: TypeAlias = Callable[[Iterable[str]], Mapping[str, str]]
"""Returns the pixel digest of those of the frames that can be read."""

_PAIR = {"train": pl.String, "other": pl.String, "value": pl.Float64}


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its frames (frame_id, drive_group, phash64), and its sources with UTC where that is known."""

    frames: pl.DataFrame
    sources: pl.DataFrame

    @property
    def unmeasured(self) -> int:
        """How many frames have no hash, so that near-duplicates of them are not found."""
        return self.frames["phash64"].null_count()


def side_of(tables: SnapshotTables, signals: pa.Table) -> Side:
    """Return the frames of `tables` as one side; `signals` has the columns of SIGNALS."""
    frames = pl.DataFrame(pl.from_arrow(tables.frames.select(["frame_id", "drive_group"])))
    hashes = pl.DataFrame(pl.from_arrow(signals.select(["frame_id", "phash64"]))).unique("frame_id")
    sources = pl.DataFrame(pl.from_arrow(tables.sources))
    sources = sources.with_columns(utc_ns=utc_ns(sources)).sort("frame_id", "batch", "path")
    return Side(frames.join(hashes, on="frame_id", how="left", maintain_order="left").sort("frame_id"), sources)


def equal_bytes(train: Side, other: Side) -> pl.DataFrame:
    """Return the frames that both sides hold, as (train, other, value)."""
    both = train.frames.join(other.frames, on="frame_id", how="semi")
    return both.select(train="frame_id", other="frame_id", value=pl.lit(0.0))


def same_group(train: Side, other: Side) -> pl.DataFrame:
    """Return the training frames of drive groups that the other side has frames of, each with the first of those."""
    first = other.frames.group_by("drive_group").agg(other=pl.col("frame_id").min())
    shared = train.frames.join(first, on="drive_group").sort("frame_id")
    return shared.select(train="frame_id", other="other", value=pl.lit(0.0))


def near_duplicates(train: Side, other: Side, max_bits: int) -> pl.DataFrame:
    """Return the training frames whose hash lies within `max_bits` of one of other bytes, nearest first."""
    here = train.frames.drop_nulls("phash64").join(other.frames, on="frame_id", how="anti")
    there = other.frames.drop_nulls("phash64")
    pairs = nearest_pairs(here["phash64"].to_numpy(), there["phash64"].to_numpy(), max_bits)
    found = {
        "train": here["frame_id"].gather(pairs.left),
        "other": there["frame_id"].gather(pairs.right),
        "value": pairs.distance_bits.astype(np.float64),
    }
    return pl.DataFrame(found, schema=_PAIR).sort("value", "train")


def equal_pixels(train: Side, other: Side, max_bits: int, digests: PixelDigests) -> tuple[pl.DataFrame, int]:
    """Return the training frames with the pixels of another file of the other side, and how many were not compared.

    Only near-duplicates are decoded: what shows the same pixels has nearly the same hash.
    """
    here = set(near_duplicates(train, other, max_bits)["train"])
    there = set(near_duplicates(other, train, max_bits)["train"])
    known = digests(sorted(here | there))
    first = {known[frame_id]: frame_id for frame_id in sorted(there & known.keys(), reverse=True)}
    pairs = [(frame_id, first[known[frame_id]]) for frame_id in sorted(here & known.keys()) if known[frame_id] in first]
    table = pl.DataFrame([(*pair, 0.0) for pair in pairs], schema=_PAIR, orient="row")
    return table, len((here | there) - known.keys())


def first_names(sources: pl.DataFrame, frame_ids: Iterable[str]) -> dict[str, str]:
    """Return batch/path of the first source of each frame."""
    wanted = pl.DataFrame({"frame_id": list(frame_ids)}, schema={"frame_id": pl.String})
    found = sources.join(wanted, on="frame_id", how="semi", maintain_order="left").unique(
        "frame_id", keep="first", maintain_order=True
    )
    return dict(_named(found))


def _named(sources: pl.DataFrame) -> Iterator[tuple[str, str]]:
    for frame_id, batch, path in sources.select("frame_id", "batch", "path").iter_rows():
        yield frame_id, f"{batch}/{path}"
