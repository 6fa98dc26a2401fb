"""Labels of the hold-out that may be wrong: what both models say and the truth does not."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from validation.model.drawn_boxes import Corners, corners_of
from validation.model.errors import BKG
from validation.model.evaluation import Evaluation
from validation.model.match import NONE, pairs_of_models
from validation.model.scene import Floats, Ints

LEAST_SCORE = 0.5  # of the less sure of both models
LEAST_AGREEMENT = 0.6  # overlap of what both say

Kind: TypeAlias = Literal["missing", "class"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A place where two models agree against the truth.

    missing: both find `said` where nothing is labeled. class: both say `said` of an object labeled `labeled`. `score`
    is that of the less sure model.
    """

    kind: Kind
    frame_id: str
    drive_group: str
    said: str
    labeled: str
    score: float
    corners: Corners


@dataclass(frozen=True, slots=True)
class _Agreed:
    """Places in the two models' lists of false detections where both say the same."""

    mine: Ints
    theirs: Ints
    score: Floats


def suspects(challenger: Evaluation, champion: Evaluation) -> tuple[Suspect, ...]:
    """Return suspects, the surest first. Two models that learned the same mistake agree too: a person must look."""
    agreed = _agreed(challenger, champion)
    scene, mistakes = challenger.scene, challenger.mistakes
    rows = mistakes.false[agreed.mine]
    taken, other = mistakes.taken_for[agreed.mine], champion.mistakes.taken_for[agreed.theirs]
    lonely = challenger.errors.kind[rows] == BKG if challenger.errors is not None else np.zeros(len(rows), bool)
    found = []
    for place, row in enumerate(rows.tolist()):
        same_object = taken[place] != NONE and taken[place] == other[place]
        if not same_object and not lonely[place]:
            continue
        frame = int(scene.detected.frame[row])
        found.append(
            Suspect(
                kind="class" if same_object else "missing",
                frame_id=scene.frame_ids[frame],
                drive_group=scene.groups[scene.frame_group[frame]],
                said=scene.classes[scene.detected.label[row]],
                labeled=scene.classes[scene.truth.label[taken[place]]] if same_object else "",
                score=float(agreed.score[place]),
                corners=corners_of(scene.detected.corners[row]),
            )
        )
    return tuple(sorted(found, key=lambda item: (-item.score, item.frame_id, item.corners)))


def _agreed(challenger: Evaluation, champion: Evaluation) -> _Agreed:
    left, right = (model.scene.detected.rows(model.mistakes.false) for model in (challenger, champion))
    pairs = pairs_of_models(left, right, len(challenger.scene.frame_ids), LEAST_AGREEMENT)
    score = np.minimum(left.score[pairs.detection], right.score[pairs.truth])
    order = np.lexsort((-score, pairs.detection))
    first = order[np.flatnonzero(np.diff(pairs.detection[order], prepend=-1))]  # the surest partner of each
    kept = first[score[first] >= LEAST_SCORE]
    return _Agreed(pairs.detection[kept], pairs.truth[kept], score[kept])
