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
    counts = Counter(zip(boxes["frame_id"], boxes["turn"], boxes["own_id"], strict=True))
    seen: Counter[tuple[int, str]] = Counter()
    ids: list[str] = []
    for turn, own_id, row in zip(boxes["turn"], boxes["own_id"], boxes.select(_KEY).iter_rows(), strict=True):
        if own_id and counts[row[0], turn, own_id] == 1:
            ids.append(own_id)
            continue
        text = "|".join([row[0], row[1], *(f"{round(value, 3) + 0.0:.3f}" for value in row[2:])])
        ids.append(hashlib.sha256(f"{text}|{seen[turn, text]}".encode()).hexdigest()[:16])
        seen[turn, text] += 1
    return boxes.with_columns(box_id=pl.Series(ids, dtype=pl.String)).drop("own_id")
