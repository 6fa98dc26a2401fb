"""Check the frozen training data and the hold-out before anything is trained on them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driveflow.canonical import canonical_json
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.flow.data_validation_section import DataValidationSection
    from driveflow.images.decode import Pixels
    from driveflow.snapshots import Snapshot
    from validation.data.page import Pictures
    from validation.data.report import DataReport
    from validation.data.request import Side

SPEC = StepSpec("validate_data", ("components.work", "validation"), goes_on_if="sound")

_NOT_ASKED = "The flow asks for no validation of data (data_validation.enabled is false)."


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return whether a model may be trained, with the report that says why."""
    from components.work.settings import read_section
    from driveflow.flow.data_validation_section import DataValidationSection
    from driveflow.snapshots import open_snapshot

    asked: Any = context.settings
    settings = read_section(DataValidationSection, asked["data_validation"])
    if not settings.enabled:
        words = {"summary": f"# Data\n\n{_NOT_ASKED}\n", "report": ""}
        return StepResult({"sound": True, "verdict": "NOT JUDGED", "reason": _NOT_ASKED}, pages=words)
    snapshots = [open_snapshot(str(inputs[name])) for name in ("training", "holdout")]
    report = _validated(context, snapshots, settings, str(inputs["signals"]))
    return _result(context, report, _pictures(context, snapshots))


def _validated(
    context: StepContext, snapshots: "list[Snapshot]", settings: "DataValidationSection", signals_uri: str
) -> "DataReport":
    from components.work.settings import read_section
    from components.work.table_objects import read_table
    from driveflow.flow.sections import GateSection
    from driveflow.signal_store import SignalStore
    from driveflow.snapshots import open_snapshot
    from validation.data.request import DataRequest
    from validation.data.validate import validate_data

    asked: Any = context.settings
    signals = read_table(signals_uri)
    before = open_snapshot(asked["against"]) if asked["against"] else None
    known = SignalStore(context.place.store)
    side = _side(snapshots, signals)
    return validate_data(
        DataRequest(
            side=side,
            classes=snapshots[0].classes,
            settings=settings,
            compared=_side(snapshots[:1], signals),
            against=None if before is None else _side([before], known.load(before.frames()["frame_id"])),
            predictions=_predictions(context, asked["champion"], side.frames),
            gate=read_section(GateSection, asked["gate"]),
        )
    )


def _side(snapshots: "list[Snapshot]", signals: "pa.Table") -> "Side":
    import pyarrow as pa

    from validation.data.request import Side

    return Side(
        frames=pa.concat_tables([snapshot.frames() for snapshot in snapshots]),
        sources=pa.concat_tables([snapshot.sources() for snapshot in snapshots]),
        boxes=pa.concat_tables([snapshot.boxes() for snapshot in snapshots]),
        signals=signals,
        snapshot_id=snapshots[0].snapshot_id,
    )


def _predictions(context: StepContext, champion: str, frames: "pa.Table") -> "pa.Table | None":
    """Return what is stored of the champion: no frame is looked at for this."""
    from driveflow.detectors.predict import PredictionStore

    if not champion:
        return None
    digest = champion.rpartition("/")[2]
    return PredictionStore(context.place.store).load(digest, frames["frame_id"].to_pylist())


def _pictures(context: StepContext, snapshots: "list[Snapshot]") -> "Pictures":
    from driveflow.images.decode import decode_rgb
    from driveflow.images.pixels import open_pixels

    readers = [open_pixels(snapshot, context.place) for snapshot in snapshots]

    def picture(frame_id: str) -> "Pixels":
        reader = next((one for one in readers if frame_id in one), readers[0])
        return decode_rgb(reader.read(frame_id))

    return picture


def _result(context: StepContext, report: "DataReport", pictures: "Pictures") -> StepResult:
    from driveflow.reuse import put_object
    from validation.data.markdown import data_markdown
    from validation.data.page import data_page
    from validation.data.report_json import data_report_json

    asked: Any = context.settings
    page = data_page(report, pictures, asked["model"])
    told = {**data_report_json(report), "seconds": 0.0}  # the same data makes the same object
    kept = put_object(context.place.store, canonical_json(told).encode(), ".json")
    shown = put_object(context.place.store, page.encode(), ".html")
    then = ", so nothing is trained" if report.verdict == "BLOCK" else ""
    notes = () if report.verdict == "PASS" else (f"The data: {report.verdict}{then}. {report.reason}",)
    return StepResult(
        outputs={
            "sound": report.verdict != "BLOCK",
            "verdict": report.verdict,
            "reason": report.reason,
            "report": shown,
            "report_json": kept,
        },
        counts={**report.counts, "suspects": report.suspects},
        pages={"summary": data_markdown(report, asked["model"]), "report": page},
        objects=(kept, shown),
        notes=notes,
    )
