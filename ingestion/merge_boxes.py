"""Unite the boxes that several contributors drew in one frame, and name every disagreement."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import polars as pl

from driveflow.canonical import Json, canonical_json, digest_bytes
from ingestion.agreement import agreed_frames, shared_frames

_SAME_PX = 1e-3  # corners this close are one number, written by two tools
_IOU_DIGITS = 9  # overlaps are compared to so many digits, so that two processors decide alike
_CORNERS = ("x1", "y1", "x2", "y2")
_COMPARED = ("ignore", "attributes", "annotator", "guideline")

Box: TypeAlias = dict[str, Any]
"""A row of BOXES with `turn` and `by` of its contributor, and `row`, its number."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What contributors say, in arrival order.

    `boxes` has the columns of BOXES, `annotated` has frame_id and class_name for every class looked for in a frame;
    both have `turn`, the contributor's place in the order of arrival, and `by`, its name.
    """

    boxes: pl.DataFrame
    annotated: pl.DataFrame


@dataclass(frozen=True, slots=True)
class BoxRules:
    """How boxes of one class and frame become one set.

    `union` keeps what anybody drew, the earlier contributor's where two drew the same; `prefer` keeps what the most
    trusted contributor that looked for the class drew, and nothing else.
    """

    rule: Literal["union", "prefer"]
    min_iou: float  # boxes at least this alike are the same box
    trust: Mapping[str, int] = field(default_factory=dict)  # contributor -> place, most trusted first


@dataclass(frozen=True, slots=True)
class UnitedBoxes:
    """The boxes left, rows of CONFLICTS, and how many boxes went: one with another, or overruled."""

    boxes: pl.DataFrame
    conflicts: list[dict[str, str]]
    united: int
    overruled: int


@dataclass(slots=True)
class _Claimant:
    """Who says something about one class in one frame."""

    turn: int
    by: str
    looked: bool = False
    boxes: list[Box] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Alone:
    """A box that somebody who looked for its class did not draw."""

    box: Box
    silent: _Claimant
    stays: bool


@dataclass(slots=True)
class _Tally:
    """What was decided so far."""

    rules: BoxRules
    gone: list[int] = field(default_factory=list)
    conflicts: list[dict[str, str]] = field(default_factory=list)
    united: int = 0
    overruled: int = 0


def unite_boxes(claims: Claims, rules: BoxRules) -> UnitedBoxes:
    """Return one set of boxes for each frame and class; the inputs stay as they are."""
    boxes = claims.boxes.with_row_index("row")
    shared = shared_frames(boxes, claims.annotated)
    agreed = agreed_frames(shared, boxes, claims.annotated)
    repeated = _repeated(boxes, shared.join(agreed, on="frame_id", how="semi"), rules)
    tally = _Tally(rules, gone=repeated, united=len(repeated))
    disputed = shared.join(agreed, on="frame_id", how="anti").select("frame_id").unique()
    for frame_id, classes in _claimants(boxes, claims.annotated, disputed):
        alone = [entry for name in sorted(classes) for entry in _settle(classes[name].values(), tally)]
        tally.conflicts += _alone_conflicts(frame_id, alone, rules)
    left = boxes.join(pl.DataFrame({"row": tally.gone}, schema={"row": boxes.schema["row"]}), on="row", how="anti")
    return UnitedBoxes(_with_own_ids(left), tally.conflicts, tally.united, tally.overruled)


def _repeated(boxes: pl.DataFrame, agreed: pl.DataFrame, rules: BoxRules) -> list[int]:
    """Return the rows of all but the one heard first, in frames of which everybody says the same."""
    trust = pl.col("by").replace_strict(rules.trust, default=len(rules.trust), return_dtype=pl.Int64)
    order = ["turn"] if rules.rule == "union" else [trust, "turn"]
    first = agreed.sort("frame_id", *order).unique("frame_id", keep="first", maintain_order=True)
    later = agreed.join(first, on=["frame_id", "turn"], how="anti")
    return boxes.join(later, on=["frame_id", "turn"], how="semi")["row"].to_list()


def _claimants(
    boxes: pl.DataFrame, annotated: pl.DataFrame, disputed: pl.DataFrame
) -> Iterator[tuple[str, dict[str, dict[int, _Claimant]]]]:
    """Yield the disputed frames, with who says what about each class."""
    frames: dict[str, dict[str, dict[int, _Claimant]]] = defaultdict(lambda: defaultdict(dict))
    for row in annotated.join(disputed, on="frame_id", how="semi").iter_rows(named=True):
        claimants = frames[row["frame_id"]][row["class_name"]]
        claimants.setdefault(row["turn"], _Claimant(row["turn"], row["by"])).looked = True
    drawn = boxes.join(disputed, on="frame_id", how="semi").sort("frame_id", "turn", "box_id")
    for row in drawn.iter_rows(named=True):
        claimants = frames[row["frame_id"]][row["class_name"]]
        claimants.setdefault(row["turn"], _Claimant(row["turn"], row["by"])).boxes.append(row)
    yield from sorted(frames.items(), key=lambda item: item[0])


def _settle(claimants: Iterable[_Claimant], tally: _Tally) -> Iterator[_Alone]:
    """Decide one class of one frame, hearing one claimant after the other; yield what not everybody drew."""
    heard = sorted(claimants, key=lambda claimant: _hearing(claimant, tally.rules))
    kept = list(heard[0].boxes)
    for number, claimant in enumerate(heard[1:], start=1):
        pairs = _match(kept, claimant.boxes, tally.rules.min_iou)
        tally.united += len(pairs)
        tally.gone += [fresh["row"] for _, fresh in pairs]
        tally.conflicts += [_conflict(old, fresh, tally.rules) for old, fresh in pairs if _differ(old, fresh)]
        known, drawn = {old["row"] for old, _ in pairs}, {fresh["row"] for _, fresh in pairs}
        lonely = [box for box in claimant.boxes if box["row"] not in drawn]
        if claimant.looked:
            yield from (_Alone(box, claimant, stays=True) for box in kept if box["row"] not in known)
        looked = next((other for other in heard[:number] if other.looked), None)
        stays = tally.rules.rule == "union"
        if looked is not None:
            yield from (_Alone(box, looked, stays=stays) for box in lonely)
        if stays:
            kept += lonely
        else:
            tally.overruled += len(lonely)
            tally.gone += [box["row"] for box in lonely]


def _hearing(claimant: _Claimant, rules: BoxRules) -> tuple[bool, int, int]:
    if rules.rule == "union":
        return False, 0, claimant.turn
    return not claimant.looked, rules.trust.get(claimant.by, len(rules.trust)), claimant.turn


def _match(left: Sequence[Box], right: Sequence[Box], min_iou: float) -> list[tuple[Box, Box]]:
    """Pair boxes one to one, the most alike first; ties go by position, so that the order of rows does not matter."""
    alike = [(-_iou(a, b), i, j) for i, a in enumerate(left) for j, b in enumerate(right)]
    pairs: list[tuple[Box, Box]] = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    least = round(min_iou, _IOU_DIGITS)
    for _, i, j in sorted(entry for entry in alike if entry[0] < 0 and -entry[0] >= least):
        if i not in used_left and j not in used_right:
            used_left.add(i)
            used_right.add(j)
            pairs.append((left[i], right[j]))
    return pairs


def _iou(a: Box, b: Box) -> float:
    width = min(a["x2"], b["x2"]) - max(a["x1"], b["x1"])
    height = min(a["y2"], b["y2"]) - max(a["y1"], b["y1"])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box["x2"] - box["x1"]) * (box["y2"] - box["y1"]) for box in (a, b)]
    both = width * height
    return float(round(both / (areas[0] + areas[1] - both), _IOU_DIGITS))


def _differ(a: Box, b: Box) -> bool:
    moved = any(abs(a[name] - b[name]) > _SAME_PX for name in _CORNERS)
    return moved or any(a[name] != b[name] for name in _COMPARED)


def _alone_conflicts(frame_id: str, alone: Sequence[_Alone], rules: BoxRules) -> Iterator[dict[str, str]]:
    """Yield one row for each box that not everybody drew; two names for one place are one row."""
    told: set[int] = set()
    for i, entry in enumerate(alone):
        if i in told:
            continue
        others = (j for j in range(i + 1, len(alone)) if j not in told and _is_other_name(entry, alone[j], rules))
        twin = next(others, None)
        if twin is None:
            yield _missing(frame_id, entry, rules)
        else:
            told.add(twin)
            yield _renamed(entry, alone[twin], rules)


def _is_other_name(a: _Alone, b: _Alone, rules: BoxRules) -> bool:
    crossed = a.box["turn"] == b.silent.turn and b.box["turn"] == a.silent.turn
    return crossed and a.box["class_name"] != b.box["class_name"] and _iou(a.box, b.box) >= rules.min_iou


def _conflict(kept: Box, gone: Box, rules: BoxRules) -> dict[str, str]:
    first = kept["turn"] <= gone["turn"]
    left, right = (kept, gone) if first else (gone, kept)
    return _row(kept["frame_id"], (_tell(left), _tell(right)), rules, "left" if first else "right")


def _renamed(a: _Alone, b: _Alone, rules: BoxRules) -> dict[str, str]:
    left, right = (a, b) if a.box["turn"] <= b.box["turn"] else (b, a)
    winner = "both" if left.stays and right.stays else "left" if left.stays else "right"
    return _row(a.box["frame_id"], (_tell(left.box), _tell(right.box)), rules, winner)


def _missing(frame_id: str, entry: _Alone, rules: BoxRules) -> dict[str, str]:
    nothing: Json = {"batch": entry.silent.by, "box": None}
    drawn = _tell(entry.box)
    if entry.box["turn"] <= entry.silent.turn:
        return _row(frame_id, (drawn, nothing), rules, "left" if entry.stays else "right")
    return _row(frame_id, (nothing, drawn), rules, "right" if entry.stays else "left")


def _row(frame_id: str, sides: tuple[Json, Json], rules: BoxRules, winner: str) -> dict[str, str]:
    left, right = (canonical_json(side) for side in sides)
    return {"frame_id": frame_id, "kind": "box", "left": left, "right": right, "rule": rules.rule, "winner": winner}


def _tell(box: Box) -> Json:
    told: dict[str, Json] = {"batch": box["by"], "box": box["box_id"], "class_name": box["class_name"]}
    told |= {name: round(box[name], 3) for name in _CORNERS}
    told |= {name: box[name] for name in _COMPARED if box[name] not in {None, False, "{}"}}
    return told


def _with_own_ids(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with a new id where two boxes of one frame have the same: the later contributor's gives way."""
    boxes = boxes.sort("frame_id", "box_id", "turn", "row")
    clash = boxes.filter(~pl.struct("frame_id", "box_id").is_first_distinct())
    renamed = {row["row"]: _own_id(row) for row in clash.iter_rows(named=True)}
    if not renamed:
        return boxes.drop("row")
    own = pl.col("row").replace_strict(renamed, default=None, return_dtype=pl.String)
    return boxes.with_columns(box_id=pl.coalesce(own, "box_id")).drop("row")


def _own_id(box: Box) -> str:
    corners = "|".join(f"{box[name]:.3f}" for name in _CORNERS)
    return digest_bytes(f"{box['frame_id']}|{box['by']}|{box['box_id']}|{box['class_name']}|{corners}".encode())[:16]
