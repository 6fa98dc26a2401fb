"""Choose which kept frames go to annotators: corner cases, a random control sample, and the rest of the budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import CornerCaseSection, LabelingSection
from driveflow.predicates import matches
from driveflow.snapshots import SnapshotTables
from filtering.places import first_places
from filtering.rarity import evidence, shuffled

SELECTION: Final = pa.schema(
    [
        ("frame_id", pa.string()),
        ("rank", pa.int64()),  # 0 is to be labeled first
        ("reason", pa.string()),  # corner_case, control, budget
        ("rule", pa.string()),  # the corner case's name, else empty
    ]
)


@dataclass(frozen=True, slots=True)
class CornerCaseRequest:
    """The kept frames, what finds corner cases among them, and the budget.

    For `purpose` train the frames of train and val are asked, for hold-out only its own, and then nothing is mined:
    a hold-out of chosen frames would judge no model fairly.
    """

    tables: SnapshotTables
    signals: pa.Table
    labeling: LabelingSection
    corner_cases: Sequence[CornerCaseSection] = ()
    predictions: pa.Table | None = None
    purpose: Literal["train", "holdout"] = "train"


@dataclass(frozen=True, slots=True)
class Selection:
    """Frames to label (columns of `SELECTION`, by rank), and how many for which reason."""

    table: pa.Table
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Pick:
    frame_id: str
    reason: str
    rule: str = ""


def find_corner_cases(request: CornerCaseRequest) -> Selection:
    """Choose up to `budget_frames` of the frames that lack labels of some class.

    First a control sample of `control_share` is drawn at random from all of them, so that it stays unbiased; then each
    corner case in turn takes one frame until its quota or the budget is full; what is left goes drive by drive. The
    choice is the same for any order of the frames.
    """
    candidates = _candidates(request)
    budget = min(request.labeling.budget_frames, len(candidates))
    control = _control(candidates, budget, request.labeling)
    taken = {pick.frame_id for pick in control}
    cases = _corner_cases(request, [item for item in candidates if item not in taken], budget - len(control))
    taken |= {pick.frame_id for pick in cases}
    rest = _spread(request, [item for item in candidates if item not in taken], budget - len(control) - len(cases))
    return _selection([*cases, *control, *rest], len(candidates))


def _candidates(request: CornerCaseRequest) -> list[str]:
    """Return the frames of the purpose's splits in which not all classes were looked for."""
    frames = request.tables.frames
    splits = ["train", "val"] if request.purpose == "train" else ["holdout"]
    asked = pc.is_in(frames["split"], value_set=pa.array(splits))
    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), len(request.tables.classes))
    return frames["frame_id"].filter(pc.and_(asked, lacking)).to_pylist()  # type: ignore[no-any-return]


def _control(candidates: Sequence[str], budget: int, labeling: LabelingSection) -> list[_Pick]:
    count = round(budget * labeling.control_share)
    return [_Pick(item, "control") for item in shuffled(candidates, f"control {labeling.seed}")[:count]]


def _corner_cases(request: CornerCaseRequest, candidates: Sequence[str], budget: int) -> list[_Pick]:
    if request.purpose != "train":
        return []
    free = set(candidates)
    queues = [_queue(request, case, free) for case in request.corner_cases]
    picks: dict[str, _Pick] = {}
    for pick in chain.from_iterable(zip_longest(*queues)):
        if pick is not None and len(picks) < budget:
            picks.setdefault(pick.frame_id, pick)
    return list(picks.values())


def _queue(request: CornerCaseRequest, case: CornerCaseSection, free: set[str]) -> list[_Pick]:
    """Return the frames of one corner case up to its quota, those with the surest box first."""
    boxes = evidence(request.tables, case.where.classes, request.predictions, request.labeling.prelabel_min_score)
    frames = request.tables.frames
    found = frames["frame_id"].filter(pa.array(matches(frames, boxes, case.where))).to_pylist()
    sure = _best_scores(boxes, case.where.classes)
    ordered = shuffled([item for item in found if item in free], f"{case.name} {request.labeling.seed}")
    ordered.sort(key=lambda item: -sure.get(item, 0.0))  # a stable sort: equal scores stay shuffled
    return [_Pick(item, "corner_case", case.name) for item in ordered[: case.quota_frames]]


def _best_scores(boxes: pa.Table, classes: Sequence[str]) -> dict[str, float]:
    """Return the best score a frame has for any of `classes`, to two decimals; a label counts as 1."""
    wanted = boxes.filter(pc.is_in(boxes["class_name"], value_set=pa.array(classes, pa.string())))
    scores = pc.round(pc.fill_null(wanted["score"], 1.0), ndigits=2)
    best = (
        pa.table({"frame_id": wanted["frame_id"], "score": scores}).group_by("frame_id").aggregate([("score", "max")])
    )
    return dict(zip(best["frame_id"].to_pylist(), best["score_max"].to_pylist(), strict=True))


def _spread(request: CornerCaseRequest, candidates: Sequence[str], budget: int) -> list[_Pick]:
    """Return frames for the rest of the budget: one of each drive in turn, at random within a drive."""
    frames = request.tables.frames
    places = dict(zip(frames["frame_id"].to_pylist(), first_places(frames, request.tables.sources), strict=True))
    drives: defaultdict[str, list[str]] = defaultdict(list)
    for item in shuffled(candidates, f"budget {request.labeling.seed}"):
        drives[places[item][0]].append(item)
    turns = chain.from_iterable(zip_longest(*(drives[name] for name in shuffled(drives, "drives"))))
    return [_Pick(item, "budget") for item in turns if item is not None][: max(budget, 0)]


def _selection(picks: Sequence[_Pick], candidates: int) -> Selection:
    table = pa.table(
        {
            "frame_id": [pick.frame_id for pick in picks],
            "rank": list(range(len(picks))),
            "reason": [pick.reason for pick in picks],
            "rule": [pick.rule for pick in picks],
        },
        schema=SELECTION,
    )
    reasons = {reason: sum(pick.reason == reason for pick in picks) for reason in ("corner_case", "control", "budget")}
    return Selection(table, {"candidates": candidates, "selected": len(picks), **reasons})
