"""Frames like those in which the newest model failed: the predicates come from validation, the frames never do."""

from dataclasses import dataclass, replace

import numpy as np

from driveflow.flow.sections import CornerCaseSection
from filtering.miners.material import Material, Scores
from filtering.miners.rule import Rule


@dataclass(frozen=True, slots=True)
class FailedSlices:
    """Finds the frames of any slice or class that failed, or cluster of errors, the surest box first.

    What a model misses it sees weakly if at all, so detections count from `min_score` of the miner's settings on.
    """

    case: CornerCaseSection
    formula: str = "best score that a box of the predicate's classes has in the frame, over the predicates"
    unit: str = "score, 0 to 1"
    reference: str = "what failed in the last validation, as predicates"

    def score(self, material: Material) -> Scores:
        """Return the best score over the predicates; NaN in frames of none of them."""
        scores = np.full(material.count, np.nan)
        looser = replace(material, min_score=min(material.min_score, self.case.settings.min_score))
        for part in material.failed_slices:
            rule = replace(
                self.case, where=part.where, expression=part.expression, boxes_expression=part.boxes_expression
            )
            scores = np.fmax(scores, Rule(rule).score(looser))
        return scores
