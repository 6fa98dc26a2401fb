"""What an evaluation says beside COCO's numbers, for programs; null where a part was not measured."""

from dataclasses import asdict

import numpy as np

from driveflow.canonical import Json
from validation.model.errors import KINDS, Errors, Tally
from validation.model.evaluation import Evaluation, SliceResult


def parts_json(evaluation: Evaluation) -> dict[str, Json]:
    """Return kinds of mistakes, calibration, VOC, KITTI, false alarms and dimensions."""
    found = evaluation
    return {
        "errors": _errors(found.errors) if found.errors is not None else None,
        "delta_ap": _delta_ap(found),
        "calibration": plain(asdict(found.calibration)) if found.calibration is not None else None,
        "voc": [plain(asdict(part)) for part in found.voc],
        "kitti": [plain(asdict(part)) for part in found.kitti],
        "false_alarms": plain(asdict(found.false_alarms)) if found.false_alarms is not None else None,
        "dimensions": [dimension_json(part) for part in found.dimensions],
    }


def dimension_json(part: SliceResult) -> dict[str, Json]:
    """Return one value of a dimension, or one combination of several."""
    return {
        "name": part.name,
        "AP50": plain(part.numbers.get("AP50")),
        "n_frames": part.frames,
        "n_drives": part.drive_groups,
        "n_objects": part.objects,
        **slice_json(part),
    }


def slice_json(part: SliceResult) -> dict[str, Json]:
    """Return what a slice was cut along, and what is found, missed and false in it."""
    return {
        "by": [[dimension, value] for dimension, value in part.by],
        "counts": plain(asdict(part.counts)) if part.counts is not None else None,
    }


def plain(value: object) -> Json:
    """Return a value without tuples, arrays and numbers that are none."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, str | int | bool) else None


def _errors(found: Errors) -> dict[str, Json]:
    return {"overlap": found.overlap, "every": _tally(found.every), "shown": _tally(found.shown)}


def _tally(found: Tally) -> dict[str, Json]:
    counts: dict[str, Json] = {kind: found.of(kind) for kind in KINDS}
    return {**counts, "wrong": found.wrong, "missed": found.missed, "explained": found.explained}


def _delta_ap(evaluation: Evaluation) -> Json:
    found = evaluation.delta_ap
    if found is None:
        return None
    costs: dict[str, Json] = {kind: plain(found.of(kind)) for kind in KINDS}
    return {"AP50": plain(found.ap50), **costs, "false": plain(found.false), "missed": plain(found.missed)}
