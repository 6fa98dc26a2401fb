"""Choose which kept frames go to annotators: corner cases, a random control sample, and the rest of the budget."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.by_hand import Said
from driveflow.flow.sections import CornerCaseSection, LabelingSection, SliceSection
from driveflow.next_curation import Query
from driveflow.snapshots import SnapshotTables
from filtering.budget import affordable_frames
from filtering.diversity import Spreader, space_of
from filtering.finds import Find, find
from filtering.groups import groups_of
from filtering.miners.material import FrameVectors, Mask, Material, ObjectVectors
from filtering.outlook import Outlook, outlook
from filtering.places import first_places
from filtering.rarity import shuffled

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
    a hold-out of chosen frames would judge no model fairly. `predictions` are what the champion saw; `seen` is for
    miners what each model saw whatever the score, the champion first, in the frames of which `looked` says so.
    `answered` are the classes of frames that annotators have looked for already, whose labels are not in `tables` yet.
    """

    tables: SnapshotTables
    signals: pa.Table
    labeling: LabelingSection
    corner_cases: Sequence[CornerCaseSection] = ()
    predictions: pa.Table | None = None
    purpose: Literal["train", "holdout"] = "train"
    seen: tuple[pa.Table, ...] = ()
    looked: Mask | None = None
    vectors: FrameVectors | None = None
    objects: ObjectVectors | None = None
    slices: Sequence[SliceSection] = ()  # that the budget may be balanced over
    failed_slices: Sequence[Query] = ()
    reviews: Sequence[Said] = ()
    answered: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def material(self) -> Material:
        """Return what miners look at."""
        seen = self.seen or (() if self.predictions is None else (self.predictions,))
        return Material(
            tables=self.tables,
            signals=self.signals,
            predictions=seen,
            looked=self.looked,
            min_score=self.labeling.prelabel_min_score,
            vectors=self.vectors,
            objects=self.objects,
            failed_slices=self.failed_slices,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """Frames to label (columns of `SELECTION`, by rank), how many for which reason, what was found, what it adds."""

    table: pa.Table
    counts: dict[str, int]
    finds: tuple[Find, ...] = ()
    outlook: Outlook | None = None


@dataclass(frozen=True, slots=True)
class _Pick:
    frame_id: str
    reason: str
    rule: str = ""


def find_corner_cases(request: CornerCaseRequest) -> Selection:
    """Choose up to `budget_frames` of the frames that lack labels of some class.

    First a control sample of `control_share` is drawn at random from all of them, so that it stays unbiased; then each
    corner case in turn takes one frame until its quota or the budget is full; what is left goes drive by drive, or as
    `balance` and `diversity` say. The choice is the same for any order of the frames.
    """
    material = request.material()
    candidates = _candidates(request)
    budget = min(affordable_frames(request.labeling), len(candidates))
    control = _control(candidates, budget, request.labeling)
    taken = {pick.frame_id for pick in control}
    finds = _finds(request, material)
    cases = _corner_cases(request, finds, set(candidates) - taken, budget - len(control))
    taken |= {pick.frame_id for pick in cases}
    left = budget - len(control) - len(cases)
    rest = _rest(request, material, [item for item in candidates if item not in taken], [*control, *cases], left)
    picks = [*cases, *control, *rest]
    return _selection(picks, len(candidates), finds, _outlook(request, material, candidates, picks))


def _candidates(request: CornerCaseRequest) -> list[str]:
    """Return the frames of the purpose's splits in which not all classes were looked for, here or by annotators."""
    frames = request.tables.frames
    splits = ["train", "val"] if request.purpose == "train" else ["holdout"]
    asked = pc.is_in(frames["split"], value_set=pa.array(splits))
    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), len(request.tables.classes))
    found = frames.filter(pc.and_(asked, lacking)).select(["frame_id", "annotated_classes"])
    wanted = set(request.tables.classes)
    return [
        frame_id
        for frame_id, looked in zip(*(column.to_pylist() for column in found.columns), strict=True)
        if not wanted.issubset([*looked, *request.answered.get(frame_id, ())])
    ]


def _control(candidates: Sequence[str], budget: int, labeling: LabelingSection) -> list[_Pick]:
    count = round(budget * labeling.control_share)
    return [_Pick(item, "control") for item in shuffled(candidates, f"control {labeling.seed}")[:count]]


def _finds(request: CornerCaseRequest, material: Material) -> tuple[Find, ...]:
    if request.purpose != "train":
        return ()
    return tuple(find(material, case, request.labeling.seed, request.reviews) for case in request.corner_cases)


def _corner_cases(request: CornerCaseRequest, finds: Sequence[Find], free: set[str], budget: int) -> list[_Pick]:
    queues = []
    for case, found in zip(request.corner_cases, finds, strict=bool(finds)):
        wanted = [item for item in found.frame_ids if item in free]
        queues.append([_Pick(item, "corner_case", case.name) for item in wanted[: case.quota_frames]])
    picks: dict[str, _Pick] = {}
    for pick in chain.from_iterable(zip_longest(*queues)):
        if pick is not None and len(picks) < budget:
            picks.setdefault(pick.frame_id, pick)
    return list(picks.values())


def _rest(
    request: CornerCaseRequest, material: Material, free: Sequence[str], picks: Sequence[_Pick], budget: int
) -> list[_Pick]:
    """Return frames for the rest of the budget."""
    labeling = request.labeling
    if labeling.diversity == "none" and labeling.balance == "drives":
        return _spread(request, free, budget)
    spreader = Spreader(
        frame_ids=request.tables.frames["frame_id"].to_pylist(),
        groups=groups_of(material, labeling.balance, request.slices),
        space=space_of(material) if labeling.diversity == "k_center" else None,
        seed=labeling.seed,
    )
    may = np.zeros(material.count, np.bool_)
    may[material.rows_of(free)] = True
    chosen = material.rows_of([pick.frame_id for pick in picks])
    before = np.union1d(np.flatnonzero(_labeled(request, material)), chosen)
    rows = spreader.take(may, before, max(budget, 0))
    return [_Pick(spreader.frame_ids[row], "budget") for row in rows]


def _labeled(request: CornerCaseRequest, material: Material) -> Mask:
    """Return which frames of the purpose somebody looked at, here or as an annotator."""
    asked = material.in_splits("train", "val") if request.purpose == "train" else material.in_splits("holdout")
    known = material.labeled()
    rows = material.rows_of(list(request.answered))
    known[rows[rows >= 0]] = True
    return known & asked


def _spread(request: CornerCaseRequest, candidates: Sequence[str], budget: int) -> list[_Pick]:
    """Return frames for the rest of the budget: one of each drive in turn, at random within a drive."""
    frames = request.tables.frames
    places = dict(zip(frames["frame_id"].to_pylist(), first_places(frames, request.tables.sources), strict=True))
    drives: defaultdict[str, list[str]] = defaultdict(list)
    for item in shuffled(candidates, f"budget {request.labeling.seed}"):
        drives[places[item][0]].append(item)
    turns = chain.from_iterable(zip_longest(*(drives[name] for name in shuffled(drives, "drives"))))
    return [_Pick(item, "budget") for item in turns if item is not None][: max(budget, 0)]


def _outlook(
    request: CornerCaseRequest, material: Material, candidates: Sequence[str], picks: Sequence[_Pick]
) -> Outlook | None:
    """Return what the selection adds; None where nothing was measured by which frames could be compared."""
    space = space_of(material)
    if not space.known.any() or not candidates:
        return None
    return outlook(
        space,
        groups_of(material, "all", request.slices),
        _labeled(request, material),
        material.rows_of([pick.frame_id for pick in picks]),
        material.rows_of(shuffled(candidates, "outlook")),
    )


def _selection(picks: Sequence[_Pick], candidates: int, finds: Sequence[Find], ahead: Outlook | None) -> Selection:
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
    taken = tuple(replace(item, taken=sum(pick.rule == item.name for pick in picks)) for item in finds)
    return Selection(table, {"candidates": candidates, "selected": len(picks), **reasons}, taken, ahead)
