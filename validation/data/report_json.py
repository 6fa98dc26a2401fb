"""A validation of data for programs."""

from dataclasses import asdict

from driveflow.canonical import Json
from validation.data.report import Check, DataReport, Drift, Suspect

FORM_VERSION = 1


def data_report_json(report: DataReport) -> dict[str, Json]:
    """Return everything the report says as plain values, but for the seconds it took the same for the same data."""
    return {
        "form_version": FORM_VERSION,
        "snapshot": report.snapshot_id,
        "against": report.against_id or None,
        "verdict": report.verdict,
        "reason": report.reason,
        "counts": dict(report.counts),
        "checks": [_check(check) for check in report.checks],
        "drift": [_drift(row) for row in report.drift],
        "classes": [
            {"class_name": row.class_name, "boxes": dict(row.boxes), "looked_for": row.looked_for}
            for row in report.classes
        ],
        "seconds": round(report.seconds, 3),
    }


def _check(check: Check) -> dict[str, Json]:
    return {
        "name": check.name,
        "outcome": check.outcome,
        "value": check.value,
        "unit": check.unit,
        "limit": check.review,
        "block_limit": check.block,
        "found": check.found,
        "n": check.n,
        "reason": check.reason,
        "examples": [_suspect(suspect) for suspect in check.suspects],
    }


def _suspect(suspect: Suspect) -> dict[str, Json]:
    known: dict[str, Json] = {"frame_id": suspect.frame_id, "detail": suspect.detail}
    if suspect.box_id:
        known |= {"box_id": suspect.box_id, "class_name": suspect.class_name}
    return known | ({"corners": list(suspect.corners)} if suspect.corners else {})


def _drift(row: Drift) -> dict[str, Json]:
    told = asdict(row)
    for name in ("frames", "groups", "values"):
        told[name] = {"before": told[name][0], "now": told[name][1]}
    return told
