"""The frames on which contributors do not all say the same, as numbers to decide by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from ingestion.overlap import Floats, Ints, Pairs

CORNERS = ("x1", "y1", "x2", "y2")
COMPARED = ("ignore", "attributes", "annotator", "guideline")

Bools: TypeAlias = npt.NDArray[np.bool_]
Fate = Literal["kept", "united", "overruled", "in_review"]
FATES: tuple[Fate, ...] = ("kept", "united", "overruled", "in_review")


@dataclass(frozen=True, slots=True)
class Rule:
    """How the boxes of one class become one set.

    `union` keeps what anybody drew; `review` the same, but for boxes that not all who looked drew; `consensus` what
    enough of those who looked drew; `ranked` what the first in `order` that looked drew, and nothing else.
    """

    kind: Literal["union", "review", "consensus", "ranked"]
    name: str  # as a conflict tells it
    min_iou: float  # boxes at least this alike are the same box
    order: Mapping[int, int] = field(default_factory=dict)  # turn -> place among those to be heard; else the turn
    quorum: int | float = 2  # how many of those who looked must have drawn a box, or which share of them


@dataclass(frozen=True, slots=True)
class Dispute:
    """Boxes and claimants of disputed frames under one rule.

    `boxes` has the columns of BOXES, `turn`, `by`, `row` and `frame`, sorted by group (one number a frame and class),
    turn and box_id. Claimants are who looked for a class or drew it, sorted by group and turn.
    """

    rule: Rule
    boxes: pl.DataFrame
    corners: Floats
    groups: Ints
    turns: Ints
    claim_groups: Ints
    claim_turns: Ints
    claim_looked: Bools
    claim_names: pl.Series

    def claim_of(self, groups: Ints, turns: Ints) -> Ints:
        """Return which claimant each pair of group and turn is."""
        width = int(self.claim_turns.max(initial=0)) + 1
        found: Ints = np.searchsorted(self.claim_groups * width + self.claim_turns, groups * width + turns)
        return found


@dataclass(frozen=True, slots=True)
class Alone:
    """Boxes that somebody who looked for their class did not draw: box, turn of that one, whether the box stays."""

    box: Ints
    silent: Ints
    stays: Bools


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What becomes of each box (a number in `FATES`), which boxes are one, and which are disputed.

    `same` has the box that stands on its left, one that went with it on its right; `heard` tells for each pair in which
    round it was found.
    """

    fates: npt.NDArray[np.int8]
    same: Pairs
    alone: Alone
    heard: Ints


def with_numbers(boxes: pl.DataFrame, looked: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both with `frame` and `kind`: numbers in the order of frame_id and class_name.

    A kind is 1 or more; 0 is that of who looked for nothing.
    """
    for name, number, first in (("frame_id", "frame", 0), ("class_name", "kind", 1)):
        names = pl.concat([boxes[name].unique(), looked[name].unique()]).drop_nulls().unique().sort()
        spelled = pl.Enum(names)
        boxes, looked = (
            table.with_columns(
                (table[name].cast(spelled).to_physical().cast(pl.Int64) + first).fill_null(0).alias(number)
            )
            for table in (boxes, looked)
        )
    return boxes, looked


def make_dispute(boxes: pl.DataFrame, looked: pl.DataFrame, rule: Rule) -> Dispute:
    """Return the dispute over `boxes`; `looked` has turn, by, and both have the numbers of `with_numbers`."""
    sides = (looked.filter(pl.col("kind") > 0), boxes)
    turns = np.concatenate([side["turn"].to_numpy() for side in sides])
    frames, kinds = (np.concatenate([side[name].to_numpy() for side in sides]) for name in ("frame", "kind"))
    width, most = int(turns.max(initial=0)) + 1, int(kinds.max(initial=0)) + 1
    keys = (frames * most + kinds) * width + turns
    claims, firsts = np.unique(keys, return_index=True)  # who looked stands first
    groups = np.cumsum(np.diff(claims // width, prepend=-1) != 0) - 1
    mine = groups[np.searchsorted(claims, keys[sides[0].height :])]
    order = _in_order(boxes, mine * width + boxes["turn"].to_numpy())
    found = boxes.select(pl.all().gather(pl.Series(order)))
    return Dispute(
        rule=rule,
        boxes=found,
        corners=found.select(CORNERS).to_numpy(order="c"),
        groups=mine[order],
        turns=found["turn"].to_numpy(),
        claim_groups=groups,
        claim_turns=claims % width,
        claim_looked=firsts < sides[0].height,
        claim_names=pl.concat([side["by"] for side in sides]).gather(firsts),
    )


def _in_order(boxes: pl.DataFrame, keys: Ints) -> Ints:
    """Return the order of `boxes` by key, box_id and row; most are in the order of their ids in each frame already."""
    frame, turn, name = boxes["frame"], boxes["turn"], boxes["box_id"]
    sorted_already = (name >= name.shift()) | (frame != frame.shift()) | (turn != turn.shift())
    if sorted_already.fill_null(value=True).all():
        return np.argsort(keys, kind="stable")
    ordered = boxes.select("box_id", "row", key=pl.Series(keys)).with_row_index("place").sort("key", "box_id", "row")
    return ordered["place"].cast(pl.Int64).to_numpy()


def hearing(dispute: Dispute) -> Ints:
    """Return the place of each claimant among those of its group: the first is heard first."""
    rule = dispute.rule
    turns = dispute.claim_turns
    places = np.array([rule.order.get(turn, turn) for turn in range(int(turns.max(initial=0)) + 1)], np.int64)[turns]
    silent = ~dispute.claim_looked if rule.kind == "ranked" else np.zeros(len(turns), np.bool_)
    order = np.lexsort((turns, places, silent, dispute.claim_groups))
    heard = np.empty(len(turns), np.int64)
    heard[order] = np.arange(len(turns)) - starts_of(dispute.claim_groups)
    return heard


def starts_of(groups: Ints) -> Ints:
    """Return, for each row of the sorted `groups`, the first row of its group."""
    starts: Ints = np.searchsorted(groups, groups, side="left")
    return starts
