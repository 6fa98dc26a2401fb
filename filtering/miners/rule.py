"""Frames that a rule over labels, attributes and detections means."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import CornerCaseSection
from filtering.miners.material import Material, Scores
from filtering.rarity import case_boxes, case_mask


@dataclass(frozen=True, slots=True)
class Rule:
    """Finds the frames of a corner case's `where`, `expression` and `boxes_expression`, the surest box first."""

    case: CornerCaseSection
    formula: str = "best score that a box of the rule's classes has in the frame; a label counts as 1, no class as 0"
    unit: str = "score, 0 to 1"
    reference: str = "nothing"

    def score(self, material: Material) -> Scores:
        """Return the best score of any class of the rule, to two decimals; NaN where the rule does not hold."""
        sure = material.sure()
        boxes = case_boxes(material.tables, self.case, sure, material.min_score)
        scores = best_scores(material, boxes, self.case.where.classes)
        scores[~case_mask(material.tables, self.case, sure, material.min_score)] = np.nan
        return scores


def best_scores(material: Material, boxes: pa.Table, classes: Sequence[str]) -> Scores:
    """Return the best score each frame has for any of `classes`, to two decimals; a label counts as 1, nothing as 0."""
    wanted = boxes.filter(pc.is_in(boxes["class_name"], value_set=pa.array(classes, pa.string())))
    scores = np.zeros(material.count)
    found = np.asarray(pc.round(pc.fill_null(wanted["score"], 1.0), ndigits=2).to_numpy(), np.float64)
    np.maximum.at(scores, material.rows_of(wanted["frame_id"]), found)
    return scores
