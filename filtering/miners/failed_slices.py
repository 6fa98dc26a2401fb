"""Frames of the slices in which the newest model failed: the predicates come from validation, the frames never do."""

from dataclasses import dataclass, replace

import numpy as np

from driveflow.flow.sections import CornerCaseSection
from filtering.miners.material import Material, Scores
from filtering.miners.rule import Rule


@dataclass(frozen=True, slots=True)
class FailedSlices:
    """Finds the frames of any slice that failed, the surest box first."""

    case: CornerCaseSection
    formula: str = "best score that a box of the slice's classes has in the frame, over the slices that failed"
    unit: str = "score, 0 to 1"
    reference: str = "slices that failed the last validation, as predicates"

    def score(self, material: Material) -> Scores:
        """Return the best score over the slices; NaN in frames of none of them."""
        scores = np.full(material.count, np.nan)
        for part in material.failed_slices:
            case = replace(self.case, where=part.where, expression=part.expression)
            scores = np.fmax(scores, Rule(case).score(material))
        return scores
