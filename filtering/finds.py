"""What each corner case found, and how right it was where people looked."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Final

import numpy as np

from driveflow.by_hand import Said
from driveflow.canonical import Json
from driveflow.flow.sections import CornerCaseSection
from filtering.miners.catalog import miner_of
from filtering.miners.material import Material, Scores
from filtering.nothing_found import why_nothing
from filtering.rarity import case_mask, shuffled

_NORMAL_95: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Precision:
    """How many of the reviewed finds were right, and between what shares the truth lies (Wilson, 95 %).

    It speaks for all finds only where those that were reviewed were drawn at random from them.
    """

    reviewed: int
    right: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Find:
    """What one corner case found: the frames by score, how the score is computed, and how many were taken."""

    name: str
    miner: str
    formula: str
    unit: str
    reference: str
    frame_ids: tuple[str, ...]  # all that were found, the most wanted first
    scores: tuple[float, ...]
    precision: Precision | None = None
    taken: int = 0
    why: str = ""  # nothing was found; empty where something was

    def to_json(self) -> dict[str, Json]:
        """Return the find as JSON: how its score is computed, against what, and the score of every frame."""
        right = self.precision
        scores: list[Json] = [
            {"frame_id": name, "score": score} for name, score in zip(self.frame_ids, self.scores, strict=True)
        ]
        return {
            "name": self.name,
            "miner": self.miner,
            "formula": self.formula,
            "unit": self.unit,
            "reference": self.reference,
            "found": len(self.frame_ids),
            "taken": self.taken,
            "precision": None if right is None else dict(asdict(right)),
            "why": self.why,
            "scores": scores,
        }


def find(material: Material, case: CornerCaseSection, seed: int, reviews: Iterable[Said] = ()) -> Find:
    """Return all frames of one corner case; equal scores come in a random order that depends on no order of frames."""
    miner = miner_of(case)
    every = miner.score(material)
    scores = _within(material, case, every)
    ids = material.tables.frames["frame_id"].to_pylist()
    score_of = {ids[row]: float(scores[row]) for row in np.flatnonzero(~np.isnan(scores)).tolist()}
    ordered = shuffled(score_of, f"{case.name} {seed}")
    ordered.sort(key=lambda item: -score_of[item])  # a stable sort: equal scores stay shuffled
    return Find(
        name=case.name,
        miner=case.miner,
        formula=miner.formula,
        unit=miner.unit,
        reference=miner.reference,
        frame_ids=tuple(ordered),
        scores=tuple(score_of[item] for item in ordered),
        precision=precision(case.name, ordered, reviews),
        why="" if ordered else why_nothing(material, case, every),
    )


def precision(case: str, frame_ids: Sequence[str], reviews: Iterable[Said]) -> Precision | None:
    """Return the precision of `case` over those of its finds that people looked at; None where they saw none."""
    found = set(frame_ids)
    last: dict[str, bool] = {}  # of two words on a find the later one counts
    for said in sorted(reviews, key=lambda said: (said.at, said.yes)):
        if said.about == "review" and said.rule == case and said.frame_id in found:
            last[said.frame_id] = said.yes
    if not last:
        return None
    right = sum(last.values())
    return Precision(len(last), right, *wilson(right, len(last)))


def wilson(right: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, to four decimals.

    >>> wilson(8, 10)
    (0.4902, 0.9433)
    """
    square = _NORMAL_95**2
    middle = (right + square / 2) / (count + square)
    half = _NORMAL_95 * sqrt(right * (count - right) / count + square / 4) / (count + square)
    return round(max(middle - half, 0.0), 4), round(min(middle + half, 1.0), 4)


def _within(material: Material, case: CornerCaseSection, scores: Scores) -> Scores:
    """Return the scores of the frames of train and val that reach the least score and match what the case states."""
    stays = material.in_splits("train", "val") & ~np.isnan(scores)
    stays &= np.nan_to_num(scores) >= case.settings.at_least
    states = case.where.classes or case.where.attributes or case.expression or case.boxes_expression
    if case.miner != "rule" and states:
        stays &= case_mask(material.tables, case, material.sure(), material.min_score)
    return np.asarray(np.where(stays, scores, np.nan))
