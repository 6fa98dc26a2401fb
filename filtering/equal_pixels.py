"""Frames with equal pixels, decoded only where their hash and size are equal and no other rule tells."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import canonical_json
from driveflow.errors import DriveflowError
from driveflow.flow.sections import NearDuplicateSection
from driveflow.images.frame_bytes import FrameBytes
from driveflow.images.pixel_digest import pixel_digest
from driveflow.neighbours.leader_scan import NamedPairs
from driveflow.snapshots import SnapshotTables
from filtering.distinct import joined, pairs_of
from filtering.near_duplicates import Candidates, Mask, Twins, asking_order, thin
from filtering.pixel_digests import PixelDigests
from filtering.places import Ints

_THREADS = 8
_LABEL = ("class_name", "x1", "y1", "x2", "y2", "ignore")


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """What tells which frames may have equal pixels, and where these come from.

    `look` is equal where hash and size of two frames are; `tables` tell their labels; `digests` knows the pixels of
    frames that were decoded before.
    """

    look: Ints
    tables: SnapshotTables
    pixels: FrameBytes
    digests: PixelDigests | None = None


@dataclass(slots=True)
class _Known:
    """The pixels that were decoded: a number a frame, -1 where they were not, or could not be."""

    number: Ints
    tried: Mask
    digests: dict[str, int] = field(default_factory=dict)


def thin_with_pixels(candidates: Candidates, alike: Lookalikes, section: NearDuplicateSection) -> Twins:
    """Return what `thin` does where every copy of a kept frame's pixels goes, whatever camera took it.

    Only frames that the other rules keep are decoded, and only those that another one's hash and size equal; so a car
    that is parked for an hour costs nothing. A labeled frame is no copy of one with other labels.
    """
    known = _Known(np.full(len(alike.look), -1), np.zeros(len(alike.look), np.bool_))
    twins = thin(candidates, section)
    while _decode(_doubtful(candidates, alike, twins, known), candidates.frame_ids, alike, known):
        distinct = _distinct(candidates, alike.tables, known.number)
        twins = thin(replace(candidates, pixels=known.number, distinct=distinct), section)
    return twins


def _doubtful(candidates: Candidates, alike: Lookalikes, twins: Twins, known: _Known) -> Ints:
    """Return the kept frames not decoded yet whose look another kept frame has, unless all of these are shielded."""
    kept = np.ones(len(alike.look), np.bool_)
    kept[twins.frame] = False
    rows = np.flatnonzero(kept)
    _, where, counts = np.unique(alike.look[rows], return_inverse=True, return_counts=True)
    free = np.bincount(where, weights=~candidates.shielded[rows])
    asked = (counts[where] > 1) & (free[where] > 0) & ~known.tried[rows]
    return np.asarray(rows[asked])


def _decode(rows: Ints, frame_ids: pa.Array, alike: Lookalikes, known: _Known) -> bool:
    """Learn the pixels of the frames at `rows`; return whether two frames were found equal."""
    if not len(rows):
        return False
    before = np.unique(known.number[known.number >= 0], return_counts=True)[1]
    names = frame_ids.take(pa.array(rows)).to_pylist()
    digests = _digests(names, alike)
    known.tried[rows] = True
    for row, name in zip(rows.tolist(), names, strict=True):
        if name in digests:
            known.number[row] = known.digests.setdefault(digests[name], len(known.digests))
    after = np.unique(known.number[known.number >= 0], return_counts=True)[1]
    return int((after > 1).sum()) > 0 and after.sum() > before.sum()


def _digests(names: Sequence[str], alike: Lookalikes) -> dict[str, str]:
    """Return the digests of all frames that can be read, decoding each once for all runs."""
    held = {} if alike.digests is None else alike.digests.known(names)
    unknown = [name for name in names if name not in held]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="equal-pixels") as pool:
        decoded = zip(unknown, pool.map(lambda name: digest_or_none(name, alike.pixels), unknown), strict=True)
        found = {name: digest for name, digest in decoded if digest is not None}
    if alike.digests is not None:
        alike.digests.append(found)
    return held | found


def digest_or_none(frame_id: str, pixels: FrameBytes) -> str | None:
    """Return the digest of a frame's pixels; None where they cannot be read."""
    try:
        return pixel_digest(pixels.read(frame_id))
    except DriveflowError:
        return None


def _distinct(candidates: Candidates, tables: SnapshotTables, number: Ints) -> NamedPairs:
    """Return the pairs marked by a person, and those of equal pixels of which the later one is labeled otherwise."""
    rank = np.empty(len(number), np.int64)
    rank[asking_order(candidates)] = np.arange(len(number))
    rows = np.flatnonzero(number >= 0)
    labels = _labels(tables, candidates.frame_ids.take(pa.array(rows)))
    table = pl.DataFrame({"row": rows, "number": number[rows], "labels": labels, "rank": rank[rows]})
    pairs = table.join(table, on="number", suffix="_later").filter(
        (pl.col("rank") < pl.col("rank_later"))
        & (pl.col("labels_later") != "")
        & (pl.col("labels") != pl.col("labels_later"))
    )
    found = pairs_of(pairs["row"].to_numpy(), pairs["row_later"].to_numpy(), len(number))
    return found if candidates.distinct is None else joined(found, candidates.distinct)


def _labels(tables: SnapshotTables, frame_ids: pa.Array) -> list[str]:
    """Return what was looked for and found in each frame, as text; empty where nobody looked."""
    mine = tables.boxes.filter(pc.is_in(tables.boxes["frame_id"], value_set=frame_ids))
    boxes: dict[str, list[str]] = {}
    for row in mine.select(["frame_id", *_LABEL]).to_pylist():
        boxes.setdefault(row["frame_id"], []).append(canonical_json([row[name] for name in _LABEL]))
    at = pc.index_in(frame_ids, value_set=tables.frames["frame_id"].combine_chunks())
    looked = tables.frames["annotated_classes"].take(at).to_pylist()
    return [
        canonical_json([*classes, *sorted(boxes.get(frame_id, []))]) if classes else ""
        for frame_id, classes in zip(frame_ids.to_pylist(), looked, strict=True)
    ]
