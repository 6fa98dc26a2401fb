"""Pair boxes of two snapshots that lie at one place of one frame, whatever their ids say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

import polars as pl

from ingestion.disputes import CORNERS

ROUNDING_PX: Final = 0.01
"""Corners that are nearer than this differ by how they were written down: nobody draws as finely."""

_PLACE_PX: Final = 1.0  # formats of whole pixels move a corner by up to one


@dataclass(frozen=True, slots=True)
class Placed:
    """Boxes at one place, a row a pair: the columns of the first, those of the second with "_b" behind their names.

    Corners of the second that differ by rounding alone are those of the first; `rounded_px` is by how much they did.
    """

    pairs: pl.DataFrame
    rest: pl.DataFrame  # of the first, without a partner
    rest_b: pl.DataFrame

    @property
    def most_rounding_px(self) -> float:
        """By how much the corner differs that differs most by rounding."""
        most = self.pairs["rounded_px"].max()
        return most if isinstance(most, float) else 0.0


def pair_places(first: pl.DataFrame, second: pl.DataFrame) -> Placed:
    """Pair boxes of which every corner is within a pixel of the other's; boxes of one class and the nearest go first.

    A prediction is never paired with what somebody drew.
    """
    one, other = first.with_row_index("left"), second.with_row_index("right")
    chosen = _one_to_one(_near(one, other))
    named = other.rename({name: f"{name}_b" for name in second.columns if name != "frame_id"}).drop("frame_id")
    pairs = chosen.join(one, on="left", maintain_order="left").join(named, on="right", maintain_order="left")
    return Placed(
        _snapped(pairs).drop("left", "right"),
        one.join(chosen, on="left", how="anti", maintain_order="left").drop("left"),
        other.join(chosen, on="right", how="anti", maintain_order="left").drop("right"),
    )


def _near(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return numbers of the boxes at one place, those in the very same one together, in the order they are paired in.

    A row has the numbers of all boxes of one class in one place on either side; rows of one `turn` are of one rank.
    """
    frames = pl.concat([one["frame_id"], other["frame_id"]]).unique().to_frame().with_row_index("frame")
    # corners within a pixel have sums within four: the cell of one is that of the other or the next to it
    cell = (pl.sum_horizontal(CORNERS) / (4 * _PLACE_PX)).floor().cast(pl.Int64)
    kept = ("frame", "drawn", "cell", "class_name", "ignore", *CORNERS)
    sides = [
        side.join(frames, on="frame_id", maintain_order="left")
        .with_columns(cell=cell, drawn=pl.col("score").is_null())
        .group_by(kept)
        .agg(number)
        for side, number in ((one, "left"), (other, "right"))
    ]
    around = pl.concat([sides[1].with_columns(pl.col("cell") + step) for step in (-1, 0, 1)])
    pairs = sides[0].join(around, on=["frame", "drawn", "cell"], suffix="_b")
    unlike = [pl.col(name) != pl.col(f"{name}_b") for name in ("class_name", "ignore")]
    off = pl.max_horizontal((pl.col(name) - pl.col(f"{name}_b")).abs() for name in CORNERS)
    sums = (pl.sum_horizontal(CORNERS), pl.sum_horizontal(f"{name}_b" for name in CORNERS))
    # the last two say the same whichever snapshot is the first
    ranked = pairs.with_columns(
        off=off, unlike=pl.sum_horizontal(unlike), least=pl.min_horizontal(sums), most=pl.max_horizontal(sums)
    )
    rank = ("frame", "unlike", "off", "least", "most")
    near = ranked.filter(pl.col("off") <= _PLACE_PX).sort(rank)
    return near.select("left", "right", turn=pl.struct(rank).rle_id())


def _one_to_one(near: pl.DataFrame) -> pl.DataFrame:
    """Return left and right of the pairs that are taken where each box has one partner at most."""
    lonely = pl.all_horizontal(pl.col(side).list.first().is_unique() for side in ("left", "right"))
    both = pl.min_horizontal(pl.col(side).list.len() for side in ("left", "right"))
    alone, crowd = near.filter(lonely), near.filter(~lonely)
    pairs = alone.select(pl.col("left").list.head(both), pl.col("right").list.head(both)).explode("left", "right")
    return pl.concat([pairs, _in_turn(crowd)]).sort("left")


def _in_turn(near: pl.DataFrame) -> pl.DataFrame:
    """Return pairs as `_one_to_one` does, the first turns first.

    Of one turn the boxes with the lowest numbers go first: those on the left, then those on the right.
    """
    partner: dict[int, int] = {}
    used: set[int] = set()
    for _, rows in groupby(near.iter_rows(), key=itemgetter(2)):
        places = [([left for left in lefts if left not in partner], _Heads(rights, used)) for lefts, rights, _ in rows]
        for left, reach in _in_reach(places):
            heads = [head for rights in reach if (head := rights.first()) is not None]
            if heads:
                partner[left] = min(heads)
                used.add(partner[left])
    schema = {"left": pl.UInt32, "right": pl.UInt32}
    return pl.DataFrame(list(partner.items()), schema=schema, orient="row")


def _in_reach(places: Sequence[tuple[list[int], "_Heads"]]) -> Iterable[tuple[int, list["_Heads"]]]:
    """Return each number of the left, in order, with the places on the right that it may go to."""
    if len(places) == 1:
        return ((left, [places[0][1]]) for left in places[0][0])
    reach: dict[int, list[_Heads]] = {}
    for lefts, rights in places:
        for left in lefts:
            reach.setdefault(left, []).append(rights)
    return sorted(reach.items())


@dataclass(slots=True)
class _Heads:
    """Numbers in order, of which those `used` do not count."""

    numbers: Sequence[int]
    used: set[int]
    at: int = 0

    def first(self) -> int | None:
        """Return the first number that is free."""
        while self.at < len(self.numbers) and self.numbers[self.at] in self.used:
            self.at += 1
        return self.numbers[self.at] if self.at < len(self.numbers) else None


def _snapped(pairs: pl.DataFrame) -> pl.DataFrame:
    off = {name: (pl.col(name) - pl.col(f"{name}_b")).abs() for name in CORNERS}
    least = [pl.when(by <= ROUNDING_PX).then(by).otherwise(0.0) for by in off.values()]
    return pairs.with_columns(
        pl.max_horizontal(least).alias("rounded_px"),
        *(pl.when(by <= ROUNDING_PX).then(name).otherwise(f"{name}_b").alias(f"{name}_b") for name, by in off.items()),
    )
