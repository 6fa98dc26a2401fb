"""An evaluation as JSON: what `driveflow evaluate -o json` prints."""

from collections.abc import Mapping
from dataclasses import asdict

from driveflow.canonical import Json
from driveflow.flow.sections import Metric
from driveflow.processes import peak_memory_bytes
from validation.intervals import intervals_json
from validation.model.compare import Comparison
from validation.model.evaluation import ClassResult, Evaluation
from validation.model.scene import Mode
from validation.model.twelve import METRICS, Numbers
from validation.parts_json import parts_json
from validation.scored_file import KEY, scored_text

_NOTHING_IN_COCO = -1.0


def evaluation_json(
    evaluation: Evaluation, seconds: float, intervals: Mapping[Metric, Comparison] | None = None
) -> dict[str, Json]:
    """Return the evaluation, which took `seconds` with the reading of its files; `intervals` where they were asked for.

    What has no object to find is null; in mode coco it is -1, as COCO's evaluators have it.
    """
    return {
        **({"intervals": intervals_json(intervals)} if intervals is not None else {}),
        "mode": evaluation.mode,
        **numbers_json(evaluation.numbers, evaluation.mode),
        "ap_by_iou": dict(evaluation.by_threshold),
        "per_class": {part.class_name: _class_json(part, evaluation.mode) for part in evaluation.per_class},
        "per_slice": {
            part.name: {
                **numbers_json(part.numbers, evaluation.mode),
                "n_frames": part.frames,
                "n_drives": part.drive_groups,
                "n_objects": part.objects,
            }
            for part in evaluation.per_slice
        },
        **parts_json(evaluation),
        "corrections": [_plain(asdict(item)) for item in evaluation.corrections],
        "checks": [_plain(asdict(item)) for item in evaluation.checks],
        "n_frames": evaluation.frames,
        "n_drives": evaluation.drive_groups,
        "n_objects": evaluation.objects,
        "n_detections": evaluation.detections,
        "detection_limit": evaluation.scene.limit,
        "min_score": evaluation.min_score,
        "under_min_score": evaluation.scene.under_min_score,
        "holdout_id": evaluation.holdout_id,
        KEY: scored_text(evaluation),
        "seconds": seconds,
        "peak_memory_bytes": peak_memory_bytes(),
    }


def numbers_json(numbers: Numbers, mode: Mode) -> dict[str, Json]:
    """Return the twelve numbers under their names."""
    nothing = _NOTHING_IN_COCO if mode == "coco" else None
    return {name: nothing if numbers[name] is None else numbers[name] for name in METRICS}


def _class_json(part: ClassResult, mode: Mode) -> dict[str, Json]:
    point = part.point
    return {
        **numbers_json(part.numbers, mode),
        "n_frames": part.frames,
        "n_objects": part.objects,
        "n_ignored": part.ignored,
        "n_detections": part.detections,
        "false_per_frame": part.false_per_frame,
        "operating_point": {
            "score": point.score,
            "precision": point.precision,
            "recall": point.recall,
            "f1": point.f1,
            "right": point.right,
            "false": point.false,
            "missed": point.missed,
        },
    }


def _plain(record: Mapping[str, object]) -> Json:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in record.items()}  # type: ignore[misc]
