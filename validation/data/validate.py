"""Validate a dataset: every check, and one verdict."""

import time
from dataclasses import replace

import polars as pl

from validation.data.boxes import check_boxes
from validation.data.classes import check_classes, class_rows
from validation.data.drift import check_drift
from validation.data.frames import check_frames
from validation.data.noise import check_noise
from validation.data.report import Check, DataReport, Verdict
from validation.data.request import DataRequest, Prepared
from validation.data.schema import check_schema


def validate_data(request: DataRequest) -> DataReport:
    """Return what is wrong with a snapshot, and whether a model may be trained on it.

    BLOCK: a check is over its `block` limit. NEEDS REVIEW: none is, but one is over its `review` limit. Otherwise PASS.
    Where the tables themselves are broken, nothing else is looked at. The result does not depend on the order of rows.
    """
    started_s = time.perf_counter()
    data = Prepared(request.side)
    counts = {name: getattr(request.side, name).num_rows for name in ("frames", "sources", "boxes")}
    schema = check_schema(request)
    if schema.outcome == "BLOCK":
        return _report(request, (schema,), counts, started_s)
    classes = class_rows(data, request.classes)
    drift, columns = check_drift(request, data if request.compared is None else Prepared(request.compared))
    checks = (
        schema,
        *check_boxes(data, request.settings),
        *check_classes(request, data, classes),
        *check_frames(request, data),
        check_noise(request, data),
        drift,
    )
    report = _report(request, checks, counts, started_s)
    return replace(report, drift=columns, classes=classes, paths=_paths(data, checks))


def _paths(data: Prepared, checks: tuple[Check, ...]) -> dict[str, str]:
    """Return where each frame that a check points at was found first, as batch/path."""
    asked = {suspect.frame_id for check in checks for suspect in check.suspects}
    rows = data.shots.filter(pl.col("frame_id").is_in(asked)).unique("frame_id", keep="first", maintain_order=True)
    return {frame_id: f"{batch}/{path}" for frame_id, batch, path in rows.select("frame_id", "batch", "path").rows()}


def _report(request: DataRequest, checks: tuple[Check, ...], counts: dict[str, int], started_s: float) -> DataReport:
    verdict, reason = _verdict(checks)
    return DataReport(
        snapshot_id=request.side.snapshot_id,
        against_id=request.against.snapshot_id if request.against else "",
        verdict=verdict,
        reason=reason,
        checks=checks,
        drift=(),
        classes=(),
        counts=counts,
        seconds=time.perf_counter() - started_s,
    )


def _sentence(check: Check, verdict: Verdict) -> str:
    """Say what one check found, and by which value and limit it decided."""
    limit = check.block if verdict == "BLOCK" else check.review
    if limit is None or check.value is None:
        return f"{check.name}: {check.reason}"
    return f"{check.name}: {check.reason[:-1]} ({check.value:.3g} {check.unit}, the limit is {limit:.3g})."


def _verdict(checks: tuple[Check, ...]) -> tuple[Verdict, str]:
    for verdict in ("BLOCK", "NEEDS REVIEW"):
        deciding = [check for check in checks if check.outcome == verdict]
        if deciding:
            return verdict, " ".join(_sentence(check, verdict) for check in deciding)
    judged = sum(check.outcome == "PASS" for check in checks)
    return "PASS", f"All {judged} checks that could be judged are within their limits."
