"""Frames in which models are not sure of what they see."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.flow.miner_section import MinerSection
from filtering.miners.matching import NO_BOXES, Boxes, boxes_by_frame, overlaps, pairs
from filtering.miners.material import Material, Scores

_DECIMALS: Final = 6
_FORMULAS: Final = {
    "entropy": "sum over the frame's detections of -s log2 s - (1-s) log2 (1-s), s the score",
    "margin": "1 - the smallest margin of a detection: its score less the best of 1 - score and the scores of other"
    " classes on the same object",
    "disagreement": "1 - mean over pairs of models of 2 x detections that both have / detections of both",
}
_UNITS: Final = {"entropy": "bits", "margin": "0 to 1", "disagreement": "0 to 1"}


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Finds the frames of which models are least sure, or about which they disagree."""

    settings: MinerSection

    @property
    def formula(self) -> str:
        """How a score is computed."""
        return _FORMULAS[self.settings.measure]

    @property
    def unit(self) -> str:
        """What a score counts."""
        return _UNITS[self.settings.measure]

    @property
    def reference(self) -> str:
        """What a frame is compared with."""
        return "none: what the models see in the frame itself"

    def score(self, material: Material) -> Scores:
        """Return the score of each frame; NaN where nothing is uncertain, or nothing was seen."""
        seen = [
            boxes_by_frame(table.filter(pc.greater_equal(table["score"], self.settings.min_score)))
            for table in material.predictions
        ]
        scores = np.full(material.count, np.nan)
        names = sorted({name for model in seen for name in model})
        for name, row in zip(names, material.rows_of(names).tolist(), strict=True):
            found = round(self._of(tuple(model.get(name, NO_BOXES) for model in seen)), _DECIMALS)
            if row >= 0 and found > 0:
                scores[row] = found
        return scores

    def _of(self, models: Sequence[Boxes]) -> float:
        if self.settings.measure == "disagreement":
            return disagreement(models, self.settings.min_iou)
        if self.settings.measure == "margin":
            return 1.0 - smallest_margin(models[0], self.settings.min_iou)
        return entropy_bits(models[0])


def entropy_bits(boxes: Boxes) -> float:
    """Return how many bits it takes to say which detections are right, were each so with its score as the chance."""
    chances = np.clip(boxes.scores, 1e-12, 1 - 1e-12)
    return float(-(chances * np.log2(chances) + (1 - chances) * np.log2(1 - chances)).sum())


def smallest_margin(boxes: Boxes, min_iou: float) -> float:
    """Return the least lead that a detection's score has over its best rival; 1 without detections."""
    if not len(boxes):
        return 1.0
    rival = (overlaps(boxes.corners, boxes.corners) >= min_iou) & (boxes.names[:, None] != boxes.names[None, :])
    others = np.where(rival, boxes.scores[None, :], 0.0).max(axis=1)
    return float(np.abs(boxes.scores - np.maximum(others, 1.0 - boxes.scores)).min())


def disagreement(models: Sequence[Boxes], min_iou: float) -> float:
    """Return 1 less the mean share of detections that two models have in common; 0 with fewer than two models."""
    shares = []
    for left, right in combinations(models, 2):
        total = len(left) + len(right)
        shares.append(2 * len(list(pairs(left, right, min_iou))) / total if total else 1.0)
    return 1.0 - float(np.mean(shares)) if shares else 0.0
