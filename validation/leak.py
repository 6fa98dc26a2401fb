"""Prove that no training frame touches the hold-out: by bytes, by near-duplicate, by drive group."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.neighbours.hamming import HammingIndex
from driveflow.snapshots import SnapshotTables

Kind: TypeAlias = Literal["bytes", "near_duplicate", "drive_group"]
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Leak:
    """One training frame that touches the hold-out; `distance_bits` is there for near-duplicates only."""

    kind: Kind
    training_frame: str
    holdout_frame: str
    drive_group: str
    distance_bits: int | None = None


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What was compared and what was found; counts are of training frames, a frame may be in several."""

    training_frames: int
    holdout_frames: int
    max_bits: int
    equal_bytes: int
    near_duplicates: int
    same_drive_group: int
    unmeasured: int  # frames of either side without a hash, so not compared as near-duplicates
    examples: tuple[Leak, ...]

    @property
    def total(self) -> int:
        """Findings of all three kinds."""
        return self.equal_bytes + self.near_duplicates + self.same_drive_group

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return self.total == 0

    def summary(self) -> str:
        """Return in words what was compared and found."""
        compared = (
            f"{_count(self.training_frames, 'training frame')} against {_count(self.holdout_frames, 'hold-out frame')}"
        )
        missing = f" {_count(self.unmeasured, 'frame')} without a hash could not be compared by picture."
        tail = missing if self.unmeasured else ""
        if self.is_clean:
            return f"No leak in {compared}: by bytes, near-duplicate (up to {self.max_bits} bits) or drive.{tail}"
        kinds = (
            (self.equal_bytes, "training frame with the bytes of a hold-out frame"),
            (self.near_duplicates, "near-duplicate"),
            (self.same_drive_group, "training frame of a drive group that judges"),
        )
        found = ", ".join(_count(count, what) for count, what in kinds if count)
        return f"Training touches the hold-out ({compared}, near-duplicates up to {self.max_bits} bits): {found}.{tail}"


@dataclass(frozen=True, slots=True)
class LeakRequest:
    """The exact training snapshot, the hold-out, and the signals of both (schema SIGNALS)."""

    train: SnapshotTables
    holdout: SnapshotTables
    train_signals: pa.Table
    holdout_signals: pa.Table
    max_bits: int


def check_leak(request: LeakRequest) -> LeakReport:
    """Return every way in which training touches the hold-out."""
    train, holdout = _frames(request.train), _frames(request.holdout)
    equal = train.join(holdout, on="frame_id", how="inner").sort("frame_id")
    grouped = train.join(holdout.group_by("drive_group").agg(other=pl.col("frame_id").min()), on="drive_group").sort(
        "frame_id"
    )
    near, unmeasured = _near_duplicates(request, train, holdout)
    return LeakReport(
        training_frames=train.height,
        holdout_frames=holdout.height,
        max_bits=request.max_bits,
        equal_bytes=equal.height,
        near_duplicates=len(near),
        same_drive_group=grouped.height,
        unmeasured=unmeasured,
        examples=(
            *(Leak("bytes", row[0], row[0], row[1]) for row in equal.head(_EXAMPLES).iter_rows()),
            *near[:_EXAMPLES],
            *(Leak("drive_group", row[0], row[2], row[1]) for row in grouped.head(_EXAMPLES).iter_rows()),
        ),
    )


def _count(count: int, what: str) -> str:
    """Return `count` of `what`; the first word that takes a plural does."""
    if count == 1:
        return f"1 {what}"
    plural = what.replace("frame", "frames", 1) if "frame" in what else f"{what}s"
    return f"{count:,} {plural}"


def _near_duplicates(request: LeakRequest, train: pl.DataFrame, holdout: pl.DataFrame) -> tuple[list[Leak], int]:
    """Return near-duplicates that are no equal bytes, sorted by training frame, and how many frames have no hash."""
    train_codes, holdout_codes = _codes(request.train_signals, train), _codes(request.holdout_signals, holdout)
    index = HammingIndex(request.max_bits)
    names = holdout_codes["frame_id"].to_list()
    for position, code in enumerate(holdout_codes["phash64"].to_list()):
        index.add(code, position)
    shared = set(holdout["frame_id"].to_list())
    found = []
    for frame_id, group, code in train_codes.iter_rows():
        near = None if frame_id in shared else index.nearest(code)
        if near is not None:
            found.append(Leak("near_duplicate", frame_id, names[near.label], group, near.distance_bits))
    return found, train.height - train_codes.height + holdout.height - holdout_codes.height


def _frames(tables: SnapshotTables) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(tables.frames.select(["frame_id", "drive_group"])))


def _codes(signals: pa.Table, frames: pl.DataFrame) -> pl.DataFrame:
    measured = signals.select(["frame_id", "phash64"]).filter(pc.is_valid(signals["phash64"]))
    codes = pl.DataFrame(pl.from_arrow(measured)).unique("frame_id")
    return frames.join(codes, on="frame_id", how="inner").sort("frame_id").select("frame_id", "drive_group", "phash64")
