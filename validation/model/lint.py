"""Refuse numbers that are none; count and name what is not counted as given."""

import polars as pl

from driveflow.errors import InvalidInputError
from validation.model.scene import Correction

CORNERS = ("x1", "y1", "x2", "y2")
_EXAMPLES = 5


def split(rows: pl.DataFrame, keep: pl.Expr | pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that are kept and the rows that are not."""
    mask = rows.select(keep=keep).get_column("keep") if isinstance(keep, pl.Expr) else keep
    return rows.filter(mask), rows.filter(~mask)


def correction(kind: str, rows: pl.DataFrame, done: str) -> list[Correction]:
    """Return what there is to say about `rows`, which were treated as `done` says; nothing where there are none."""
    if not rows.height:
        return []
    pairs = rows.select(text=pl.format("{} in frame {}", "class_name", "frame_id"))["text"]
    return [Correction(kind, rows.height, sample(pairs.unique().sort()), done)]


def refuse_broken_boxes(rows: pl.DataFrame, what: str) -> None:
    """Raise InvalidInputError for a box whose corners are no finite numbers, or that ends before it begins."""
    numbers = rows.filter(~pl.all_horizontal(pl.col(name).is_finite().fill_null(value=False) for name in CORNERS))
    _refuse(numbers, what, "has a corner that is no number")
    turned = rows.filter((pl.col("x2") < pl.col("x1")) | (pl.col("y2") < pl.col("y1")))
    _refuse(turned, what, "ends before it begins (x2 < x1 or y2 < y1)")


def refuse_broken_scores(rows: pl.DataFrame) -> None:
    """Raise InvalidInputError for a score that is missing or no finite number: evaluators count it as any number."""
    _refuse(
        rows.filter(~pl.col("score").is_finite().fill_null(value=False)), "prediction", "has a score that is no number"
    )


def _refuse(rows: pl.DataFrame, what: str, complaint: str) -> None:
    if rows.height:
        first = rows.sort("frame_id").row(0, named=True)
        values = {name: first[name] for name in (*CORNERS, "score") if name in first}
        where = f"class {first['class_name']!r} in frame {first['frame_id']}, {values}"
        raise InvalidInputError(f"A {what} {complaint}: {where} ({rows.height} such in all).")


def sample(values: pl.Series) -> tuple[str, ...]:
    """Return the first few values as text."""
    return tuple(str(value) for value in values.head(_EXAMPLES).to_list())
