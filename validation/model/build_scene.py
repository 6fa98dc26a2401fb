"""Turn tables of truth and predictions into the arrays of a scene, and say what could not be counted and why."""

import json
from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.errors import InvalidInputError
from driveflow.truth import truth_of
from validation.model.lint import CORNERS, correction, refuse_broken_boxes, refuse_broken_scores, sample, split
from validation.model.scene import (
    COCO_DETECTION_LIMIT,
    Bools,
    Correction,
    Detected,
    EvaluationRequest,
    Floats,
    Scene,
    Truth,
)

AREA_ATTRIBUTE = "area_px"  # of the object's mask, where a data set states it; COCO sizes objects by it


def build_scene(request: EvaluationRequest) -> Scene:
    """Return the arrays of `request`.

    Raises:
        InvalidInputError: a number that is none (NaN, infinite, a score that is missing), a box turned inside out, or
            a frame that is there twice.
    """
    frames = _frames(request.frames)
    annotated = _annotated(frames, request.classes)
    corrections = [*_unlabeled(frames, annotated)]
    truth, found = _truth(request, frames, annotated)
    corrections += found
    predictions, found, under = _predictions(request, frames, annotated)
    corrections += found
    detected = _sorted_detections(predictions)
    limit, found = _limit(detected, request.max_detections, frames)
    corrections += found
    groups = frames["drive_group"].unique().sort().to_list()
    codes = (
        frames["drive_group"]
        .to_frame()
        .join(_index(groups, "drive_group", "code"), on="drive_group", how="left", maintain_order="left")
    )
    return Scene(
        frame_ids=tuple(frames["frame_id"].to_list()),
        classes=request.classes,
        groups=tuple(groups),
        frame_group=codes["code"].to_numpy().astype(np.int64),
        annotated=annotated,
        truth=truth,
        detected=_within(detected, limit),
        limit=limit,
        under_min_score=under,
        corrections=tuple(corrections),
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
    known = rows.join(_index(classes, "annotated_classes", "label"), on="annotated_classes", how="inner")
    looked[known["frame"].to_numpy(), known["label"].to_numpy()] = True
    return looked


def _unlabeled(frames: pl.DataFrame, annotated: Bools) -> list[Correction]:
    bare = frames["frame_id"].filter(pl.Series(~annotated.any(axis=1), dtype=pl.Boolean))
    done = "not counted: nobody labelled these frames"
    return [Correction("unlabeled_frame", len(bare), sample(bare), done)] if len(bare) else []


def _truth(request: EvaluationRequest, frames: pl.DataFrame, annotated: Bools) -> tuple[Truth, list[Correction]]:
    wanted = ["frame_id", "box_id", "class_name", *CORNERS, "ignore", "attributes"]
    boxes = pl.DataFrame(pl.from_arrow(truth_of(request.boxes).select(wanted)))
    refuse_broken_boxes(boxes, "truth box")
    boxes, unknown = split(boxes, pl.col("frame_id").is_in(frames["frame_id"].implode()))
    boxes = _spread_regions(boxes, request.classes)
    boxes = _with_codes(boxes, frames, request.classes)
    boxes, foreign = split(boxes, pl.col("label").is_not_null())
    boxes, unasked = split(boxes, _looked_for(boxes, annotated))
    flat = boxes.filter((pl.col("x2") == pl.col("x1")) | (pl.col("y2") == pl.col("y1")))
    boxes = boxes.with_columns(
        ignore=pl.col("ignore") | (pl.col("x2") == pl.col("x1")) | (pl.col("y2") == pl.col("y1"))
    )
    boxes = boxes.sort("label", "frame", "ignore", "box_id", *CORNERS)
    return Truth(
        frame=boxes["frame"].to_numpy().astype(np.int64),
        label=boxes["label"].to_numpy().astype(np.int64),
        corners=boxes.select(CORNERS).to_numpy().astype(np.float64),
        area_px=_areas(boxes),
        ignore=boxes["ignore"].to_numpy().astype(bool),
    ), [
        *correction("truth_of_unknown_frame", unknown, "not counted: the frame is not in the hold-out"),
        *correction("truth_of_unknown_class", foreign, "not counted: the class is not in the taxonomy"),
        *correction(
            "truth_of_unannotated_class", unasked, "not counted: the frame does not list the class as annotated"
        ),
        *correction("truth_without_area", flat, "counted as an ignore region: nothing can match a box without area"),
    ]


def _predictions(
    request: EvaluationRequest, frames: pl.DataFrame, annotated: Bools
) -> tuple[pl.DataFrame, list[Correction], int]:
    wanted = ["frame_id", "box_id", "class_name", *CORNERS, "score"]
    rows = pl.DataFrame(pl.from_arrow(request.predictions.select(wanted)))
    refuse_broken_boxes(rows, "prediction")
    refuse_broken_scores(rows)
    rows, unknown = split(rows, pl.col("frame_id").is_in(frames["frame_id"].implode()))
    rows, under = split(rows, pl.col("score") >= request.min_score)
    rows = _with_codes(rows, frames, request.classes)
    rows, foreign = split(rows, pl.col("label").is_not_null())
    rows, unasked = split(rows, _looked_for(rows, annotated))
    flat = rows.filter((pl.col("x2") == pl.col("x1")) | (pl.col("y2") == pl.col("y1")))
    found = [
        *correction("detection_in_unknown_frame", unknown, "not counted: the frame is not in the hold-out"),
        *correction("detection_of_unknown_class", foreign, "not counted: the class is not in the taxonomy"),
        *correction("detection_of_unannotated_class", unasked, "not counted: nobody looked for the class in the frame"),
        *correction("detection_without_area", flat, "counted as false: nothing can match a box without area"),
    ]
    return rows, found, under.height


def _spread_regions(boxes: pl.DataFrame, classes: tuple[str, ...]) -> pl.DataFrame:
    """Give a region of no class of the taxonomy to every class: nobody is to be blamed for what is found there."""
    own, general = split(boxes, ~pl.col("ignore") | pl.col("class_name").is_in(list(classes)))
    if not general.height:
        return own
    every = general.drop("class_name").join(pl.DataFrame({"class_name": list(classes)}), how="cross")
    return pl.concat([own, every.select(own.columns)])


def _areas(boxes: pl.DataFrame) -> Floats:
    corners = boxes.select(CORNERS).to_numpy().astype(np.float64)
    areas: Floats = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    stated = boxes["attributes"].str.contains(f'"{AREA_ATTRIBUTE}"', literal=True).fill_null(value=False).arg_true()
    for row in stated.to_list():
        value = json.loads(boxes["attributes"][row]).get(AREA_ATTRIBUTE)
        if isinstance(value, int | float) and np.isfinite(value) and value >= 0:
            areas[row] = value
    return areas


def _sorted_detections(rows: pl.DataFrame) -> Detected:
    order = ["label", "frame", "score", "box_id", *CORNERS]
    rows = rows.sort(order, descending=[name == "score" for name in order])
    rows = rows.with_columns(rank=pl.int_range(pl.len()).over("label", "frame"))
    return Detected(
        frame=rows["frame"].to_numpy().astype(np.int64),
        label=rows["label"].to_numpy().astype(np.int64),
        corners=rows.select(CORNERS).to_numpy().astype(np.float64),
        score=rows["score"].to_numpy().astype(np.float64),
        rank=rows["rank"].to_numpy().astype(np.int64),
    )


def _limit(detected: Detected, wanted: int, frames: pl.DataFrame) -> tuple[int, list[Correction]]:
    most = int(detected.rank.max(initial=-1)) + 1
    limit = wanted or max(COCO_DETECTION_LIMIT, most)
    over = np.unique(detected.frame[detected.rank >= COCO_DETECTION_LIMIT])
    if not over.size:
        return limit, []
    examples = sample(frames["frame_id"].gather(over))
    done = f"up to {limit} detections of a class in a frame were counted; COCO stops at {COCO_DETECTION_LIMIT}"
    return limit, [Correction("more_detections_than_coco_counts", len(over), examples, done)]


def _within(detected: Detected, limit: int) -> Detected:
    kept = detected.rank < limit
    return Detected(
        detected.frame[kept], detected.label[kept], detected.corners[kept], detected.score[kept], detected.rank[kept]
    )


def _with_codes(rows: pl.DataFrame, frames: pl.DataFrame, classes: tuple[str, ...]) -> pl.DataFrame:
    by_frame = frames.select("frame_id").with_row_index("frame").with_columns(pl.col("frame").cast(pl.Int64))
    with_frames = rows.join(by_frame, on="frame_id", how="left")
    return with_frames.join(_index(classes, "class_name", "label"), on="class_name", how="left")


def _index(names: Sequence[str], column: str, code: str) -> pl.DataFrame:
    return pl.DataFrame(
        {column: list(names), code: list(range(len(names)))}, schema={column: pl.String, code: pl.Int64}
    )


def _looked_for(rows: pl.DataFrame, annotated: Bools) -> pl.Series:
    return pl.Series(annotated[rows["frame"].to_numpy(), rows["label"].to_numpy()], dtype=pl.Boolean)
