"""`driveflow evaluate`: measure predictions against the truth, in any format that driveflow reads."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from cli.output import DEFAULT_WORKSPACE, ProfileHere, Workspace, write_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.evaluate_files import Bringing
    from driveflow.canonical import Json
    from driveflow.flow.sections import Metric
    from driveflow.snapshots import Snapshot
    from validation.evaluation_page import OpenPictures
    from validation.inputs.read_inputs import EvaluationInputs
    from validation.model.compare import Comparison
    from validation.model.evaluation import Evaluation
    from validation.model.scene import EvaluationRequest

EvaluationOutput: TypeAlias = Literal["text", "json", "html"]


def evaluate(  # noqa: PLR0913, PLR0917 a command takes one parameter an option
    truth: Annotated[str, typer.Option(help="A file, folder, archive or s3:// address, or a snapshot.")],
    predictions: Annotated[str, typer.Option(help="A file, folder or archive of predictions, or an s3:// address.")],
    label_format: Annotated[
        str, typer.Option("--format", help="What the files are, for both or as TRUTH,PREDICTIONS; auto: by content.")
    ] = "auto",
    mode: Annotated[
        Literal["strict", "coco"], typer.Option(help="strict, as the gate takes it; coco, as pycocotools does.")
    ] = "strict",
    slices: Annotated[
        list[str] | None,
        typer.Option(help="class, size, occlusion, weather ..., several as class*size, or a condition on frames."),
    ] = None,
    more_slices: Annotated[
        list[str] | None, typer.Argument(metavar="[SLICE...]", help="More slices, as in --slices size weather.")
    ] = None,
    box_edges: Annotated[
        Literal["format", "written", "inclusive"],
        typer.Option(help="What corners are: as the format has it, edges as written, or the first and last pixel."),
    ] = "format",
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Also what other drives might have shown, 95 times of 100.")
    ] = False,
    iou: Annotated[str, typer.Option(help="Thresholds of overlap, 0.3,0.5 ...; empty: COCO's ten.")] = "",
    min_score: Annotated[float, typer.Option(min=0.0, help="Detections under it are not counted; 0: all count.")] = 0.0,
    to: Annotated[Path | None, typer.Option("--to", help="Write here, not to stdout.", dir_okay=False)] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Annotated[EvaluationOutput, typer.Option("--output", "-o", help="Words, JSON, or a page.")] = "text",
) -> None:
    """Measure predictions against the truth: COCO's twelve numbers, classes, slices, and what was not counted as given.

    Pictures need not be there. COCO result lists name the truth's ids; everything else is joined by the names of
    pictures and classes. Rows of text are class, perhaps a score, and a box: text_xywh, text_xyxy or text_xcycwh.

    Examples:
      driveflow evaluate --truth gt.json --predictions results.json
      driveflow evaluate --truth city-holdout --predictions results.parquet --slices weather -o json
      driveflow evaluate --truth voc/Annotations --predictions dets --format voc,text_xyxy -o html --to page.html
      driveflow evaluate --truth gts --predictions dets --mode coco --box-edges inclusive --iou 0.1,0.3,0.5

    Exit codes: 0 measured, 1 a file that no evaluator may count, 2 usage, 3 not found.
    """
    from dataclasses import replace

    from cli.data.progress import shown_progress
    from cli.evaluate_files import bringing
    from validation.inputs.read_inputs import read_request
    from validation.model.evaluate import evaluate as measure

    started_s = time.perf_counter()
    with bringing() as sides:
        inputs, snapshot = _inputs(sides, (truth, predictions), label_format, (workspace, profile))
        inputs = _asked(inputs, mode, (*(slices or ()), *(more_slices or ())), iou, min_score)
        inputs = replace(inputs, box_edges=box_edges)
        with shown_progress("reading") as progress:
            request = read_request(inputs, progress)
        evaluation = measure(request)
        if output == "html":
            text = _page(evaluation, _pictures((inputs, request), snapshot, (workspace, profile), sides))
        else:
            text = _told(evaluation, output, started_s, intervals=intervals)
        text = sides.told(text)
    if to is None:
        typer.echo(text)
    else:
        write_file(to, text.encode())
        typer.echo(f"Wrote {to}", err=True)


def _inputs(
    sides: "Bringing", said: tuple[str, str], label_format: str, place: tuple[Path, str]
) -> "tuple[EvaluationInputs, Snapshot | None]":
    """Return what is to be evaluated, and the snapshot that the truth is."""
    from dataclasses import replace

    from driveflow.errors import UsageError
    from validation.inputs.read_inputs import EvaluationInputs

    truth, predictions = said
    for option, text in (("--truth", truth), ("--predictions", predictions)):
        if not text.strip():
            raise UsageError(f"{option} is empty; name a file, a folder, an archive or an address.")
    found = sides.bring(predictions)
    of_truth, _, of_predictions = label_format.partition(",")
    inputs = EvaluationInputs(
        truth=None,
        predictions=found.path,
        predictions_files=found.files,
        predictions_name=predictions if found.files is not None else "",
        truth_format=of_truth or "auto",
        predictions_format=of_predictions or of_truth or "auto",
        unread=found.unread,
    )
    if _is_snapshot(truth):
        return _against_snapshot(inputs, truth, place)
    given = sides.bring(truth)
    unread = (*given.unread, *found.unread)
    name = truth if given.files is not None else ""
    return replace(inputs, truth=given.path, truth_files=given.files, truth_name=name, unread=unread), None


def _is_snapshot(truth: str) -> bool:
    """Tell whether the truth is a snapshot: an address of one, or no file or folder, and so perhaps a tag or an id."""
    from driveflow.storage.objects import join, stat

    if "://" in truth:
        return "#" in truth or stat(join(truth.rstrip("/"), "snapshot.json")) is not None
    return not Path(truth).exists() or (Path(truth) / "snapshot.json").is_file()


def _against_snapshot(
    inputs: "EvaluationInputs", truth: str, place: tuple[Path, str]
) -> "tuple[EvaluationInputs, Snapshot]":
    from dataclasses import replace

    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.errors import NotFoundError
    from driveflow.signal_store import SignalStore
    from driveflow.withdrawn import withdrawn_among, withdrawn_for

    try:
        snapshot = find_snapshot(truth, *place)
    except NotFoundError as error:
        if Path(truth).exists() or "://" in truth:
            raise
        raise NotFoundError(f"{truth}: there is no such file or folder of truth, nor a snapshot: {error}") from error
    store, tables = place_from(*place).store, snapshot.tables()
    inputs = replace(inputs, snapshot=tables, holdout_id=snapshot.snapshot_id)
    gone = frozenset(withdrawn_among(tables.frames["frame_id"], withdrawn_for(store, snapshot)))
    return replace(inputs, withdrawn=gone, signals=SignalStore(store).load(tables.frames["frame_id"])), snapshot


def _asked(
    inputs: "EvaluationInputs", mode: Literal["strict", "coco"], slices: tuple[str, ...], iou: str, min_score: float
) -> "EvaluationInputs":
    import math
    from dataclasses import replace

    from driveflow.errors import UsageError

    if not math.isfinite(min_score):
        raise UsageError(f"--min-score {min_score}: no score is that high; leave it out to count every detection.")
    return replace(inputs, mode=mode, slices=slices, thresholds=_thresholds(iou), min_score=min_score)


def _thresholds(text: str) -> tuple[float, ...]:
    from driveflow.errors import UsageError
    from validation.model.twelve import MOST_THRESHOLDS

    words = [word for word in text.replace(",", " ").split() if word]
    try:
        values = tuple(sorted({float(word) for word in words}))
    except ValueError:
        raise UsageError(f"--iou {text!r}: thresholds are numbers, such as 0.3,0.5.") from None
    if len(values) > MOST_THRESHOLDS or any(not 0 < value <= 1 for value in values):
        raise UsageError(f"--iou {text!r}: up to {MOST_THRESHOLDS} thresholds over 0 and up to 1.")
    return values


def _pictures(
    read: "tuple[EvaluationInputs, EvaluationRequest]",
    snapshot: "Snapshot | None",
    place: tuple[Path, str],
    sides: "Bringing",
) -> "OpenPictures | None":
    from cli.evaluate_pictures import pictures_of_files, pictures_of_snapshot
    from cli.output import place_from

    if snapshot is not None:
        return pictures_of_snapshot(snapshot, place_from(*place))
    return pictures_of_files(*read, sides.folder)


def _page(evaluation: "Evaluation", pictures: "OpenPictures | None") -> str:
    from validation.evaluation_page import EvaluationPage, evaluation_html

    return evaluation_html(EvaluationPage(title=evaluation.model_digest, evaluation=evaluation, pictures=pictures))


def _told(evaluation: "Evaluation", output: EvaluationOutput, started_s: float, *, intervals: bool) -> str:
    import json

    from validation.evaluation_json import evaluation_json
    from validation.intervals import intervals as find_intervals

    found = find_intervals(evaluation) if intervals else None
    if output == "text":
        return _words(evaluation, found or {})
    value = evaluation_json(evaluation, time.perf_counter() - started_s, found)
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def _words(evaluation: "Evaluation", intervals: "Mapping[Metric, Comparison]") -> str:
    from cli.output import table
    from validation.model.twelve import METRICS
    from validation.pages.words import span

    spans = {name: span(part.overall.interval) for name, part in intervals.items()}
    numbers: list[dict[str, Json]] = [
        {"metric": name, "value": evaluation.numbers[name], **({"95 %": spans.get(name)} if spans else {})}  # type: ignore[call-overload]
        for name in METRICS
    ]
    classes: list[dict[str, Json]] = [
        {"class": part.class_name, "objects": part.objects, "AP": part.numbers["AP"], "AP50": part.numbers["AP50"],
         "false per frame": part.false_per_frame}
        for part in evaluation.per_class
    ]  # fmt: skip
    slices: list[dict[str, Json]] = [
        {"slice": part.name, "frames": part.frames, "drives": part.drive_groups, "AP": part.numbers["AP"],
         "AP50": part.numbers["AP50"]}
        for part in evaluation.per_slice
    ]  # fmt: skip
    found: list[dict[str, Json]] = [
        {"not as given": item.kind, "times": item.count, "what was done": item.done} for item in evaluation.corrections
    ]
    voc: list[dict[str, Json]] = [
        {"Pascal VOC, IoU": part.overlap, "11 points": part.eleven_point, "every point": part.every_point}
        for part in evaluation.voc
    ]
    counted = (
        f"mode {evaluation.mode}: {evaluation.frames:,} frames, {evaluation.drive_groups:,} drive groups, "
        f"{evaluation.objects:,} objects, {evaluation.detections:,} detections"
    )
    return "\n\n".join([counted, *(table(rows) for rows in (numbers, voc, classes, slices, found) if rows)])
