"""Find the frames in which all contributors say exactly the same, which is what most frames are that come twice."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from ingestion.disputes import Bools

_TEXTS = ("class_name", "attributes", "annotator", "guideline")
_EXACT = ("x1", "y1", "x2", "y2", "ignore")


@dataclass(frozen=True, slots=True)
class Shared:
    """Who says something about frames that others speak of too (frame_id, turn), and which boxes are of such frames."""

    speakers: pl.DataFrame
    box_mask: Bools


def shared_frames(boxes: pl.DataFrame, looked: pl.DataFrame) -> Shared:
    """Return what is said about frames of which more than one speaks; boxes of one speaker and frame stand together."""
    if not (
        (boxes["turn"] != 0).any() or (looked["turn"] != 0).any()
    ):  # each is the first of its frame, and the only one
        return Shared(looked.clear().select("frame_id", "turn"), np.zeros(boxes.height, np.bool_))
    frame, turn = boxes["frame_id"], boxes["turn"]
    begins = ((frame != frame.shift()) | (turn != turn.shift())).fill_null(value=True)
    runs = boxes.select("frame_id", "turn").filter(begins)
    spoken = looked.filter(pl.col("annotated_classes").list.len() > 0).select("frame_id", "turn")
    speakers = pl.concat([runs, spoken]).unique()
    speakers = speakers.filter(pl.col("frame_id").is_duplicated())
    mine = runs["frame_id"].is_in(speakers["frame_id"].implode()).to_numpy()
    starts = begins.arg_true().to_numpy()
    return Shared(speakers, np.repeat(mine, np.diff(starts, append=boxes.height)))


def agreed_frames(boxes: pl.DataFrame, looked: pl.DataFrame) -> Bools:
    """Tell of which frames, by their number, all say the same: equal boxes, the same classes looked for.

    What somebody says of a frame is known by its sums of two hashes of 64 bits a row, whatever the order of the rows.
    """
    said = boxes.select(pl.col(_TEXTS).fill_null(""), *_EXACT)
    told = pl.concat([_hashed(boxes, said, (1, 2)), _hashed(looked, looked.select("class_name"), (3, 4))])
    sums = told.group_by("frame", "turn").agg(pl.len().alias("rows"), pl.col("one").sum(), pl.col("other").sum())
    same = sums.group_by("frame").agg((pl.col(name).min() == pl.col(name).max()) for name in ("rows", "one", "other"))
    found = np.zeros(int(same["frame"].max() or 0) + 1, np.bool_)  # type: ignore[arg-type]
    found[same["frame"].to_numpy()] = same.select(pl.all_horizontal("rows", "one", "other")).to_series().to_numpy()
    return found


def _hashed(rows: pl.DataFrame, said: pl.DataFrame, seeds: tuple[int, int]) -> pl.DataFrame:
    one, other = (said.hash_rows(seed) for seed in seeds)
    return rows.select("frame", "turn").with_columns(one=one, other=other)
