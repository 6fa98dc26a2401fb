"""Pair boxes of two snapshots that lie at one place of one frame, whatever their ids say."""

from dataclasses import dataclass
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
    """Return every pair at one place: numbers of both boxes, and in which order pairs are taken."""
    frames = pl.concat([one["frame_id"], other["frame_id"]]).unique().to_frame().with_row_index("frame")
    # corners within a pixel have sums within four: the cell of one is that of the other or the next to it
    cell = (pl.sum_horizontal(CORNERS) / (4 * _PLACE_PX)).floor().cast(pl.Int64)
    kept = ("frame", "drawn", "cell", "class_name", "ignore", *CORNERS)
    sides = [
        side.join(frames, on="frame_id").with_columns(cell=cell, drawn=pl.col("score").is_null()).select(number, *kept)
        for side, number in ((one, "left"), (other, "right"))
    ]
    around = pl.concat([sides[1].with_columns(pl.col("cell") + step) for step in (-1, 0, 1)])
    pairs = sides[0].join(around, on=["frame", "drawn", "cell"], suffix="_b")
    unlike = [pl.col(name) != pl.col(f"{name}_b") for name in ("class_name", "ignore")]
    off = pl.max_horizontal((pl.col(name) - pl.col(f"{name}_b")).abs() for name in CORNERS)
    sums = (pl.sum_horizontal(CORNERS), pl.sum_horizontal(f"{name}_b" for name in CORNERS))
    return (
        pairs.with_columns(off=off, unlike=pl.sum_horizontal(unlike))
        .filter(pl.col("off") <= _PLACE_PX)
        # the last but two say the same whichever snapshot is the first
        .sort("unlike", "off", pl.min_horizontal(sums), pl.max_horizontal(sums), "left", "right")
        .select("left", "right")
    )


def _one_to_one(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs that are taken where each box has one partner at most, the first pairs first."""
    lefts: set[int] = set()
    rights: set[int] = set()
    taken: list[int] = []
    for number, (left, right) in enumerate(pairs.iter_rows()):
        if left not in lefts and right not in rights:
            lefts.add(left)
            rights.add(right)
            taken.append(number)
    return pairs[taken].sort("left")


def _snapped(pairs: pl.DataFrame) -> pl.DataFrame:
    off = {name: (pl.col(name) - pl.col(f"{name}_b")).abs() for name in CORNERS}
    least = [pl.when(by <= ROUNDING_PX).then(by).otherwise(0.0) for by in off.values()]
    return pairs.with_columns(
        pl.max_horizontal(least).alias("rounded_px"),
        *(pl.when(by <= ROUNDING_PX).then(name).otherwise(f"{name}_b").alias(f"{name}_b") for name, by in off.items()),
    )
