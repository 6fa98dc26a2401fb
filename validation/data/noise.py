"""Labels that a sure champion contradicts: forgotten objects, other classes, boxes that sit badly."""

from typing import Final

import numpy as np
import polars as pl

from driveflow.flow.data_validation_section import DataValidationSection
from validation.data.boxes import box_suspects
from validation.data.pairs import overlapping
from validation.data.report import Check, judged
from validation.data.request import CORNERS, DataRequest, Prepared

_NOTHING: Final = 0.1  # no label overlaps so much: nobody drew the object
_SAME: Final = 0.6  # from here on a label of another class is the same object
_WELL: Final = 0.5  # under it a box of the right class sits badly
_KIND = {
    "forgotten": "nobody drew it",
    "other_class": "labeled as another class",
    "badly_placed": "the label sits badly",
}


def check_noise(request: DataRequest, data: Prepared) -> Check:
    """Return the share of the champion's sure detections that the labels contradict, as suspects and not as errors."""
    settings = request.settings
    if request.predictions is None or not request.predictions.num_rows:
        return Check("label_noise", "NOT JUDGED", "No prediction of a champion is known of these frames.")
    sure = _sure(request, data, settings)
    if not sure.height:
        return Check("label_noise", "NOT JUDGED", "The champion is sure of nothing in labeled frames.")
    rows = _contradicted(sure, _labels(request, sure))
    kinds = rows.group_by("_kind").len().sort("_kind")
    told = ", ".join(f"{count:,} {_KIND[kind]}" for kind, count in kinds.iter_rows())
    reason = f"Of {sure.height:,} detections with a score from {settings.noise_min_score}, {rows.height:,} are suspects"
    check = Check(
        "label_noise",
        "PASS",
        f"{reason}: {told}." if told else f"{reason}.",
        rows.height / sure.height,
        "share of sure detections",
        settings.noise_review,
        settings.noise_block,
        rows.height,
        sure.height,
        box_suspects(rows, settings.examples, _detail),
    )
    return judged(check, settings.min_n)


def _detail(row: dict[str, object]) -> str:
    return f"{_KIND[str(row['_kind'])]}: the champion sees {row['class_name']} with {row['score']:.2f}"


def _sure(request: DataRequest, data: Prepared, settings: DataValidationSection) -> pl.DataFrame:
    """Return the sure detections of classes that somebody looked for in their frame, the surest first."""
    assert request.predictions is not None
    rows = pl.DataFrame(
        pl.from_arrow(request.predictions.select(["frame_id", "box_id", "class_name", *CORNERS, "score"]))
    )
    rows = rows.filter(pl.col("class_name").is_not_null() & (pl.col("score") >= settings.noise_min_score))
    looked = data.frames.select("frame_id", "annotated_classes")
    rows = rows.join(looked, on="frame_id", maintain_order="left")
    listed = pl.col("annotated_classes").list.contains(pl.col("class_name"))
    ordered = rows.filter(listed).sort("score", "frame_id", "box_id", descending=[True, False, False])
    return ordered.drop("annotated_classes")


def _labels(request: DataRequest, sure: pl.DataFrame) -> pl.DataFrame:
    """Return labels and ignore regions of the frames of `sure`."""
    wanted = ["frame_id", "class_name", *CORNERS, "score", "ignore"]
    boxes = pl.DataFrame(pl.from_arrow(request.side.boxes.select(wanted))).filter(pl.col("score").is_null())
    return boxes.drop("score").join(sure.select("frame_id").unique(), on="frame_id", how="semi", maintain_order="left")


def _contradicted(sure: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the detections that no label bears out, each with the label that it overlaps most."""
    best = _best(sure, labels)
    any_iou = best["any"].to_numpy()
    own_iou = best["own"].to_numpy()
    region = best["region"].to_numpy()
    forgotten = (any_iou < _NOTHING) & ~region
    other = (any_iou >= _SAME) & (own_iou < _WELL)
    badly = (own_iou >= _NOTHING) & (own_iou < _WELL) & ~other
    kind = np.select([forgotten, other, badly], ["forgotten", "other_class", "badly_placed"], "")
    rows = pl.concat([sure, best.select(pl.selectors.starts_with("_other"))], how="horizontal")
    rows = rows.with_columns(_kind=pl.Series(kind, dtype=pl.String))
    return rows.filter(pl.col("_kind") != "")


def _best(sure: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return each detection's best overlap with any label and with one of its class, and whether a region has it."""
    boxes = pl.concat([sure.select("frame_id", *CORNERS), labels.select("frame_id", *CORNERS)])
    place = (boxes["frame_id"].rank("dense") - 1).to_numpy().astype(np.int64)
    pairs = overlapping(place, boxes.select(CORNERS).to_numpy().astype(np.float64), 0.0)
    crossing = (pairs.first < sure.height) & (pairs.second >= sure.height)
    met = pl.DataFrame({
        "row": pairs.first[crossing], "label": pairs.second[crossing] - sure.height, "iou": pairs.iou[crossing],
    })  # fmt: skip
    told = labels.with_row_index("label").with_columns(pl.col("label").cast(pl.Int64))
    names = sure.select(said="class_name").with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    met = met.join(told, on="label").join(names, on="row")
    region = pl.col("ignore").fill_null(value=False)
    own = pl.col("iou").filter(~region & (pl.col("class_name") == pl.col("said"))).max()
    of_row = met.sort("iou", "label", descending=[True, False]).group_by("row", maintain_order=True).agg(
        any=pl.col("iou").filter(~region).max(), own=own, region=region.any(),
        _other_name=pl.col("class_name").filter(~region).first(),
        **{f"_other_{name}": pl.col(name).filter(~region).first() for name in CORNERS},
    )  # fmt: skip
    every = names.join(of_row, on="row", how="left", maintain_order="left")
    return every.with_columns(pl.col("any", "own").fill_null(0.0), pl.col("region").fill_null(value=False))
