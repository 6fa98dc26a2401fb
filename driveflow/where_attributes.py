"""Attributes of frames and boxes as columns of one kind each."""

import json
import math
from collections.abc import Iterable
from typing import Literal, TypeAlias, cast

import polars as pl

from driveflow.canonical import Json, canonical_json

Kind: TypeAlias = Literal["number", "text", "bool"]
AttributeKind: TypeAlias = Literal["number", "text", "bool", "json"]
_TYPES: dict[AttributeKind, pl.DataType] = {
    "number": pl.Float64(),
    "text": pl.String(),
    "bool": pl.Boolean(),
    "json": pl.String(),
}


def attribute_column(key: str, kind: AttributeKind) -> str:
    """Return the name of the column that `with_attributes` makes."""
    return f"attributes.{key}:{kind}"


def with_attributes(table: pl.DataFrame, wanted: Iterable[tuple[str, AttributeKind]]) -> pl.DataFrame:
    """Return `table` with a column for each attribute and kind: its value where it is of that kind, else null."""
    wanted = sorted(wanted)
    if not wanted:
        return table
    texts = table["attributes"].unique()
    said = [_object(text) for text in texts]
    values = [
        pl.Series(attribute_column(key, kind), [_as(kind, found.get(key)) for found in said], dtype=_TYPES[kind])
        for key, kind in wanted
    ]
    known = pl.DataFrame([texts.alias("attributes"), *values])
    return table.join(known, on="attributes", how="left", nulls_equal=True, maintain_order="left")


def _object(text: str | None) -> dict[str, object]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _as(kind: AttributeKind, value: object) -> object:
    if value is None:
        return None
    if kind == "json":
        return canonical_json(cast("Json", value))
    if kind == "bool":
        return value if isinstance(value, bool) else None
    if kind == "text":
        return value if isinstance(value, str) else None
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: int | float) -> float:
    """Return `value` as a float; of a whole number that is too large for one the infinity on its side."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)
