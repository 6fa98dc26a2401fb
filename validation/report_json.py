"""The validation report for programs; its form is published beside this file as report.schema.json."""

import math
from dataclasses import asdict
from importlib.resources import files

from driveflow.canonical import Json
from validation.findings_json import changes_json, suspects_json, worst_json
from validation.leak import LeakReport
from validation.model.compare import Comparison, Estimate
from validation.model.curves import OperatingPoint
from validation.model.evaluation import ClassResult, Evaluation, SliceResult
from validation.model.resample import Interval
from validation.pages.findings import Findings
from validation.parts_json import parts_json, slice_json
from validation.report import ReportRequest, find_for
from validation.scored_file import scored_text
from validation.verdict import RuleResult, Verdict

FORM_VERSION = 2


def report_json(request: ReportRequest, findings: Findings | None = None) -> dict[str, Json]:
    """Return everything the report says as plain values; the same input gives the same values."""
    champion, found = request.champion, findings if findings is not None else find_for(request)
    return {
        "form_version": FORM_VERSION,
        "model": request.model,
        "verdict": verdict_json(request.verdict),
        "headline": [_estimate(part) for part in found.headline],
        "comparison": _comparison(request.verdict.comparison),
        "challenger": evaluation_json(request.challenger),
        "champion": evaluation_json(champion) if champion is not None else None,
        "leak": _leak(request.leak),
        "champion_leak": _leak(request.champion_leak) if request.champion_leak is not None else None,
        "cost": asdict(request.cost) if request.cost is not None else None,
        "changes": changes_json(found.changes),
        "labels_in_doubt": suspects_json(found.suspects),
        "worst_frames": [worst_json(frame) for frame in found.worst],
        "provenance": dict(request.provenance),
    }


def report_schema() -> str:
    """Return the JSON Schema of `report_json`, as text."""
    return (files("validation") / "report.schema.json").read_text("utf-8")


def verdict_json(verdict: Verdict) -> dict[str, Json]:
    """Return the verdict with every rule, as the ledger and the registry keep it."""
    return {
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "nothing_new": verdict.nothing_new,
        "holdout_id": verdict.holdout_id,
        "challenger": verdict.challenger,
        "champion": verdict.champion,
        "measure": asdict(verdict.measure),
        "rules": [_rule(rule) for rule in verdict.rules],
    }


def evaluation_json(evaluation: Evaluation) -> dict[str, Json]:
    """Return what was measured of one model; COCO's twelve numbers stand under their own names."""
    return {
        **{name: _finite(value) for name, value in evaluation.numbers.items()},
        "mode": evaluation.mode,
        "min_score": evaluation.min_score,
        "by_threshold": {name: _finite(value) for name, value in evaluation.by_threshold.items()},
        "checks": [asdict(check) for check in evaluation.checks],
        "holdout_id": evaluation.holdout_id,
        "model_digest": evaluation.model_digest,
        "scored": scored_text(evaluation),
        "n_frames": evaluation.frames,
        "n_drives": evaluation.drive_groups,
        "n_objects": evaluation.objects,
        "n_detections": evaluation.detections,
        "per_class": [_class(part) for part in evaluation.per_class],
        "per_slice": [_slice(part) for part in evaluation.per_slice],
        "confusion": {
            "classes": list(evaluation.confusion.classes),
            "counts": evaluation.confusion.counts.tolist(),
        },
        **parts_json(evaluation),
        "corrections": [{**asdict(item), "examples": list(item.examples)} for item in evaluation.corrections],
    }


def classification_page(evaluation: Evaluation) -> dict[str, Json]:
    """Return labels and a square matrix of counts for KFP's ClassificationMetrics: rows are truth."""
    return {"labels": list(evaluation.confusion.classes), "matrix": evaluation.confusion.counts.tolist()}


def metrics_page(evaluation: Evaluation) -> dict[str, float]:
    """Return the numbers for KFP's Metrics; what cannot be measured is left out, because KFP refuses NaN."""
    numbers = {name: value for name, value in evaluation.numbers.items() if value is not None and math.isfinite(value)}
    counts = {"frames": evaluation.frames, "drive_groups": evaluation.drive_groups, "objects": evaluation.objects}
    return {**numbers, **{name: float(value) for name, value in counts.items()}}


def _class(part: ClassResult) -> dict[str, Json]:
    return {
        "class_name": part.class_name,
        **{name: _finite(value) for name, value in part.numbers.items()},
        "n_frames": part.frames,
        "n_objects": part.objects,
        "n_ignored": part.ignored,
        "n_detections": part.detections,
        "operating_point": _point(part.point),
        "false_per_frame": part.false_per_frame,
        "precision_at_recall": list(part.curve.precision),
    }


def _point(point: OperatingPoint) -> dict[str, Json]:
    shares: dict[str, Json] = {"precision": point.precision, "recall": point.recall, "f1": point.f1}
    return {"score": point.score, "right": point.right, "false": point.false, "missed": point.missed, **shares}


def _slice(part: SliceResult) -> dict[str, Json]:
    counts = {"n_frames": part.frames, "n_drives": part.drive_groups, "n_objects": part.objects}
    numbers = {name: _finite(value) for name, value in part.numbers.items()}
    return {"name": part.name, **numbers, **counts, **slice_json(part)}


def _comparison(comparison: Comparison) -> dict[str, Json]:
    return {
        "metric": comparison.metric,
        "overall": _estimate(comparison.overall),
        "per_class": [_estimate(part) for part in comparison.per_class],
        "per_slice": [_estimate(part) for part in comparison.per_slice],
    }


def _estimate(found: Estimate) -> dict[str, Json]:
    change = found.change
    return {
        "name": found.name,
        "challenger": _finite(found.value),
        "interval": _interval(found.interval),
        "champion": _finite(found.champion),
        "change": _finite(change.value) if change is not None else None,
        "change_interval": _interval(change.interval) if change is not None else None,
        **{f"n_{name}": count for name, count in asdict(found.counts).items()},
    }


def _rule(rule: RuleResult) -> dict[str, Json]:
    return {
        "name": rule.name,
        "outcome": rule.outcome,
        "reason": rule.reason,
        "value": _finite(rule.value),
        "limit": _finite(rule.limit),
        "interval": _interval(rule.interval),
        "n": asdict(rule.counts) if rule.counts is not None else None,
        "is_difference": rule.is_difference,
    }


def _interval(interval: Interval | None) -> Json:
    return asdict(interval) if interval is not None else None


def _leak(leak: LeakReport) -> dict[str, Json]:
    return {**asdict(leak), "examples": [asdict(item) for item in leak.examples], "is_clean": leak.is_clean}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
