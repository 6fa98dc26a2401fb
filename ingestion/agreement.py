"""Find the frames in which all contributors say exactly the same, which is what most frames are that come twice."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from ingestion.disputes import Bools

_SAID = ("class_name", "x1", "y1", "x2", "y2", "ignore", "attributes", "annotator", "guideline")


@dataclass(frozen=True, slots=True)
class Shared:
    """Who says something about frames that others speak of too (frame_id, turn), and which boxes are of such frames."""

    speakers: pl.DataFrame
    box_mask: Bools


def shared_frames(boxes: pl.DataFrame, looked: pl.DataFrame) -> Shared:
    """Return what is said about frames of which more than one speaks; boxes of one speaker and frame stand together."""
    frame, turn = boxes["frame_id"], boxes["turn"]
    begins = ((frame != frame.shift()) | (turn != turn.shift())).fill_null(value=True)
    runs = boxes.select("frame_id", "turn").filter(begins)
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs, spoken]).unique()
    speakers = speakers.filter(pl.col("frame_id").is_duplicated())
    mine = runs["frame_id"].is_in(speakers["frame_id"].implode()).to_numpy()
    starts = begins.arg_true().to_numpy()
    return Shared(speakers, np.repeat(mine, np.diff(starts, append=boxes.height)))


def agreed_frames(boxes: pl.DataFrame, looked: pl.DataFrame) -> pl.DataFrame:
    """Return the frame_id of every shared frame of which all say the same: equal boxes, the same classes looked for."""
    keys = ["frame_id", "turn"]
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in _SAID]
    drawn = boxes.select(*keys, said=pl.concat_str(parts, separator="|"))
    told = pl.concat([drawn, looked.select(*keys, said="class_name")]).group_by(keys)
    return (
        told.agg(pl.col("said").sort().str.join("\n"))
        .group_by("frame_id")
        .agg(pl.col("said").n_unique())
        .filter(pl.col("said") == 1)
        .select("frame_id")
    )
