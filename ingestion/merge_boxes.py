"""Unite the boxes that several contributors drew in one frame, and name every disagreement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.canonical import digest_bytes
from ingestion.agreement import agreed_frames, shared_frames
from ingestion.box_conflicts import box_conflicts
from ingestion.consensus import reach_consensus
from ingestion.disputes import CORNERS, FATES, Rule, make_dispute
from ingestion.settle import settle

_FRAMES_AT_ONCE = 10_000  # disputed ones that are settled together
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
class _Tally:
    """What was decided so far; `gone` are rows."""

    gone: list[pl.Series] = field(default_factory=list)
    conflicts: list[pa.Table] = field(default_factory=list)
    disputed: list[pl.DataFrame] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_GONE, 0))

    def drop(self, rows: pl.Series, why: str) -> None:
        """Take boxes out."""
        self.gone.append(rows)
        self.counts[why] += len(rows)


_DISPUTED = {"frame_id": pl.String, "class_name": pl.String}


def unite_boxes(claims: Claims, rules: BoxRules) -> UnitedBoxes:
    """Return one set of boxes for each frame and class; the inputs stay as they are.

    Boxes with a score are predictions: nobody is overruled by them, they are only dropped where one is there twice.
    """
    tally = _Tally()
    shared = shared_frames(claims.boxes, claims.looked)
    if shared.speakers.is_empty():
        return _united(claims.boxes, tally)
    boxes = claims.boxes.with_row_index("row")
    mine = pl.Series(shared.box_mask)
    crowd = boxes.filter(mine)
    truth = crowd.filter(pl.col("score").is_null())
    if truth.height < crowd.height:
        tally.drop(_twice(crowd.filter(pl.col("score").is_not_null())), "united")
    _unite_truth(truth, _looked(claims.looked, shared.speakers), rules, tally)
    gone = pl.concat(tally.gone).to_frame("row") if tally.gone else pl.DataFrame(schema={"row": crowd.schema["row"]})
    left = _with_own_ids(crowd.join(gone, on="row", how="anti"))
    return _united(pl.concat([boxes.filter(~mine), left]).drop("row"), tally)


def _united(boxes: pl.DataFrame, tally: _Tally) -> UnitedBoxes:
    conflicts = pa.concat_tables([columns.CONFLICTS.empty_table(), *tally.conflicts])
    disputed = pl.concat([pl.DataFrame(schema=_DISPUTED), *tally.disputed]).unique()
    return UnitedBoxes(boxes, conflicts, disputed, tally.counts)


def _looked(looked: pl.DataFrame, speakers: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id, class_name, turn and by of what was looked for in shared frames."""
    mine = looked.join(speakers, on=["frame_id", "turn"], how="semi").rename({"annotated_classes": "class_name"})
    return mine.select("frame_id", "class_name", "turn", "by").explode("class_name", empty_as_null=False)


def _twice(predictions: pl.DataFrame) -> pl.Series:
    """Return the rows of predictions that are there before, as another contributor's."""
    said = [name for name in predictions.columns if name not in {"row", "turn", "by", "box_id"}]
    ordered = predictions.sort("frame_id", "turn", "box_id")
    again = ordered.join(ordered.unique(said, keep="first", maintain_order=True).select("row"), on="row", how="anti")
    return again["row"]


def _unite_truth(boxes: pl.DataFrame, looked: pl.DataFrame, rules: BoxRules, tally: _Tally) -> None:
    agreed = agreed_frames(boxes, looked)
    ruled = _by_rule(boxes, looked, rules)
    same = boxes.join(agreed, on="frame_id", how="semi")
    for rule, mine in ruled:
        tally.drop(_repeated(same.filter(mine), rule), "united")
    for some_boxes, some_looked in _portions(boxes, looked, agreed):
        for rule, mine in ruled:
            _decide(some_boxes.filter(mine), some_looked.filter(mine), rule, tally)


def _portions(
    boxes: pl.DataFrame, looked: pl.DataFrame, agreed: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield boxes and what was looked for of so many disputed frames at a time, which bounds memory."""
    frames = boxes.select("frame_id").unique().join(agreed, on="frame_id", how="anti").sort("frame_id")
    portions = frames.with_columns(portion=pl.int_range(pl.len()) // _FRAMES_AT_ONCE)
    parts = [
        table.join(portions, on="frame_id", maintain_order="left").partition_by("portion", as_dict=True)
        for table in (boxes, looked)
    ]
    nothing = looked.clear()
    for key in sorted(parts[0]):
        yield parts[0].pop(key).drop("portion"), parts[1].pop(key, nothing).drop("portion", strict=False)


def _by_rule(boxes: pl.DataFrame, looked: pl.DataFrame, rules: BoxRules) -> Sequence[tuple[Rule, pl.Expr]]:
    """Return each rule with what selects the rows of its classes."""
    own = [name for name in rules.per_class if name in set(boxes["class_name"]) | set(looked["class_name"])]
    rest = (rules.rule, ~pl.col("class_name").is_in(own))
    return [rest, *((rules.of(name), pl.col("class_name") == name) for name in sorted(own))]


def _repeated(boxes: pl.DataFrame, rule: Rule) -> pl.Series:
    """Return the rows of all but the one heard first, in frames of which everybody says the same."""
    place = pl.col("turn").replace_strict(rule.order, default=pl.col("turn"), return_dtype=pl.Int64)
    speakers = boxes.select("frame_id", "turn").unique()
    first = speakers.sort("frame_id", place, "turn").unique("frame_id", keep="first", maintain_order=True)
    return boxes.join(first, on=["frame_id", "turn"], how="anti")["row"]


def _decide(boxes: pl.DataFrame, looked: pl.DataFrame, rule: Rule, tally: _Tally) -> None:
    """Settle the disputed frames under one rule."""
    if boxes.is_empty():
        return
    dispute = make_dispute(boxes, looked, rule)
    verdicts = reach_consensus(dispute) if rule.kind == "consensus" else settle(dispute)
    for number, fate in enumerate(FATES):
        if fate in _GONE:
            tally.drop(dispute.boxes["row"].filter(pl.Series(verdicts.fates == number, dtype=pl.Boolean)), fate)
    tally.conflicts.append(box_conflicts(dispute, verdicts))
    in_review = pl.Series(verdicts.fates == FATES.index("in_review"), dtype=pl.Boolean)
    tally.disputed.append(dispute.boxes.filter(in_review).select(_DISPUTED.keys()))


def _with_own_ids(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with a new id where two boxes of one frame have the same: the later contributor's gives way."""
    boxes = boxes.sort("frame_id", "box_id", "turn", "row")
    again = (pl.col("frame_id") == pl.col("frame_id").shift()) & (pl.col("box_id") == pl.col("box_id").shift())
    clash = boxes.filter(again)
    if clash.is_empty():
        return boxes
    renamed = pl.DataFrame({"row": clash["row"], "own": [_own_id(row) for row in clash.iter_rows(named=True)]})
    found = boxes.join(renamed, on="row", how="left", maintain_order="left")
    return found.with_columns(box_id=pl.coalesce("own", "box_id")).drop("own")


def _own_id(box: Mapping[str, object]) -> str:
    corners = "|".join(f"{box[name]:.3f}" for name in CORNERS)
    return digest_bytes(f"{box['frame_id']}|{box['by']}|{box['box_id']}|{box['class_name']}|{corners}".encode())[:16]
