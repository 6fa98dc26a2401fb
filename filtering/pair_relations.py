"""What two frames have to do with each other, pair by pair: drives, cameras, seconds and metres."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.leader_scan import NO_TIME
from filtering.decisions import Floats, Ints, Mask
from filtering.places import Sightings
from filtering.twin_groups import ACROSS_CAMERAS, ACROSS_DRIVES, NS_PER_S, SAME_DRIVE


@dataclass(frozen=True, slots=True)
class PairRelations:
    """Of each pair whether both frames' places are `known`, and the narrowest `kind` of group they share, else -1.

    `gap_s` is the least time between the two in one drive and camera, `gap_m` the least distance where less than the
    standstill lies between them; NaN where there is none. Both are rounded as scores are.
    """

    known: Mask
    kind: Ints
    gap_s: Floats
    gap_m: Floats


def pair_relations(seen: Sightings, left: Ints, right: Ints, section: NearDuplicateSection) -> PairRelations:
    """Return the relation of each pair of frames."""
    places = pl.DataFrame({"frame": seen.frame, "place": seen.place, "camera": seen.camera, "time": seen.time_ns})
    places = places.with_columns(x=seen.position_m[:, 0], y=seen.position_m[:, 1], z=seen.position_m[:, 2])
    sides = [
        pl.DataFrame({"pair": np.arange(len(side)), "frame": side}).join(places, on="frame") for side in (left, right)
    ]
    known = np.isin(left, seen.frame) & np.isin(right, seen.frame)
    shared = sides[0].join(sides[1], on=["pair", "place"], suffix="_b").with_columns(_gap_ns(), _moved_m())
    near = shared if section.window_s == 0 else shared.filter(pl.col("gap") <= int(section.window_s * NS_PER_S))
    cameras = sides[0].join(sides[1], on=["pair", "camera"], how="semi")
    kind = np.where(known & section.across_cameras, ACROSS_CAMERAS, -1)
    kind[cameras["pair"].to_numpy()] = ACROSS_DRIVES
    kind[near["pair"].to_numpy()] = SAME_DRIVE
    slow = shared.filter(pl.col("gap") < section.standstill_s * NS_PER_S)
    gap_ns = _least(shared, "gap", len(left))
    return PairRelations(known, kind, np.round(gap_ns / NS_PER_S, 6), np.round(_least(slow, "moved", len(left)), 3))


def joined_relations(parts: Sequence[PairRelations], rows: Ints) -> PairRelations:
    """Return the relations of all `parts` as one; the n-th of them, counted through, is that of pair rows[n]."""
    count = len(rows)
    joined = PairRelations(np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count), np.zeros(count))
    start = 0
    for part in parts:
        mine = rows[start : start + len(part.known)]
        joined.known[mine], joined.kind[mine] = part.known, part.kind
        joined.gap_s[mine], joined.gap_m[mine] = part.gap_s, part.gap_m
        start += len(mine)
    return joined


def _gap_ns() -> pl.Expr:
    """Return the time between two rows; null where one has none."""
    timed = (pl.col("time") != NO_TIME) & (pl.col("time_b") != NO_TIME)
    return pl.when(timed).then(pl.col("time") - pl.col("time_b")).abs().alias("gap")


def _moved_m() -> pl.Expr:
    return pl.sum_horizontal((pl.col(axis) - pl.col(f"{axis}_b")) ** 2 for axis in "xyz").sqrt().alias("moved")


def _least(rows: pl.DataFrame, name: str, pairs: int) -> Floats:
    least = np.full(pairs, np.nan)
    found = rows.filter(pl.col(name).is_not_null() & pl.col(name).is_not_nan()).group_by("pair").agg(pl.col(name).min())
    least[found["pair"].to_numpy()] = found[name].to_numpy()
    return least
