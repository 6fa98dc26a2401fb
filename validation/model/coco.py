"""COCO's twelve numbers by hotcoco, an evaluator of other hands: what driveflow's own are checked against."""

from typing import Any

import numpy as np

from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Floats, Ints, Scene
from validation.model.twelve import METRICS, CocoNumbers, Numbers

__all__ = ["METRICS", "Numbers", "hotcoco_numbers"]
_ALL, _SMALL, _MEDIUM, _LARGE = range(4)
_IOU50, _IOU75 = 0, 5
_MOST_AREA = 1e10  # pixels; COCO's evaluator leaves out what is larger


def hotcoco_numbers(scene: Scene, frames: Ints) -> CocoNumbers:
    """Return the numbers of all classes together over the frames with these row numbers, for a scene of mode coco."""
    import hotcoco

    if not len(frames) or not len(scene.detected.frame):
        return CocoNumbers(_nothing_found(scene), ())
    truth = hotcoco.COCO()
    truth.dataset = _dataset(scene)
    evaluator: Any = hotcoco.COCOeval(truth, truth.load_res(_results(scene)), "bbox")
    evaluator.params.max_dets = [1, 10, COCO_DETECTION_LIMIT, max(scene.limit, COCO_DETECTION_LIMIT)]
    evaluator.params.img_ids = (frames + 1).tolist()
    evaluator.evaluate()
    evaluator.accumulate()
    return _summary(evaluator.eval["precision"], evaluator.eval["recall"])


def _nothing_found(scene: Scene) -> Numbers:
    """Return what is right where there is no detection at all: 0 for all that has an object of a size that counts."""
    area = scene.truth.area_px[~scene.truth.ignore]
    area = area[(area >= 0) & (area <= _MOST_AREA)]
    sizes = {"s": area <= 32**2, "m": (area >= 32**2) & (area <= 96**2), "l": area >= 96**2}
    return {name: 0.0 if sizes.get(name[-1], area >= 0).any() else None for name in METRICS}


def _summary(precision: Floats, recall: Floats) -> CocoNumbers:
    """Precision is thresholds x recalls x classes x areas x limits, recall the same without recalls; -1: no object."""
    return CocoNumbers(_twelve(precision, recall), ())


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
    boxes, crowd = _xywh(truth.corners, truth.size).tolist(), _truthy(truth.ignore)
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
    xywh = _xywh(found.corners, found.size)
    return np.column_stack([found.frame + 1, xywh, found.score, found.label + 1]).astype(np.float64)


def _xywh(corners: Floats, size: Floats | None) -> Floats:
    return np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2] if size is None else size])


def _truthy(flags: Bools) -> list[int]:
    return [int(flag) for flag in flags.tolist()]
