"""Tell every disagreement about boxes as one row of CONFLICTS."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from ingestion.disputes import COMPARED, CORNERS, FATES, Alone, Bools, Dispute, Verdicts
from ingestion.overlap import Ints, alike

_SAME_PX = 1e-3  # corners this close are one number, written by two tools
_IN_REVIEW = FATES.index("in_review")
_SPECIAL = r'["\\\x00-\x1f]|python3|\{\{\$'  # letters that canonical JSON spells in another way
_NO_TWIN = -1
ORDER = ("sort", "heard", "less")
"""Columns by which conflicts are sorted that were found some frames at a time."""

Names: TypeAlias = npt.NDArray[np.str_]


def box_conflicts(dispute: Dispute, verdicts: Verdicts) -> pl.DataFrame:
    """Return rows of CONFLICTS, without `where`, for boxes that differ and boxes that not all drew.

    With them goes what they are sorted by beyond the frames (`ORDER`): pairs first, as they were heard and the most
    alike first.
    """
    same = verdicts.same
    differ = _differ(dispute, same.left, same.right)
    kept, gone = same.left[differ], same.right[differ]
    drawn = np.zeros(len(dispute.groups), np.bool_)
    for boxes in (kept, gone, verdicts.alone.box):
        drawn[boxes] = True
    involved = np.flatnonzero(drawn)
    teller = _Teller(dispute, involved)
    moved = teller.moved(kept, gone, verdicts.fates[kept] == _IN_REVIEW)
    order = pl.DataFrame(
        {"sort": np.zeros(len(kept), np.int64), "heard": verdicts.heard[differ], "less": -same.iou[differ]}
    )
    rows = pl.concat([moved.hstack(order), teller.alone(verdicts.alone)])
    told = rows.with_columns(kind=pl.lit("box"), rule=pl.lit(dispute.rule.name), where=pl.lit(None, pl.String))
    return told.select(*columns.CONFLICTS.names, *ORDER)


class _Teller:
    """Spells the boxes `involved` in disagreements, each once."""

    def __init__(self, dispute: Dispute, involved: Ints) -> None:
        self.dispute = dispute
        self.texts = _told(dispute.boxes[involved])
        self.place = np.zeros(len(dispute.groups), np.int64)
        self.place[involved] = np.arange(len(involved))

    def moved(self, kept: Ints, gone: Ints, reviewed: Bools) -> pl.DataFrame:
        """Return rows for pairs that are one box drawn or described in two ways."""
        first = self.dispute.turns[kept] <= self.dispute.turns[gone]
        winner = np.where(reviewed, "review", np.where(first, "left", "right"))
        left, right = np.where(first, kept, gone), np.where(first, gone, kept)
        return self._rows(kept, self._tell(left), self._tell(right), winner)

    def alone(self, alone: Alone) -> pl.DataFrame:
        """Return a row for each box that not everybody drew; two names for one place are one row."""
        twins = _other_names(self.dispute, alone)
        order = np.lexsort((alone.silent, alone.box, self.dispute.groups[alone.box]))
        told = np.zeros(len(alone.box), np.bool_)
        told[twins[twins != _NO_TWIN]] = True
        order = order[~told[order]]
        lonely, named = order[twins[order] == _NO_TWIN], order[twins[order] != _NO_TWIN]
        parts = [self._missing(alone, lonely), self._renamed(alone, named, twins[named])]
        nothing = {"heard": pl.lit(0, pl.Int64), "less": pl.lit(0.0)}
        return pl.concat(
            part.with_columns(sort=pl.lit(number, pl.Int64), **nothing) for number, part in enumerate(parts, 1)
        )

    def _missing(self, alone: Alone, entries: Ints) -> pl.DataFrame:
        box, silent, stays = alone.box[entries], alone.silent[entries], alone.stays[entries]
        claims = self.dispute.claim_of(self.dispute.groups[box], silent)
        nothing = _each(self.dispute.claim_names.gather(claims), lambda by: canonical_json({"batch": by, "box": None}))
        first = pl.Series(self.dispute.turns[box] <= silent, dtype=pl.Boolean)
        drawn = self._tell(box)
        winner = np.where(first.to_numpy() == stays, "left", "right")
        return self._rows(box, drawn.zip_with(first, nothing), nothing.zip_with(first, drawn), self._or_review(winner))

    def _renamed(self, alone: Alone, entries: Ints, twins: Ints) -> pl.DataFrame:
        turns = self.dispute.turns
        first = turns[alone.box[entries]] <= turns[alone.box[twins]]
        left, right = np.where(first, entries, twins), np.where(first, twins, entries)
        stays = alone.stays[left], alone.stays[right]
        one = np.where(stays[0], "left", np.where(stays[1], "right", "neither"))
        winner = np.where(stays[0] & stays[1], "both", one)
        told = self._tell(alone.box[left]), self._tell(alone.box[right])
        return self._rows(alone.box[entries], *told, self._or_review(winner))

    def _or_review(self, winner: Names) -> Names:
        return np.full(len(winner), "review") if self.dispute.rule.kind == "review" else winner

    def _tell(self, boxes: Ints) -> pl.Series:
        return self.texts.gather(self.place[boxes])

    def _rows(self, boxes: Ints, left: pl.Series, right: pl.Series, winner: Names) -> pl.DataFrame:
        sides = {"frame_id": self.dispute.boxes["frame_id"].gather(boxes), "left": left, "right": right}
        return pl.DataFrame({**sides, "winner": pl.Series(winner.tolist(), dtype=pl.String)})


def _told(boxes: pl.DataFrame) -> pl.Series:
    """Return the canonical JSON of each box, with its contributor."""
    texts = {"batch": boxes["by"], "box": boxes["box_id"], "class_name": boxes["class_name"]}
    texts |= {name: boxes[name].set(boxes[name] == "{}", None) for name in ("attributes", "annotator", "guideline")}
    told = {name: _quoted(values) for name, values in texts.items()}
    told["ignore"] = boxes.select(pl.when("ignore").then(pl.lit("true"))).to_series()
    told |= {name: boxes[name].round(3).cast(pl.String) for name in CORNERS}
    parts = [pl.lit(f'"{name}":') + told[name] for name in sorted(told)]
    joined = boxes.select(text=pl.concat_str(parts, separator=",", ignore_nulls=True))
    return joined.select(pl.lit("{") + pl.col("text") + pl.lit("}")).to_series()


def _quoted(texts: pl.Series) -> pl.Series:
    """Return each text as JSON spells it; ids of boxes are many, and seldom need more than quotes around them."""
    if texts.str.contains(_SPECIAL).any():
        return _each(texts, canonical_json)
    return texts.to_frame("text").select(pl.lit('"') + pl.col("text") + pl.lit('"')).to_series()


def _each(texts: pl.Series, spell: Callable[[Any], str]) -> pl.Series:
    """Return what `spell` makes of each text, null for null; it is asked once for every distinct text."""
    known = texts.drop_nulls().unique()
    spelled = pl.Series([spell(text) for text in known], dtype=pl.String)
    return texts.replace_strict(known, spelled, default=None, return_dtype=pl.String)


def _differ(dispute: Dispute, left: Ints, right: Ints) -> Bools:
    moved: Bools = np.abs(dispute.corners[left] - dispute.corners[right]).max(axis=1, initial=0) > _SAME_PX
    for name in COMPARED:
        values = dispute.boxes[name]
        moved |= values.gather(left).ne_missing(values.gather(right)).to_numpy()
    return moved


def _other_names(dispute: Dispute, alone: Alone) -> Ints:
    """Return, for entries that are one place under two names, the entry of the other name; each is in one pair."""
    frames, turns = dispute.boxes["frame"].gather(alone.box).to_numpy(), dispute.turns[alone.box]
    first, second = np.minimum(turns, alone.silent), np.maximum(turns, alone.silent)
    width = int(second.max(initial=0)) + 1
    met = (frames * width + first) * width + second  # who drew, who did not, in which frame, either way round
    order = np.argsort(met, kind="stable")
    drawn_first = (turns < alone.silent)[order]
    corners = dispute.corners[alone.box]
    pairs = alike(corners, met, (order[drawn_first], order[~drawn_first]), dispute.rule.min_iou)
    left, right = dispute.groups[alone.box[pairs.left]], dispute.groups[alone.box[pairs.right]]
    one, other = np.where(left < right, (pairs.left, pairs.right), (pairs.right, pairs.left))[:, left != right]
    twins = np.full(len(alone.box), _NO_TWIN, np.int64)
    used: set[int] = set()
    for a, b in sorted(zip(one.tolist(), other.tolist(), strict=True)):
        if a not in used and b not in used:
            twins[a] = b
            used |= {a, b}
    return twins
