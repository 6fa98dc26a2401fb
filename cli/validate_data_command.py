"""`driveflow validate-data`: say whether a snapshot is good enough to train on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    import pyarrow as pa

    from driveflow.flow.data_validation_section import DataValidationSection
    from driveflow.place import Place
    from driveflow.snapshots import Snapshot
    from validation.data.report import Check, DataReport
    from validation.data.request import Side

_BLOCKED = 5
_REASON_CHARS = 110


def validate_data(  # noqa: PLR0913, PLR0917 one parameter an option
    snapshot: AnySnapshot,
    against: Annotated[str, typer.Option("--against", help="The snapshot before it, for drift.")] = "",
    policy: Annotated[
        Path | None, typer.Option("--policy", help="A flow file, or its section data_validation.", dir_okay=False)
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="A model whose stored predictions are held against the labels.")
    ] = "",
    measure: Annotated[bool, typer.Option("--measure/--no-measure", help="Measure pictures that nobody has.")] = True,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Annotated[
        Literal["text", "json", "html"], typer.Option("--output", "-o", help="Words, JSON, or a page with pictures.")
    ] = "text",
) -> None:
    """Check a snapshot before anything is trained on it: schema, boxes, classes, times, tags, drift, labels in doubt.

    BLOCK: it must not be trained on. NEEDS REVIEW: a person should look, a flow goes on. Limits are those of the
    section data_validation of a flow file, or the defaults.

    Examples:
      driveflow validate-data may
      driveflow validate-data june --against may --policy flow.yaml -o json
      driveflow validate-data may -o html > may.html

    Exit codes: 0 PASS or NEEDS REVIEW, 1 failed, 2 usage, 3 not found, 5 BLOCK.
    """
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.flow.data_validation_section import DataValidationSection
    from driveflow.flow.part import load_data_validation
    from validation.data.report_json import data_report_json

    settings = load_data_validation(policy) if policy else DataValidationSection()
    found = find_snapshot(snapshot, workspace, profile)
    before = find_snapshot(against, workspace, profile) if against else None
    place = place_from(workspace, profile)
    report = _report(found, before, settings, place, _Looks(model, measure))
    if output == "html":
        typer.echo(_page(report, found, place, snapshot))
    else:
        emit(data_report_json(report), output, _text(report))
    raise typer.Exit(_BLOCKED if report.verdict == "BLOCK" else 0)


class _Looks:
    """What is looked at beside the tables: the stored predictions of a model, and pictures not measured yet."""

    def __init__(self, model: str, measure: bool) -> None:
        self.model = model
        self.measure = measure


def _report(
    found: "Snapshot", before: "Snapshot | None", settings: "DataValidationSection", place: "Place", looks: _Looks
) -> "DataReport":
    from validation.data.request import DataRequest
    from validation.data.validate import validate_data

    side = _side(found, place, looks)
    return validate_data(
        DataRequest(
            side=side,
            classes=found.classes,
            settings=settings,
            against=_side(before, place, looks) if before else None,
            predictions=_predictions(side, place, looks.model),
            **({"quarantine": found.quarantine()} if found.record_id else {}),
        )
    )


def _side(snapshot: "Snapshot", place: "Place", looks: _Looks) -> "Side":
    from cli.data.progress import shown_progress
    from driveflow.images.pixels import open_pixels
    from driveflow.signal_store import SignalStore
    from driveflow.withdrawn import withdrawn_for
    from filtering.fingerprint import fingerprint_frames
    from validation.data.request import Side

    gone, store = withdrawn_for(place.store, snapshot), SignalStore(place.store)
    tables = snapshot.tables().without(gone)
    ids = tables.frames["frame_id"]
    if looks.measure:
        with shown_progress("measure") as progress:
            signals = fingerprint_frames(ids, open_pixels(snapshot, place), store, progress).signals
    else:
        signals = store.load(ids)
    return Side(
        frames=tables.frames,
        sources=tables.sources,
        boxes=tables.boxes,
        signals=signals,
        snapshot_id=snapshot.snapshot_id,
    )


def _predictions(side: "Side", place: "Place", model: str) -> "pa.Table | None":
    """Return the boxes with a score that the snapshot has, and what is stored of the champion of `model`."""
    import pyarrow as pa

    from cli.open_ledger import ledger_of
    from driveflow.detectors.predict import PredictionStore
    from driveflow.errors import NotFoundError
    from driveflow.truth import predictions_of

    ledger = ledger_of(place)
    champions = [row for row in ledger.versions(model) if row.state == "champion"] if ledger else []
    if model and not champions:
        raise NotFoundError(f"No model {model!r} has a champion in this workspace.")
    brought = predictions_of(side.boxes)
    if len(champions) != 1:
        return brought if brought.num_rows else None
    stored = PredictionStore(place.store).load(champions[0].digest, side.frames["frame_id"].to_pylist())
    return pa.concat_tables([brought, stored])


def _page(report: "DataReport", found: "Snapshot", place: "Place", title: str) -> str:
    from driveflow.images.decode import decode_rgb
    from driveflow.images.pixels import open_pixels
    from validation.data.page import data_page

    pixels = open_pixels(found, place)
    return data_page(report, lambda frame_id: decode_rgb(pixels.read(frame_id)), title)


def _text(report: "DataReport") -> str:
    from validation.data.page import in_order

    counted = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    lines = [f"{report.verdict}: {report.snapshot_id[:16]}, {counted}", report.reason, ""]
    lines.append(table([_row(check) for check in in_order(report.checks)]))
    if any(check.suspects for check in report.checks):
        lines += ["", f"suspects: {report.suspects:,}; -o html draws them, -o json lists their frames and boxes"]
    return "\n".join(lines)


def _row(check: "Check") -> "dict[str, bool | int | float | str | None]":
    from cli.reasons import shown_reason

    return {
        "check": check.name,
        "outcome": check.outcome,
        "value": check.value,
        "review over": check.review,
        "block over": check.block,
        "found": check.found,
        "of": check.n,
        "why": shown_reason(check.reason, _REASON_CHARS),
    }
