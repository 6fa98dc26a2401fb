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

    `boxes` has the columns of BOXES, `turn`, `by`, `row` and `group` (one number a frame and class), sorted by group,
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


def make_dispute(boxes: pl.DataFrame, looked: pl.DataFrame, rule: Rule) -> Dispute:
    """Return the dispute over `boxes`; `looked` has frame_id, class_name, turn and by."""
    key = ["frame_id", "class_name", "turn", "by"]
    claims = pl.concat([looked.select(*key, looked=pl.lit(value=True)), boxes.select(*key, looked=pl.lit(value=False))])
    claims = claims.group_by(key).agg(pl.col("looked").any()).sort(key)
    claims = claims.with_columns(group=pl.struct("frame_id", "class_name").rle_id().cast(pl.Int64))
    groups = claims.select("frame_id", "class_name", "group").unique()
    found = boxes.join(groups, on=["frame_id", "class_name"], how="left").sort("group", "turn", "box_id", "row")
    return Dispute(
        rule=rule,
        boxes=found,
        corners=found.select(CORNERS).to_numpy(order="c"),
        groups=found["group"].to_numpy(),
        turns=found["turn"].to_numpy(),
        claim_groups=claims["group"].to_numpy(),
        claim_turns=claims["turn"].to_numpy(),
        claim_looked=claims["looked"].to_numpy(),
        claim_names=claims["by"],
    )


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
