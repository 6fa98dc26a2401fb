"""Read truth and predictions of any format and make the request of an evaluation from them."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from driveflow import tables as columns
from driveflow.errors import UsageError
from driveflow.formats.box_shapes import SHAPES
from driveflow.formats.coco_records import looks_like_coco
from driveflow.formats.picture_finder import bare_stem
from driveflow.progress import Progress, silent
from driveflow.snapshots import SnapshotTables
from validation.inputs.box_shapes import doubtful_shapes
from validation.inputs.coco_document import read_document
from validation.inputs.coco_looked import with_regions
from validation.inputs.coco_results import read_results
from validation.inputs.given import SIZE_UNKNOWN, Given
from validation.inputs.join import Predicted, by_names, raw_scene_of, refuse_strangers, with_names_for_ids
from validation.inputs.label_files import LocalFiles, local_files
from validation.inputs.label_sets import read_label_set
from validation.inputs.slices import slices_of
from validation.inputs.tables import frames_table, given_snapshot, read_table, sources_table
from validation.inputs.text_rows import are_text_rows, read_text_rows
from validation.model.scene import Correction, EvaluationRequest, Mode

_SNIFFED: Final = 1 << 20
_EMPTY_LIST: Final = 16  # bytes
_SHOWN: Final = 5
TEXT: Final = "text"
BoxEdges: TypeAlias = Literal["format", "written", "inclusive"]
"""What corners mean. format: what the format says. VOC and MOT count pixels from 1, and VOC includes the last one.

written: edges as they are spelled, also there. inclusive: as spelled, and the last pixel belongs to the box.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationInputs:
    """What is to be evaluated, and how; formats are "auto" or a name, `text_xywh`, `text_xyxy`, `text_xcycwh` of rows.

    Truth is a file or folder, or the tables of a snapshot, of which `withdrawn` frames do not count. What lies in
    archives or far away was brought to `*_files`, is called `*_name`, and `unread` says what could not be; without,
    the files are those at the path.
    """

    truth: Path | None
    predictions: Path
    snapshot: SnapshotTables | None = None
    signals: pa.Table | None = None  # what is known of the snapshot's pictures
    holdout_id: str = ""
    truth_format: str = "auto"
    predictions_format: str = "auto"
    mode: Mode = "strict"
    thresholds: tuple[float, ...] = ()
    min_score: float = 0.0
    slices: tuple[str, ...] = ()  # dimensions, attributes of frames, or conditions on frames
    truth_files: LocalFiles | None = None
    truth_name: str = ""
    withdrawn: frozenset[str] = frozenset()
    predictions_files: LocalFiles | None = None
    predictions_name: str = ""
    unread: tuple[Correction, ...] = ()
    box_edges: BoxEdges = "format"


def read_request(inputs: EvaluationInputs, progress: Progress = silent) -> EvaluationRequest:
    """Return the request that `inputs` mean.

    Raises:
        InvalidInputError: a file says something that no evaluator may count; it is named with its line.
        UsageError: a format that cannot be told, or that there is not.
        NotFoundError: a file or folder that is not there.
    """
    truth = _named(_truth(inputs), inputs.truth_name)
    files = inputs.predictions_files or local_files(inputs.predictions)
    said = _results(files) if inputs.predictions_format in {"auto", "coco"} else None
    if said is not None:
        truth = truth.in_pixels(other_has_shares=False)
        found = with_names_for_ids(truth, Predicted(*read_results(said, truth, progress)), _called(inputs))
    else:
        predictions = _read(inputs, inputs.predictions, files, truth)
        truth, found = by_names(truth, _named(predictions, inputs.predictions_name))
    if inputs.box_edges == "inclusive":
        truth, found = _with_last_pixels(truth, found)
    refuse_strangers(truth, found, _called(inputs), by_ids=said is not None)
    truth, found = _without(truth, found, inputs.withdrawn)
    names = _frame_names(truth)
    doubts = [*doubtful_shapes(truth, truth.boxes, "truth"), *doubtful_shapes(truth, found.boxes, "detection")]
    truth = with_regions(truth, inputs.mode)
    raw = raw_scene_of(truth, replace(found, corrections=(*found.corrections, *doubts, *inputs.unread)), names)
    frames = frames_table(truth, names, raw)
    sources = truth.sources if truth.sources is not None else sources_table(truth, names)
    sections, conditions = slices_of(inputs.slices, frames, sources)
    return EvaluationRequest(
        frames=frames,
        boxes=columns.BOXES.empty_table(),
        predictions=columns.PREDICTIONS.empty_table(),
        sources=sources,
        signals=inputs.signals,
        classes=raw.classes,
        slices=sections,
        conditions=conditions,
        min_score=inputs.min_score,
        holdout_id=inputs.holdout_id or (truth.source if "/" in truth.source else f"./{truth.source}"),
        model_digest=_called(inputs),
        mode=inputs.mode,
        thresholds=inputs.thresholds,
        raw=raw,
    )


def _without(truth: Given, found: Predicted, withdrawn: frozenset[str]) -> tuple[Given, Predicted]:
    """Return both sides without boxes of withdrawn frames, in which nobody looked; their names stay, for the join."""
    ids = truth.frames["key"][: truth.known_frames]
    gone = ids.is_in(list(withdrawn)).to_numpy()
    if not gone.any():
        return truth, found
    rows = np.flatnonzero(gone)
    looked = truth.looked & ~gone[:, None] if truth.looked is not None else None
    told = Correction("frame_withdrawn", len(rows), tuple(ids.gather(rows[:_SHOWN]).to_list()), "not counted")
    left = [boxes.rows(np.flatnonzero(~np.isin(boxes.frame, rows))) for boxes in (truth.boxes, found.boxes)]
    said = replace(found, boxes=left[1], corrections=(*found.corrections, told))
    return replace(truth, boxes=left[0], looked=looked), said


def _called(inputs: EvaluationInputs) -> str:
    """Return what a person calls the predictions."""
    return inputs.predictions_name or str(inputs.predictions)


def _named(given: Given, name: str) -> Given:
    return replace(given, source=name) if name else given


def _with_last_pixels(truth: Given, found: Predicted) -> tuple[Given, Predicted]:
    if any(item.kind == SIZE_UNKNOWN for item in (*truth.corrections, *found.corrections)):
        raise UsageError(
            f"{truth.source}: boxes are shares of pictures, and nobody says how large: there is no last pixel."
        )
    boxes = replace(truth, boxes=truth.boxes.with_last_pixel())
    return boxes, replace(found, boxes=found.boxes.with_last_pixel())


def _truth(inputs: EvaluationInputs) -> Given:
    if inputs.snapshot is not None:
        if inputs.box_edges != "format":
            raise UsageError("--box-edges is about files as they are written; the boxes of a snapshot have edges.")
        return given_snapshot(inputs.holdout_id, inputs.snapshot)
    if inputs.truth is None:
        raise UsageError("There is no truth to evaluate against.")
    return _read(inputs, inputs.truth, inputs.truth_files or local_files(inputs.truth), None)


def _read(inputs: EvaluationInputs, path: Path, files: LocalFiles, truth: Given | None) -> Given:
    """Return what the labels at `path` say: the truth, or where that is known already, the predictions."""
    scored = truth is not None
    wanted = inputs.predictions_format if scored else inputs.truth_format
    if scored and path.suffix == ".parquet":
        return read_table(path)
    document = _document(files) if wanted in {"auto", "coco"} else None
    if document is not None:
        return read_document(document, scored=scored)
    if wanted.startswith(TEXT) or (wanted == "auto" and are_text_rows(files)):
        return read_text_rows(path, files, _sizes(truth) if truth is not None else {}, _shape(wanted))
    return read_label_set(path, files, wanted, scored=scored, as_written=inputs.box_edges != "format")


def _shape(wanted: str) -> str:
    shape = wanted.removeprefix(TEXT).removeprefix("_") if wanted.startswith(TEXT) else ""
    if shape and shape not in SHAPES:
        raise UsageError(
            f"No rows of text are called {wanted!r}. Known: {', '.join(f'text_{name}' for name in SHAPES)}."
        )
    return shape


def _sizes(truth: Given) -> dict[str, tuple[float, float]]:
    listed = truth.frames[: truth.known_frames].drop_nulls(["width", "height"])
    rows = listed.select("name", "width", "height").iter_rows()
    return {bare_stem(name): (width, height) for names, width, height in rows for name in names.split("\n")}


def _json(files: LocalFiles) -> list[Path]:
    return [files.folder / path for path in files.paths if path.lower().endswith(".json") and files.holds(path)]


def _document(files: LocalFiles) -> Path | None:
    """Return the one COCO document of `files`."""
    found = [path for path in _json(files) if _begins(path) == "{" and looks_like_coco(path.read_bytes())]
    return found[0] if len(found) == 1 else None


def _results(files: LocalFiles) -> Path | None:
    """Return the one file that is a list of COCO results, or an empty list."""
    found = [path for path in _json(files) if _begins(path) == "[" and _looks_like_results(path)]
    full = [path for path in found if path.stat().st_size > _EMPTY_LIST] if len(found) > 1 else []
    if len(full) > 1:
        raise UsageError(f"{full[0]} and {full[1].name} are both lists of results; name one of {len(full)}.")
    return found[0] if len(found) == 1 else None


def _begins(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return head[:1].decode("latin-1")


def _looks_like_results(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(_SNIFFED)
    inside = head.removeprefix(b"\xef\xbb\xbf").strip()
    return bool(re.match(rb"\[\s*\]$", inside)) or (b'"image_id"' in head and b'"bbox"' in head)


def _frame_names(truth: Given) -> list[str]:
    """Return what the listed frames are called: the picture's file where that is one frame's, else the id."""
    listed = truth.frames[: truth.known_frames]
    if truth.source and (listed["key"].str.len_chars() == 64).all() and len(listed):
        return listed["key"].to_list()
    names = listed["name"].to_list()
    unique = len(set(names)) == len(names) and all(names)
    return names if unique else [key or name for key, name in zip(listed["key"], names, strict=True)]
