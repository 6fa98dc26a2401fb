"""Unite the boxes that several contributors drew in one frame, and name every disagreement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.aside import Aside
from driveflow.canonical import digest_bytes
from ingestion.agreement import agreed_frames, shared_frames
from ingestion.box_conflicts import ORDER, box_conflicts
from ingestion.consensus import reach_consensus
from ingestion.disputes import CORNERS, FATES, Bools, Rule, make_dispute, with_numbers
from ingestion.settle import settle

_FRAMES_AT_ONCE = 10_000  # disputed ones that are settled together
_CONFLICTS_AT_ONCE = 16_384  # that are spelled out together
_GONE = {"united": "united", "overruled": "overruled", "in_review": "in_review"}


@dataclass(frozen=True, slots=True)
class Claims:
    """What contributors say.

    `boxes` has the columns of BOXES, `looked` has frame_id and annotated_classes of the frames that they looked at;
    both have `turn`, the contributor's place among the contributors of a frame, and `by`, its name. Boxes of one frame
    and contributor stand together.
    """

    boxes: pl.DataFrame
    looked: pl.DataFrame


@dataclass(frozen=True, slots=True)
class BoxRules:
    """How boxes of one frame become one set: the rule, and those for classes of their own."""

    rule: Rule
    per_class: Mapping[str, Rule] = field(default_factory=dict)

    def of(self, class_name: str) -> Rule:
        """Return the rule for a class."""
        return self.per_class.get(class_name, self.rule)


@dataclass(frozen=True, slots=True)
class UnitedBoxes:
    """The boxes left, rows of CONFLICTS, and where the others went.

    boxes in = boxes + united (into another, or a prediction that is there twice) + overruled + in_review. `disputed`
    has frame_id and class_name of what a review must look at.
    """

    boxes: pl.DataFrame
    conflicts: pa.Table
    disputed: pl.DataFrame
    counts: Mapping[str, int]

    @property
    def united(self) -> int:
        """How many boxes went into another."""
        return self.counts["united"]


@dataclass(slots=True)
class Settler:
    """Settles the boxes of frames of which several speak, some frames at a time in the order of their ids.

    It keeps what was decided so far: who asks for it gets the same, however the frames were shared out.
    """

    rules: BoxRules
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_GONE, 0))
    _gone: list[pl.Series] = field(default_factory=list)  # rows, of the frames that are looked at now
    _conflicts: list[pl.DataFrame] = field(default_factory=list)  # of portions that are not whole
    _told: Aside = field(default_factory=lambda: Aside(columns.CONFLICTS))
    _disputed: list[pl.DataFrame] = field(default_factory=list)
    _disputed_frames: int = 0

    def settle(self, crowd: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
        """Return the boxes left of `crowd` (as in `Claims`), sorted by key, with what else it has.

        `looked` has frame_id, class_name, turn and by.
        """
        self._disputed = []
        boxes, looked = with_numbers(crowd.with_row_index("row"), looked)
        truth = boxes.filter(pl.col("score").is_null())
        if truth.height < boxes.height:
            self._drop(_twice(boxes.filter(pl.col("score").is_not_null())), "united")
        self._settle_truth(truth, looked)
        gone = np.zeros(boxes.height, np.bool_)
        for rows in self._gone:
            gone[rows.to_numpy()] = True
        self._gone = []
        left = boxes.filter(pl.Series(~gone, dtype=pl.Boolean))
        return _with_own_ids(left).drop("row", "frame", "kind")

    def conflicts(self) -> pa.Table:
        """Return all conflicts, in the order in which they are found where all frames are settled at once."""
        self._tell(self._disputed_frames // _FRAMES_AT_ONCE + 1)
        return self._told.table()

    def disputed(self) -> pl.DataFrame:
        """Return frame_id and class_name of what a review must look at, of the frames that were settled last."""
        return pl.concat([pl.DataFrame(schema=DISPUTED), *self._disputed]).unique()

    def _tell(self, end: int) -> None:
        """Put aside the conflicts of all portions before `end`: no more will come."""
        if not self._conflicts:
            return
        found = pl.concat(self._conflicts)
        whole = found["portion"] < end
        if whole.any():
            told = found.filter(whole).sort(_TOLD, maintain_order=True).select(columns.CONFLICTS.names)
            for some in told.iter_slices(_CONFLICTS_AT_ONCE):
                self._told.add(some.to_arrow().cast(columns.CONFLICTS))
            self._conflicts = [found.filter(~whole)]

    def _drop(self, rows: pl.Series, why: str) -> None:
        self._gone.append(rows)
        self.counts[why] += len(rows)

    def _settle_truth(self, boxes: pl.DataFrame, looked: pl.DataFrame) -> None:
        agreed = agreed_frames(boxes, looked)
        ruled = _by_rule(self.rules)
        same = boxes.filter(pl.Series(agreed[boxes["frame"].to_numpy()]))
        for rule, mine in ruled:
            self._drop(_repeated(same.filter(mine), rule), "united")
        for number, some_boxes, some_looked in self._portions(boxes, looked, agreed):
            for place, (rule, mine) in enumerate(ruled):
                told = self._decide(some_boxes.filter(mine), some_looked.filter(mine), rule)
                if told is not None:
                    tags = {"portion": pl.lit(number, pl.Int64), "ruled": pl.lit(place, pl.Int64)}
                    self._conflicts.append(told.with_columns(**tags))
        self._tell(self._disputed_frames // _FRAMES_AT_ONCE)

    def _portions(
        self, boxes: pl.DataFrame, looked: pl.DataFrame, agreed: Bools
    ) -> Iterator[tuple[int, pl.DataFrame, pl.DataFrame]]:
        """Yield boxes and what was looked for of so many disputed frames at a time, which bounds memory."""
        frames, heard = boxes["frame"].to_numpy(), looked["frame"].to_numpy()
        disputed = np.zeros(max(len(agreed), int(heard.max(initial=-1)) + 1), np.bool_)
        disputed[frames] = ~agreed[frames]
        first = self._disputed_frames
        portions = np.where(disputed, (first + np.cumsum(disputed) - 1) // _FRAMES_AT_ONCE, _NOWHERE)
        self._disputed_frames += int(disputed.sum())
        for number in range(first // _FRAMES_AT_ONCE, (self._disputed_frames - 1) // _FRAMES_AT_ONCE + 1):
            some = [
                table.filter(pl.Series(portions[numbers] == number))
                for table, numbers in ((boxes, frames), (looked, heard))
            ]
            yield number, some[0], some[1]

    def _decide(self, boxes: pl.DataFrame, looked: pl.DataFrame, rule: Rule) -> pl.DataFrame | None:
        """Settle disputed frames under one rule, and return the conflicts with what they are sorted by."""
        if boxes.is_empty():
            return None
        dispute = make_dispute(boxes, looked, rule)
        verdicts = reach_consensus(dispute) if rule.kind == "consensus" else settle(dispute)
        for number, fate in enumerate(FATES):
            if fate in _GONE:
                self._drop(dispute.boxes["row"].filter(pl.Series(verdicts.fates == number, dtype=pl.Boolean)), fate)
        in_review = pl.Series(verdicts.fates == FATES.index("in_review"), dtype=pl.Boolean)
        self._disputed.append(dispute.boxes.filter(in_review).select(DISPUTED.keys()))
        return box_conflicts(dispute, verdicts)


_NOWHERE = -1
_WHOSE = frozenset(["row", "turn", "by", "box_id", "frame", "kind"])  # what else a box has, but not what it says
DISPUTED = {"frame_id": pl.String, "class_name": pl.String}
_TOLD = ["portion", "ruled", *ORDER]


def unite_boxes(claims: Claims, rules: BoxRules) -> UnitedBoxes:
    """Return one set of boxes for each frame and class; the inputs stay as they are.

    Boxes with a score are predictions: nobody is overruled by them, they are only dropped where one is there twice.
    """
    settler = Settler(rules)
    boxes = claims.boxes
    shared = shared_frames(boxes, claims.looked)
    if not shared.speakers.is_empty():
        mine = pl.Series(shared.box_mask)
        left = settler.settle(boxes.filter(mine), looked_by(claims.looked, shared.speakers))
        boxes = pl.concat([boxes.filter(~mine), left])
    return UnitedBoxes(boxes, settler.conflicts(), settler.disputed(), settler.counts)


def looked_by(looked: pl.DataFrame, speakers: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id, class_name, turn and by of what `speakers` (frame_id, turn) looked for."""
    mine = looked.join(speakers, on=["frame_id", "turn"], how="semi").rename({"annotated_classes": "class_name"})
    return mine.select("frame_id", "class_name", "turn", "by").explode("class_name", empty_as_null=False)


def _twice(predictions: pl.DataFrame) -> pl.Series:
    """Return the rows of predictions that are there before, as another contributor's."""
    said = [name for name in predictions.columns if name not in _WHOSE]
    ordered = predictions.sort("frame_id", "turn", "box_id")
    again = ordered.join(ordered.unique(said, keep="first", maintain_order=True).select("row"), on="row", how="anti")
    return again["row"]


def _by_rule(rules: BoxRules) -> Sequence[tuple[Rule, pl.Expr]]:
    """Return each rule with what selects the rows of its classes."""
    own = sorted(rules.per_class)
    rest = (rules.rule, ~pl.col("class_name").is_in(own))
    return [rest, *((rules.of(name), pl.col("class_name") == name) for name in own)]


def _repeated(boxes: pl.DataFrame, rule: Rule) -> pl.Series:
    """Return the rows of all but the one heard first, in frames of which everybody says the same."""
    frames, turns = boxes["frame"].to_numpy(), boxes["turn"].to_numpy()
    width = int(turns.max(initial=0)) + 1
    heard = np.array([rule.order.get(turn, turn) for turn in range(width)], np.int64) * width + np.arange(width)
    first = np.full(int(frames.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, frames, heard[turns])
    return boxes["row"].filter(pl.Series(heard[turns] != first[frames], dtype=pl.Boolean))


def _with_own_ids(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with a new id where two boxes of one frame have the same: the later contributor's gives way."""
    boxes = boxes.sort("frame", "box_id", "turn", "row")
    again = (pl.col("frame") == pl.col("frame").shift()) & (pl.col("box_id") == pl.col("box_id").shift())
    clash = boxes.filter(again)
    if clash.is_empty():
        return boxes
    renamed = pl.DataFrame({"row": clash["row"], "own": [_own_id(row) for row in clash.iter_rows(named=True)]})
    found = boxes.join(renamed, on="row", how="left", maintain_order="left")
    return found.with_columns(box_id=pl.coalesce("own", "box_id")).drop("own")


def _own_id(box: Mapping[str, object]) -> str:
    corners = "|".join(f"{box[name]:.3f}" for name in CORNERS)
    return digest_bytes(f"{box['frame_id']}|{box['by']}|{box['box_id']}|{box['class_name']}|{corners}".encode())[:16]
