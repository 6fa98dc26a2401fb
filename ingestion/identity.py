"""Give every box an id that survives export and return."""

import hashlib
from collections import Counter

import polars as pl

_KEY = ("frame_id", "class_name", "x1", "y1", "x2", "y2")


def with_box_ids(boxes: pl.DataFrame) -> pl.DataFrame:
    """Return `boxes` with a `box_id`: what the format calls it where that names one box of the frame, else a digest.

    The digest is over frame, class, corners to a thousandth of a pixel, and how many equal boxes of the contributor
    (`turn`) come before: the same labels have the same ids on every machine and at every import.
    """
    named = _names_one(boxes)
    own = boxes.with_columns(box_id="own_id").drop("own_id")
    if named.all():
        return own
    ids = pl.Series(_digests(boxes.filter(~named)), dtype=pl.String)
    return own.with_columns(box_id=own["box_id"].scatter((~named).arg_true(), ids))


def _names_one(boxes: pl.DataFrame) -> pl.Series:
    """Tell which boxes have an id that no other box of their frame and contributor has."""
    own = boxes["own_id"]
    if (own != "").all() and own.n_unique() == boxes.height:
        return pl.Series([True], dtype=pl.Boolean).new_from_index(0, boxes.height)
    once = (pl.len().over("frame_id", "turn", "own_id") == 1) & (pl.col("own_id") != "")
    return boxes.select(once.fill_null(value=False)).to_series()


def _digests(boxes: pl.DataFrame) -> list[str]:
    seen: Counter[tuple[int, str]] = Counter()
    ids: list[str] = []
    for turn, row in zip(boxes["turn"], boxes.select(_KEY).iter_rows(), strict=True):
        text = "|".join([row[0], row[1], *(f"{round(value, 3) + 0.0:.3f}" for value in row[2:])])
        ids.append(hashlib.sha256(f"{text}|{seen[turn, text]}".encode()).hexdigest()[:16])
        seen[turn, text] += 1
    return ids
