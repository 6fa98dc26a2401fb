"""Give every box an id that survives export and return."""

import hashlib
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.table_digest import rows_of_runs

_ORDER = ("place", "turn", "own_id")
_KEY = ("frame_id", "class_name", "x1", "y1", "x2", "y2")


def with_box_ids(boxes: pl.DataFrame, speakers: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with a `box_id`: what the format calls it where that names one box of the frame, else a digest.

    The digest is over frame, class, corners to a thousandth of a pixel, and how many equal boxes of the contributor
    (`turn`) come before: the same labels have the same ids on every machine and at every import. The result is in order
    of the frames (`place`) and their contributors. `speakers` knows the frame of each `speaker`.
    """
    named = _names_one(boxes)
    if named.all():
        order = _in_order(boxes)
        return boxes.rename({"own_id": "box_id"}).drop("place", "line").select(pl.all().gather(order))
    boxes = boxes.with_columns(_named=named).sort("place", "turn", "line", "x1", "y1", "x2", "y2", maintain_order=True)
    named = boxes["_named"]
    unnamed = boxes.filter(~named).join(speakers.select("speaker", "frame_id"), on="speaker", maintain_order="left")
    ids = pl.Series(_digests(unnamed), dtype=pl.String)
    own = boxes["own_id"].scatter((~named).arg_true(), ids)
    return boxes.with_columns(box_id=own).drop("own_id", "_named")


def _in_order(boxes: pl.DataFrame) -> pl.Series:
    """Return the order of `boxes` by `_ORDER`; those of one contributor mostly stand together and are in order."""
    place, turn, own = (boxes[name] for name in _ORDER)
    begins = ((place != place.shift()) | (turn != turn.shift())).fill_null(value=True)
    if (begins | (own > own.shift())).all():
        starts = begins.arg_true().to_numpy()
        places, turns = place.to_numpy()[starts], turn.to_numpy()[starts]
        runs = np.lexsort((turns, places))
        if ((np.diff(places[runs]) != 0) | (np.diff(turns[runs]) != 0)).all():
            return pl.Series(rows_of_runs(starts[runs], np.diff(starts, append=boxes.height)[runs]))
    keys = pa.table({name: boxes[name].to_arrow(compat_level=pl.CompatLevel.oldest()) for name in _ORDER})
    return pl.Series(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in _ORDER]).to_numpy())


def _names_one(boxes: pl.DataFrame) -> pl.Series:
    """Tell which boxes have an id that no other box of their frame and contributor has."""
    own = boxes["own_id"]
    if (own != "").all() and own.n_unique() == boxes.height:
        return pl.Series([True], dtype=pl.Boolean).new_from_index(0, boxes.height)
    once = (pl.len().over("place", "turn", "own_id") == 1) & (pl.col("own_id") != "")
    return boxes.select(once.fill_null(value=False)).to_series()


def _digests(boxes: pl.DataFrame) -> list[str]:
    seen: Counter[tuple[int, str]] = Counter()
    ids: list[str] = []
    for turn, row in zip(boxes["turn"], boxes.select(_KEY).iter_rows(), strict=True):
        text = "|".join([row[0], row[1], *(f"{round(value, 3) + 0.0:.3f}" for value in row[2:])])
        ids.append(hashlib.sha256(f"{text}|{seen[turn, text]}".encode()).hexdigest()[:16])
        seen[turn, text] += 1
    return ids
