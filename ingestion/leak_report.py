"""Say how near training comes to what tunes and judges models: in bytes, pixels, drives, metres and seconds."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.errors import DriveflowError
from driveflow.images.pixel_digest import pixel_digest
from driveflow.snapshots import SnapshotTables
from ingestion.leak_distances import nearest_in_metres, nearest_in_seconds
from ingestion.leak_kinds import (
    PixelDigests,
    Side,
    equal_bytes,
    equal_pixels,
    first_names,
    near_duplicates,
    same_group,
    side_of,
)

MUST_BE_EMPTY: Final = ("bytes", "pixels", "near_duplicate", "drive_group")
_UNITS: Final = {"near_duplicate": "bits", "metres": "m", "seconds_in_drive": "s", "seconds": "s"}
_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class LeakLimits:
    """What counts as near; the distances in metres and seconds are told, but no leak by themselves."""

    max_bits: int = 2
    near_m: float = 10.0
    near_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Touch:
    """A training frame and a frame of the other side, with the names of their files, and what is between them."""

    train: str
    other: str
    train_name: str
    other_name: str
    value: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One way of touching: how many frames do, the least value, and the worst pairs, worst first.

    Of metres and seconds `count` is that of frames of the other side within the limit, and `least` that of all.
    """

    kind: str
    count: int
    least: float | None
    worst: tuple[Touch, ...]


@dataclass(frozen=True, slots=True)
class Border:
    """Training against one other side; frames that could not be compared are counted too."""

    other: str  # val, holdout, or the name of another snapshot
    train_frames: int
    other_frames: int
    unmeasured: int
    undecoded: int
    findings: tuple[Finding, ...]

    def leaks(self) -> dict[str, int]:
        """Return what must be empty and is not."""
        return {item.kind: item.count for item in self.findings if item.kind in MUST_BE_EMPTY and item.count}

    def to_json(self) -> dict[str, Json]:
        """Return the border as JSON."""
        counts: dict[str, Json] = {
            "train_frames": self.train_frames,
            "other_frames": self.other_frames,
            "unmeasured": self.unmeasured,
            "undecoded": self.undecoded,
        }
        return {"other": self.other, **counts, **{item.kind: _finding_json(item) for item in self.findings}}


@dataclass(frozen=True, slots=True)
class LeakReport:
    """Every border of a snapshot's training frames."""

    borders: tuple[Border, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found that must not be."""
        return not any(border.leaks() for border in self.borders)

    def to_json(self) -> dict[str, Json]:
        """Return the report as JSON."""
        return {"clean": self.is_clean, "borders": [border.to_json() for border in self.borders]}

    def lines(self) -> Iterator[str]:
        """Yield the report as lines for a person."""
        for border in self.borders:
            leaks = ", ".join(f"{kind} {count}" for kind, count in border.leaks().items()) or "no leak"
            yield f"train ({border.train_frames} frames) and {border.other} ({border.other_frames}): {leaks}"
            if border.unmeasured:
                yield f"  {border.unmeasured} frames have no hash, so that near-duplicates of them are not seen"
            for item in border.findings:
                yield from _finding_lines(item)


def leaks_of_splits(
    tables: SnapshotTables, signals: pa.Table, limits: LeakLimits, digests: PixelDigests | None = None
) -> LeakReport:
    """Report what train shares with val, and with the hold-out; a side without frames is left out."""
    sides = {split: _part(tables, split) for split in ("train", "val", "holdout")}
    train = side_of(sides.pop("train"), signals)
    others = {split: side_of(part, signals) for split, part in sides.items() if part.frames.num_rows}
    return LeakReport(tuple(border(split, train, other, limits, digests) for split, other in others.items()))


def leaks_between(
    train: SnapshotTables,
    others: Mapping[str, SnapshotTables],
    signals: pa.Table,
    limits: LeakLimits,
    digests: PixelDigests | None = None,
) -> LeakReport:
    """Report what the frames of `train` share with those of other snapshots, by name."""
    here = side_of(train, signals)
    return LeakReport(
        tuple(border(name, here, side_of(other, signals), limits, digests) for name, other in others.items())
    )


def border(name: str, train: Side, other: Side, limits: LeakLimits, digests: PixelDigests | None) -> Border:
    """Compare training with one other side."""
    undecoded = 0
    found = {"bytes": equal_bytes(train, other)}
    if digests is not None:
        found["pixels"], undecoded = equal_pixels(train, other, limits.max_bits, digests)
    found["near_duplicate"] = near_duplicates(train, other, limits.max_bits)
    found["drive_group"] = same_group(train, other)
    distances = {
        "metres": (nearest_in_metres(train, other), limits.near_m),
        "seconds_in_drive": (nearest_in_seconds(train, other, same_drive=True), limits.near_s),
        "seconds": (nearest_in_seconds(train, other, same_drive=False), limits.near_s),
    }
    findings = [_finding(kind, pairs, None, (train, other)) for kind, pairs in found.items()]
    findings += [_finding(kind, pairs, limit, (train, other)) for kind, (pairs, limit) in distances.items()]
    sizes = (train.frames.height, other.frames.height, train.unmeasured + other.unmeasured, undecoded)
    return Border(name, *sizes, tuple(findings))


def digests_of(read: Callable[[str], bytes]) -> PixelDigests:
    """Return the pixel digests of frames whose bytes `read` returns; those that cannot be read have none."""

    def digests(frame_ids: Iterable[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for frame_id in frame_ids:
            try:
                found[frame_id] = pixel_digest(read(frame_id))
            except DriveflowError:
                continue
        return found

    return digests


def _part(tables: SnapshotTables, split: str) -> SnapshotTables:
    return tables.only(tables.frames.filter(pc.equal(tables.frames["split"], split))["frame_id"])


def _finding(kind: str, pairs: pl.DataFrame, limit: float | None, sides: tuple[Side, Side]) -> Finding:
    count = pairs.height if limit is None else pairs.filter(pl.col("value") <= limit).height
    worst = pairs.head(_EXAMPLES)
    names = [first_names(side.sources, worst[column]) for side, column in zip(sides, ("train", "other"), strict=True)]
    touches = tuple(
        Touch(train, other, names[0].get(train, ""), names[1].get(other, ""), value)
        for train, other, value in worst.select("train", "other", "value").iter_rows()
    )
    return Finding(kind, count, worst["value"].head(1).to_list()[0] if worst.height else None, touches)


def _finding_json(item: Finding) -> dict[str, Json]:
    worst: list[Json] = [
        {"train": pair.train, "other": pair.other, "train_name": pair.train_name, "other_name": pair.other_name,
         "value": pair.value}
        for pair in item.worst
    ]  # fmt: skip
    return {"count": item.count, "least": item.least, "worst": worst}


def _finding_lines(item: Finding) -> Iterator[str]:
    if item.least is None:
        return
    unit = _UNITS.get(item.kind, "")
    value = f" nearest {item.least:.6g} {unit}" if unit else ""
    yield f"  {item.kind}: {item.count}{value}"
    for pair in item.worst:
        yield f"    {pair.train_name} | {pair.other_name}" + (f"  {pair.value:.6g} {unit}" if unit else "")
