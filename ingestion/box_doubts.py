"""Doubt that boxes of COCO are pixels of corner and size, where their pictures say otherwise."""

import numpy as np
import polars as pl

from driveflow.formats.box_shapes import MEANT, looked_at, meant_shape
from driveflow.snapshots import SnapshotTables
from ingestion.disputes import CORNERS


def box_doubts(tables: SnapshotTables, label_format: str) -> list[str]:
    """Return a sentence where boxes that are read as x, y, width and height seem to be written otherwise."""
    if "coco" not in label_format.split():
        return []
    some = tables.boxes.select(["frame_id", *CORNERS]).take(looked_at(tables.boxes.num_rows))
    sizes = pl.DataFrame(pl.from_arrow(tables.frames.select(["frame_id", "width", "height"])))
    rows = pl.DataFrame(pl.from_arrow(some)).join(sizes, on="frame_id")
    corners = rows.select(CORNERS).to_numpy()
    box = np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])
    meant = meant_shape(box, rows.select("width", "height").to_numpy().astype(np.float64))
    if meant is None:
        return []
    if meant.shape == "shares":
        return [
            f"No number of {len(box):,} boxes looked at is over 1: COCO's are pixels; multiply shares by "
            "the sides of their pictures."
        ]
    return [
        f"{meant.away:,} of {len(box):,} boxes looked at leave their pictures as COCO's x, y, width and height, and "
        f"{meant.wrong:,} as {MEANT[meant.shape][1]}: were these written? They are imported as COCO has them."
    ]
