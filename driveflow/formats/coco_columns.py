"""The entries of a COCO file as columns: a file may have a million annotations, so nothing is done for each of them."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from driveflow.canonical import Json, canonical_json
from driveflow.formats.coco_records import CocoAnnotation, Key, key_text, plain_json

_MISSING: Final = [np.nan] * 4


def key_column(keys: Sequence[Key]) -> pl.Series:
    """Return ids as text, as `key_text` spells them; whole numbers, which nearly all are, without a look at each.

    >>> key_column([7, 7.0, "7", None]).to_list(), key_column([1, 2]).to_list()
    (['7', '7', '7', ''], ['1', '2'])
    """
    try:
        return pl.Series(pa.array(keys, pa.int64())).cast(pl.String).fill_null("")
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pl.Series([key_text(key) for key in keys], dtype=pl.String)


def annotation_columns(annotations: Sequence[CocoAnnotation]) -> pl.DataFrame:
    """Return one row an annotation, in order.

    Columns are row, image, category, own_id, x1, y1, x2, y2, usable, ignore, attributes and score. A box is usable
    that has an area and finite corners; `own_id` is empty where it is not unique: ours (`box_id`) in its image, COCO's
    in the file.
    """
    image = key_column([annotation.image_id for annotation in annotations])
    corners = _corners([annotation.bbox for annotation in annotations])
    x1, y1, x2, y2 = corners.T
    usable = np.isfinite(corners).all(axis=1) & (x2 > x1) & (y2 > y1)
    flags = [bool(annotation.iscrowd or annotation.ignore) for annotation in annotations]
    return pl.DataFrame(
        {
            "image": image,
            "category": key_column([annotation.category_id for annotation in annotations]),
            "own_id": _own_ids(annotations, image),
            "x1": x1,
            "y1": y1,
            "x2": x2,
            "y2": y2,
            "usable": usable,
            "ignore": pl.Series(flags, dtype=pl.Boolean),
            "attributes": pl.Series([_attributes(annotation) for annotation in annotations], dtype=pl.String),
            "score": pl.Series([_score(annotation.score) for annotation in annotations], dtype=pl.Float64),
        }
    ).with_row_index("row")


def _corners(boxes: Sequence[list[float] | None]) -> npt.NDArray[np.float64]:
    whole: Iterable[list[float]] = [box if box is not None and len(box) == 4 else _MISSING for box in boxes]
    corners = np.fromiter(chain.from_iterable(whole), np.float64, 4 * len(boxes)).reshape(-1, 4)
    corners[:, 2:] += corners[:, :2]
    return corners


def _own_ids(annotations: Sequence[CocoAnnotation], image: pl.Series) -> pl.Series:
    ours = pl.Series([annotation.box_id or "" for annotation in annotations], dtype=pl.String)
    theirs = key_column([annotation.id for annotation in annotations])
    if not (ours != "").any():
        return pl.select(pl.when(theirs.is_duplicated()).then(pl.lit("")).otherwise(theirs)).to_series()
    ids = pl.DataFrame({"where": image, "id": ours, "other": theirs}).select(
        pl.when(pl.col("id") == "").then(pl.lit("")).otherwise(pl.col("where")).alias("where"),
        pl.when(pl.col("id") == "").then(pl.col("other")).otherwise(pl.col("id")).alias("id"),
    )
    return pl.select(pl.when(ids.is_duplicated()).then(pl.lit("")).otherwise(ids["id"])).to_series()


def _attributes(annotation: CocoAnnotation) -> str:
    if annotation.track_id is None and not annotation.attributes and not annotation.iscrowd:
        return "{}"
    found: dict[str, Json] = {}
    value = plain_json(annotation.attributes)
    if isinstance(value, dict):
        found.update(value)
    if annotation.track_id is not None:
        found["track_id"] = plain_json(annotation.track_id)
    if annotation.iscrowd and not annotation.ignore:
        found["iscrowd"] = True
    return canonical_json(found) if found else "{}"


def _score(value: object) -> float | None:
    return None if value is None else float(value) if isinstance(value, int | float) else None
