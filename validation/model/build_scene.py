"""Read the tables of truth and predictions into arrays, in which frames and classes are numbers."""

import json
from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.errors import InvalidInputError
from driveflow.truth import truth_of
from validation.model.arrange import Arrangement, arrange
from validation.model.box_facts import box_facts
from validation.model.lint import sample
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import Bools, EvaluationRequest, Floats, Ints, Scene

AREA_ATTRIBUTE = "area_px"  # of the object's mask, where a data set states it; COCO sizes objects by it
CORNERS = ("x1", "y1", "x2", "y2")


def build_scene(request: EvaluationRequest) -> Scene:
    """Return the arrays of `request`.

    Raises:
        InvalidInputError: a number that is none (NaN, infinite, a score that is missing), a box turned inside out, or
            a frame that is there twice.
    """
    raw = request.raw or raw_scene(request)
    return arrange(raw, Arrangement(request.mode, request.min_score, request.max_detections))


def raw_scene(request: EvaluationRequest) -> RawScene:
    """Return the tables of `request` by number, frames in the order of their ids, boxes in that of their own.

    Raises:
        InvalidInputError: a frame that is there twice.
    """
    frames = _frames(request.frames)
    truth, found = _boxes(truth_of(request.boxes)), _boxes(request.predictions)
    strange_frames = _strangers(frames["frame_id"], truth["frame_id"], found["frame_id"])
    strange_classes = _strangers(pl.Series(request.classes, dtype=pl.String), truth["class_name"], found["class_name"])
    names = ([*frames["frame_id"], *strange_frames], [*request.classes, *strange_classes])
    groups = frames["drive_group"].unique().sort().to_list()
    return RawScene(
        frame_ids=tuple(frames["frame_id"].to_list()),
        classes=request.classes,
        groups=tuple(groups),
        frame_group=_codes(frames["drive_group"], groups),
        annotated=_annotated(frames, request.classes),
        truth=_raw_truth(truth, *names),
        found=RawBoxes(
            frame=_codes(found["frame_id"], names[0]),
            label=_codes(found["class_name"], names[1]),
            corners=_corners(found),
            score=found["score"].fill_null(np.nan).to_numpy().astype(np.float64),
            where=lambda row: f"box {found['box_id'][row]}",
        ),
        strange_frames=tuple(strange_frames),
        strange_classes=tuple(strange_classes),
    )


def raw_boxes(boxes: pa.Table, frames: Sequence[str], classes: Sequence[str]) -> RawBoxes:
    """Return the truth among `boxes` by the numbers of `frames` and `classes`, which are all."""
    return _raw_truth(_boxes(truth_of(boxes)), frames, classes)


def _boxes(table: pa.Table) -> pl.DataFrame:
    wanted = ["frame_id", "box_id", "class_name", *CORNERS, "score", "ignore", "attributes"]
    return pl.DataFrame(pl.from_arrow(table.select(wanted))).sort("frame_id", "box_id", maintain_order=True)


def _raw_truth(truth: pl.DataFrame, frames: Sequence[str], classes: Sequence[str]) -> RawBoxes:
    return RawBoxes(
        frame=_codes(truth["frame_id"], frames),
        label=_codes(truth["class_name"], classes),
        corners=_corners(truth),
        area_px=_areas(truth),
        ignore=truth["ignore"].fill_null(value=False).to_numpy().astype(bool),
        facts=box_facts(truth["attributes"]),
        where=lambda row: f"box {truth['box_id'][row]}",
    )


def _frames(table: pa.Table) -> pl.DataFrame:
    wanted = ["frame_id", "drive_group", "annotated_classes"]
    frames = pl.DataFrame(pl.from_arrow(table.select(wanted))).sort("frame_id")
    twice = frames.filter(pl.col("frame_id").is_duplicated())["frame_id"].unique().sort()
    if len(twice):
        raise InvalidInputError(f"The hold-out has frames twice: {sample(twice)} ({len(twice)} in all).")
    return frames


def _annotated(frames: pl.DataFrame, classes: tuple[str, ...]) -> Bools:
    looked = np.zeros((frames.height, len(classes)), bool)
    rows = frames.select("annotated_classes").with_row_index("frame").explode("annotated_classes")
    index = pl.DataFrame({"annotated_classes": list(classes), "label": range(len(classes))})
    known = rows.join(index.cast({"annotated_classes": pl.String}), on="annotated_classes", how="inner")
    looked[known["frame"].to_numpy(), known["label"].to_numpy()] = True
    return looked


def _strangers(known: pl.Series, *used: pl.Series) -> list[str]:
    names = pl.concat([series.unique() for series in used]).unique().sort()
    return names.filter(~names.is_in(known.implode())).to_list()


def _codes(names: pl.Series, known: Sequence[str]) -> Ints:
    """Return the place of each of `names` in `known`, which has them all."""
    index = pl.DataFrame({"name": pl.Series(known, dtype=pl.String), "code": pl.arange(len(known), eager=True)})
    found = names.alias("name").to_frame().join(index, on="name", how="left", maintain_order="left")
    return found["code"].to_numpy().astype(np.int64)


def _corners(boxes: pl.DataFrame) -> Floats:
    return np.ascontiguousarray(boxes.select(pl.col(CORNERS).fill_null(np.nan)).to_numpy(), np.float64)


def _areas(boxes: pl.DataFrame) -> Floats:
    areas: Floats = np.full(boxes.height, np.nan)
    stated = boxes["attributes"].str.contains(f'"{AREA_ATTRIBUTE}"', literal=True).fill_null(value=False).arg_true()
    for row in stated.to_list():
        value = json.loads(boxes["attributes"][row]).get(AREA_ATTRIBUTE)
        if isinstance(value, int | float) and np.isfinite(value) and value >= 0:
            areas[row] = value
    return areas
