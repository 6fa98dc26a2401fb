"""COCO's twelve numbers, computed by hotcoco over exactly what the scene counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Floats, Ints, Scene

Numbers: TypeAlias = Mapping[str, float | None]
"""A COCO metric name -> its value from 0 to 1; None where there is no object to find."""

METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
_ALL, _SMALL, _MEDIUM, _LARGE = range(4)
_IOU50, _IOU75 = 0, 5


@dataclass(frozen=True, slots=True)
class CocoNumbers:
    """The twelve numbers over all classes, and of each class in order."""

    overall: Numbers
    per_class: tuple[Numbers, ...]


class CocoEvaluator:
    """hotcoco with one scene loaded; owns the only copy of it in hotcoco's own form."""

    def __init__(self, scene: Scene) -> None:
        import hotcoco

        truth = hotcoco.COCO()
        truth.dataset = _dataset(scene)
        evaluator = hotcoco.COCOeval(truth, truth.load_res(_results(scene)), "bbox")
        evaluator.params.max_dets = [1, 10, COCO_DETECTION_LIMIT, max(scene.limit, COCO_DETECTION_LIMIT)]
        self._evaluator: Any = evaluator
        self._classes = len(scene.classes)

    def numbers(self, frames: Ints) -> CocoNumbers:
        """Return the numbers over the frames with these row numbers."""
        if not len(frames):
            return _summary(np.full((10, 101, self._classes, 4, 4), -1.0), np.full((10, self._classes, 4, 4), -1.0))
        self._evaluator.params.img_ids = (frames + 1).tolist()
        self._evaluator.evaluate()
        self._evaluator.accumulate()
        return _summary(self._evaluator.eval["precision"], self._evaluator.eval["recall"])


def _summary(precision: Floats, recall: Floats) -> CocoNumbers:
    """Precision is thresholds x recalls x classes x areas x limits, recall the same without recalls; -1: no object."""
    per_class = tuple(_twelve(precision[:, :, k : k + 1], recall[:, k : k + 1]) for k in range(precision.shape[2]))
    return CocoNumbers(_twelve(precision, recall), per_class)


def _twelve(precision: Floats, recall: Floats) -> Numbers:
    return {
        "AP": _mean(precision[..., _ALL, 3]),
        "AP50": _mean(precision[_IOU50, ..., _ALL, 3]),
        "AP75": _mean(precision[_IOU75, ..., _ALL, 3]),
        "APs": _mean(precision[..., _SMALL, 3]),
        "APm": _mean(precision[..., _MEDIUM, 3]),
        "APl": _mean(precision[..., _LARGE, 3]),
        "AR1": _mean(recall[..., _ALL, 0]),
        "AR10": _mean(recall[..., _ALL, 1]),
        "AR100": _mean(recall[..., _ALL, 2]),
        "ARs": _mean(recall[..., _SMALL, 3]),
        "ARm": _mean(recall[..., _MEDIUM, 3]),
        "ARl": _mean(recall[..., _LARGE, 3]),
    }


def _mean(values: Floats) -> float | None:
    found = values[values > -1]
    return float(found.mean()) if found.size else None


def _dataset(scene: Scene) -> dict[str, list[dict[str, object]]]:
    """Ids start at 1: evaluators of COCO's line take an object with id 0 for no object."""
    truth = scene.truth
    boxes, crowd = _xywh(truth.corners).tolist(), _truthy(truth.ignore)
    rows = zip(truth.frame.tolist(), truth.label.tolist(), boxes, truth.area_px.tolist(), crowd, strict=True)
    return {
        "images": [{"id": number + 1, "width": 1, "height": 1} for number in range(len(scene.frame_ids))],
        "categories": [{"id": number + 1, "name": str(number)} for number in range(len(scene.classes))],
        "annotations": [
            {
                "id": number,
                "image_id": frame + 1,
                "category_id": label + 1,
                "bbox": box,
                "area": area,
                "iscrowd": region,
            }
            for number, (frame, label, box, area, region) in enumerate(rows, start=1)
        ],
    }


def _results(scene: Scene) -> Floats:
    found = scene.detected
    return np.column_stack([found.frame + 1, _xywh(found.corners), found.score, found.label + 1]).astype(np.float64)


def _xywh(corners: Floats) -> Floats:
    return np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])


def _truthy(flags: Bools) -> list[int]:
    return [int(flag) for flag in flags.tolist()]
