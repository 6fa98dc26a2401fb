"""Find the frames in which all contributors say exactly the same, which is what most frames are that come twice."""

import polars as pl

_SAID = ("class_name", "x1", "y1", "x2", "y2", "ignore", "attributes", "annotator", "guideline")


def shared_frames(boxes: pl.DataFrame, annotated: pl.DataFrame) -> pl.DataFrame:
    """Return frame_id and turn of everybody who says something about a frame that others speak of too."""
    spoken = pl.concat([table.select("frame_id", "turn", "by") for table in (boxes, annotated)]).unique()
    return spoken.filter(pl.len().over("frame_id") > 1)


def agreed_frames(shared: pl.DataFrame, boxes: pl.DataFrame, annotated: pl.DataFrame) -> pl.DataFrame:
    """Return the frame_id of every shared frame of which all say the same: equal boxes, the same classes looked for."""
    keys = ["frame_id", "turn"]
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in _SAID]
    drawn = boxes.join(shared.select(keys), on=keys, how="semi").select(*keys, said=pl.concat_str(parts, separator="|"))
    looked = annotated.join(shared.select(keys), on=keys, how="semi").select(*keys, said="class_name")
    told = pl.concat([drawn, looked]).group_by(keys).agg(pl.col("said").sort().str.join("\n"))
    return told.group_by("frame_id").agg(pl.col("said").n_unique()).filter(pl.col("said") == 1).select("frame_id")
