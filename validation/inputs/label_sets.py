"""Truth or predictions of any label format that driveflow reads."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from driveflow.errors import InvalidInputError, UsageError
from driveflow.formats.catalog import FORMATS
from driveflow.formats.detect import detect_format
from driveflow.formats.label_set import LabelProblem, LabelSet
from validation.inputs.given import GIVEN_CLASSES, GIVEN_FRAMES, Given
from validation.inputs.label_files import LocalFiles, read_labels
from validation.inputs.waymo_frames import with_frames_of_boxes
from validation.model.box_facts import box_facts
from validation.model.raw import RawBoxes
from validation.model.scene import Bools, Correction, Floats

_SHOWN = 5
_DONE = {"label_frames_without_box": "counted where a frame has a box; predictions of other frames are not"}
_CORNERS = ("x1", "y1", "x2", "y2")


def read_label_set(
    path: Path, files: LocalFiles, label_format: str, *, scored: bool, as_written: bool = False
) -> Given:
    """Return what the labels at `path` say; `scored`: its boxes are predictions, and those without a score are not.

    With `as_written`, corners are as the files spell them, whatever the format means by them.

    Raises:
        UsageError: no format is called so.
        InvalidInputError: nothing can be read there.
    """
    if label_format not in {"auto", *FORMATS}:
        raise UsageError(f"No format is called {label_format!r}. Known: text, {', '.join(sorted(FORMATS))}.")
    found = detect_format(files) if label_format == "auto" else label_format
    files, unknown = with_frames_of_boxes(files) if found == "waymo" else (files, ())
    labels = read_labels(files, found, as_written=as_written)
    labels = replace(labels, problems=(*labels.problems, *unknown))
    given = replace(_with_sizes(_given(path, labels, scored=scored), files), uploads=found == "label_studio")
    if as_written and found == "mot":  # its reader takes 1 from all corners
        given = replace(given, boxes=replace(given.boxes, corners=given.boxes.corners + 1.0))
    if not len(given.boxes) and labels.problems:
        raise InvalidInputError(f"{path}: read as {found}, and no box can be used: {_told(labels.problems[0])}.")
    if not given.known_frames:
        results = "COCO results are one list of image_id, category_id, bbox and score, a table is one Parquet file"
        more = f"; {results if scored else 'a COCO document has images, annotations and categories'}"
        raise InvalidInputError(f"{path}: nothing there says anything of pictures (read as {found}){more}.")
    return given


def _given(path: Path, labels: LabelSet, *, scored: bool) -> Given:
    images = pl.DataFrame(pl.from_arrow(labels.images)).unique("path", keep="first", maintain_order=True).sort("path")
    boxes = pl.DataFrame(pl.from_arrow(labels.boxes))
    confidence = boxes["attributes"].str.json_path_match("$.confidence").cast(pl.Float64, strict=False)
    boxes = boxes.with_columns(score=pl.col("score").fill_null(confidence)) if scored else boxes
    rows, others = _split(boxes, pl.col("score").is_not_null() if scored else pl.col("score").is_null())
    names = sorted({*(name for names in labels.class_lists for name in names), *rows["class_name"].unique().to_list()})
    frames = images.select(
        key=pl.lit(""),
        name="path",
        width=pl.col("width").cast(pl.Float64),
        height=pl.col("height").cast(pl.Float64),
        drive="drive",
        camera="camera",
        attributes="attributes",
    ).cast(GIVEN_FRAMES)
    place = pl.DataFrame({"path": images["path"], "frame": pl.arange(len(images), eager=True)})
    label = pl.DataFrame({"class_name": pl.Series(names, dtype=pl.String), "label": pl.arange(len(names), eager=True)})
    rows = rows.join(place, on="path", how="inner", maintain_order="left")
    rows = rows.join(label, on="class_name", how="left", maintain_order="left")
    where = [f"{file}:{line}" if line else str(file) for file, line in rows.select("label_file", "line").iter_rows()]
    return Given(
        source=str(path),
        frames=frames,
        classes=pl.DataFrame({"key": [""] * len(names), "name": names}, schema=GIVEN_CLASSES),
        boxes=RawBoxes(
            frame=rows["frame"].to_numpy().astype(np.int64),
            label=rows["label"].to_numpy().astype(np.int64),
            corners=_corners(rows),
            score=rows["score"].to_numpy().astype(np.float64) if scored else None,
            ignore=rows["ignore"].fill_null(value=False).to_numpy().astype(bool),
            facts=None if scored else box_facts(rows["attributes"]),
            where=lambda row: f"{path}: {where[row]}",
        ),
        known_frames=len(frames),
        known_classes=len(names),
        looked=None if scored else _looked(images, labels, names),
        normalised=rows["normalised"].fill_null(value=False).to_numpy().astype(bool),
        corrections=(*_problems(labels.problems, path), *_left_out(others, scored=scored)),
    )


def _with_sizes(given: Given, files: LocalFiles) -> Given:
    """Return the same with the sizes of the pictures that are there, where boxes are shares of them."""
    if not given.has_shares:
        return given
    from PIL import Image

    names = given.frames["name"].to_list()
    known: dict[str, tuple[float, float]] = {}
    for name, stream in files.open_each(names):
        with suppress(OSError), Image.open(stream) as picture:
            known[name] = float(picture.width), float(picture.height)
    sizes = [known.get(name, (None, None)) for name in names]
    return given.with_sizes(pl.DataFrame(sizes, schema={"width": pl.Float64, "height": pl.Float64}, orient="row"))


def _split(rows: pl.DataFrame, keep: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    return rows.filter(keep), rows.filter(~keep)


def _corners(rows: pl.DataFrame) -> Floats:
    return np.ascontiguousarray(rows.select(_CORNERS).to_numpy(), np.float64)


def _looked(images: pl.DataFrame, labels: LabelSet, names: list[str]) -> Bools:
    place = {name: number for number, name in enumerate(names)}
    looked = np.zeros((len(images), len(names)), bool)
    for row, number in enumerate(images["class_list"].to_list()):
        if number is not None:
            looked[row, [place[name] for name in labels.class_lists[number]]] = True
    return looked


def _problems(problems: tuple[LabelProblem, ...], path: Path) -> list[Correction]:
    reasons = sorted({problem.reason for problem in problems})
    found = []
    for reason in reasons:
        own = [problem for problem in problems if problem.reason == reason]
        examples = tuple(_told(problem) for problem in own[:_SHOWN])
        done = _DONE.get(reason, f"not counted: {path} cannot be read there")
        found.append(Correction(reason, len(own), examples, done))
    return found


def _told(problem: LabelProblem) -> str:
    line = f":{problem.line}" if problem.line else ""
    return f"{problem.path}{line}: {problem.detail}"


def _left_out(rows: pl.DataFrame, *, scored: bool) -> list[Correction]:
    if not len(rows):
        return []
    kind = "prediction_without_score" if scored else "truth_with_score"
    done = "not counted: a box without a score is no prediction" if scored else "not counted: a model's, not the truth"
    return [Correction(kind, len(rows), tuple(rows["path"].unique().sort().head(_SHOWN)), done)]
