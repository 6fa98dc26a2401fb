"""Labeled frames in which the champion and the labels say different things."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.flow.miner_section import MinerSection
from driveflow.truth import truth_of
from filtering.miners.matching import NO_BOXES, Boxes, boxes_by_frame, covered, pairs
from filtering.miners.material import Mask, Material, Scores

KINDS: Final = ("missed", "false", "confused")
_IGNORED_SHARE: Final = 0.5  # a detection of which so much lies in an ignore region is nobody's mistake


@dataclass(frozen=True, slots=True)
class Errors:
    """Finds the labeled frames of train and val with the most mistakes of the champion, or of its labels."""

    settings: MinerSection
    unit: str = "boxes"
    reference: str = "the frame's own labels"

    @property
    def formula(self) -> str:
        """How a score is computed."""
        return " + ".join(self.settings.mistakes or KINDS) + " boxes, by one-to-one matching"

    def score(self, material: Material) -> Scores:
        """Return the number of mistakes; NaN without any, and where nobody or no champion looked."""
        asked = material.in_splits("train", "val") & material.labeled()
        asked &= np.ones(material.count, np.bool_) if material.looked is None else material.looked
        if not material.predictions:
            asked[:] = False
        truth = boxes_by_frame(truth_of(material.tables.boxes))
        table = material.champion()
        seen = boxes_by_frame(table.filter(pc.greater_equal(table["score"], self.settings.min_score)))
        frames = material.tables.frames
        ids, classes = frames["frame_id"].to_pylist(), frames["annotated_classes"].to_pylist()
        scores = np.full(material.count, np.nan)
        for row in np.flatnonzero(asked).tolist():
            looked_for = np.isin(seen.get(ids[row], NO_BOXES).names, classes[row])
            found = seen.get(ids[row], NO_BOXES).only(looked_for)
            counts = mistakes(found, truth.get(ids[row], NO_BOXES), self.settings.min_iou)
            total = sum(counts[kind] for kind in self.settings.mistakes or KINDS)
            scores[row] = total or np.nan
        return scores


def mistakes(seen: Boxes, labels: Boxes, min_iou: float) -> dict[str, int]:
    """Return how many labels were missed, detections false, and objects taken for another class."""
    truth, regions = labels.only(~labels.ignore), labels.only(labels.ignore)
    right = list(pairs(seen, truth, min_iou))
    left_seen, left_truth = _left(len(seen), right, 0), _left(len(truth), right, 1)
    other = list(pairs(seen.only(left_seen), truth.only(left_truth), min_iou, same_class=False))
    false = seen.only(left_seen).only(_left(int(left_seen.sum()), other, 0))
    judged = covered(false.corners, regions.corners) < _IGNORED_SHARE
    return {"missed": int(left_truth.sum()) - len(other), "false": int(judged.sum()), "confused": len(other)}


def _left(count: int, taken: list[tuple[int, int]], side: int) -> Mask:
    left = np.ones(count, np.bool_)
    left[[pair[side] for pair in taken]] = False
    return left
