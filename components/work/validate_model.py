"""Measure the challenger and the champion on the hold-out, and judge."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driveflow.canonical import Json, canonical_json
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from components.work.judging import Measured
    from driveflow.flow.sections import GateSection
    from driveflow.images.pixels import PixelReader
    from driveflow.snapshots import Snapshot, SnapshotTables
    from validation.model.evaluation import Evaluation
    from validation.pages.album import Pictures
    from validation.report import ReportRequest
    from validation.verdict import Verdict

SPEC = StepSpec("validate_model", ("components.work", "validation"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the verdict, with the report that shows what it stands on, and what the next curation should look for."""
    from components.work.next_curation import OUTPUT, keep_next_curation, queries_page
    from validation.report_json import classification_page, metrics_page, verdict_json

    request, holdout = _judged(context, inputs)
    verdict = request.verdict
    asked, made = keep_next_curation(context, holdout, verdict, request.challenger)
    pages = _pages(replace(request, queries=made.queries))
    report = _keep(context, pages["report"], ".html")
    facts: dict[str, Json] = {
        "outcome": verdict.outcome,
        "digest": verdict.challenger,
        "holdout": str(inputs["holdout"]),
        "report": report,
        "detail": verdict_json(verdict),
    }
    kept = _keep(context, canonical_json(facts), ".json")
    full = _keep(context, pages.pop("report_json"), ".json")
    pages["summary"] += queries_page(made.queries, "What the next curation searches for")
    counts = {"frames": request.challenger.frames, "drive_groups": request.challenger.drive_groups}
    return StepResult(
        outputs={
            "passed": verdict.outcome == "PASS",
            "verdict": kept,
            "outcome": verdict.outcome,
            "reason": verdict.reason,
            "report": report,
            "report_json": full,
            OUTPUT: asked,
        },
        counts={**counts, "objects": request.challenger.objects, "leaks": request.leak.total},
        metrics=metrics_page(request.challenger),
        pages={**pages, "confusion": canonical_json(classification_page(request.challenger))},
        objects=(kept, report, full, asked),
        lasting=_is_lasting(context, request),
    )


def _is_lasting(context: StepContext, request: "ReportRequest") -> bool:
    """Tell whether all was asked: a champion that cannot run, and what cannot be read, may be mended later."""
    settings: Any = context.settings
    gate = _gate(context)
    asked = request.champion is not None or not settings["champion"]
    looked = request.champion is None or request.champion_leak is not None or not settings.get("champion_training")
    limits = (gate.max_latency_ms, gate.max_latency_ratio, gate.max_size_ratio)
    return asked and looked and (request.cost is not None or not any(limits))


def _keep(context: StepContext, text: str, suffix: str) -> str:
    from driveflow.reuse import put_object

    return put_object(context.place.store, text.encode(), suffix)


def _pages(request: "ReportRequest") -> dict[str, str]:
    from validation.report import find_for, report_html
    from validation.report_json import report_json
    from validation.report_markdown import report_markdown

    found = find_for(request)
    summary = report_markdown(request.model, request.verdict, request.challenger, found.changes)
    full = canonical_json(report_json(request, found))
    return {"report": report_html(request, found), "summary": summary, "report_json": full}


def _judged(context: StepContext, inputs: Mapping[str, Value]) -> "tuple[ReportRequest, Measured]":
    """Return what the report is about, and the hold-out that it was measured on."""
    from components.work.judging import champion_leak, champion_or_reason, cost_of, leak_of, regression_sets
    from components.work.table_objects import read_table
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import open_snapshot
    from validation.gate import JudgeRequest, judge
    from validation.report import ReportRequest

    settings: Any = context.settings
    training, holdout = (open_snapshot(str(inputs[name])) for name in ("training", "holdout"))
    pixels = open_pixels(holdout, context.place)
    tables, signals = side = holdout.tables(), read_table(str(inputs["signals"]))
    leak = leak_of(context, (training.tables(), signals), side)
    measured = _Measuring(context, holdout, tables, pixels, signals)
    challenger = measured.of(str(inputs["model"]))
    champion, away = champion_or_reason(settings, measured.of)
    models = str(inputs["model"]), settings["champion"] if champion is not None else ""
    asked = JudgeRequest(
        challenger,
        champion,
        _gate(context),
        leak,
        champion_leak=champion_leak(context, side),
        away=away,
        regressions=regression_sets(context),
        cost=cost_of(context, models, pixels, sorted(tables.frames["frame_id"].to_pylist())),
    )
    verdict = judge(asked)
    request = ReportRequest(
        model=settings["model"],
        verdict=verdict,
        challenger=challenger,
        champion=champion,
        leak=leak,
        champion_leak=asked.champion_leak,
        cost=asked.cost,
        pictures=_pictures(pixels),
        worst_frames=settings["validation"]["worst_frames"],
        provenance=_provenance(context, training, verdict),
    )
    return request, side


def _gate(context: StepContext) -> "GateSection":
    from components.work.settings import read_section
    from driveflow.flow.sections import GateSection

    return read_section(GateSection, context.settings["gate"])


def _pictures(pixels: "PixelReader") -> "Pictures":
    from driveflow.images.decode import decode_rgb

    return lambda frame_id: decode_rgb(pixels.read(frame_id))


def _provenance(context: StepContext, training: "Snapshot", verdict: "Verdict") -> dict[str, str]:
    from driveflow.release import release

    settings: Any = context.settings
    measure = verdict.measure
    return {
        "Run": context.run_id,
        "Training snapshot": training.snapshot_id,
        "Training data of the champion": str(settings.get("champion_training") or "not known"),
        "Hold-out as measured": measure.holdout,
        "Evaluator": f"driveflow {release()}, mode {measure.mode}, code {measure.code}",
    }


class _Measuring:
    """Measures models on one hold-out; predictions come from the store where they are known."""

    def __init__(
        self,
        context: StepContext,
        holdout: "Snapshot",
        tables: "SnapshotTables",
        pixels: "PixelReader",
        signals: "pa.Table",
    ) -> None:
        self._context = context
        self._signals = signals
        self._holdout = holdout
        self._tables = tables
        self._pixels = pixels

    def of(self, model_uri: str) -> "Evaluation":
        """Return what the model at `model_uri` is worth."""
        from components.work.settings import read_section
        from driveflow.detectors.catalog import load_detector
        from driveflow.detectors.predict import PredictionStore, predict_frames
        from driveflow.flow.sections import ValidationSection
        from validation.model.evaluate import evaluate
        from validation.model.scene import EvaluationRequest

        settings = read_section(ValidationSection, self._context.settings["validation"])
        detector = load_detector(model_uri, Path(self._context.place.scratch))
        store = PredictionStore(self._context.place.store)
        ids = self._tables.frames["frame_id"]
        return evaluate(
            EvaluationRequest(
                frames=self._tables.frames,
                boxes=self._tables.boxes,
                sources=self._tables.sources,
                signals=self._signals,
                predictions=predict_frames(detector, self._pixels, ids, store, self._context.progress),
                classes=self._tables.classes,
                slices=settings.slices,
                min_score=settings.min_score,
                holdout_id=self._holdout.snapshot_id,
                model_digest=detector.digest,
            )
        )
