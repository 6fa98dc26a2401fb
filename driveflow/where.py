"""A small safe language to say which frames or boxes are meant: a condition in SQL's words, and nothing else of SQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from driveflow.where_attributes import AttributeKind, Kind, with_attributes
from driveflow.where_expressions import Builder
from driveflow.where_parse import parse_condition

Mask: TypeAlias = npt.NDArray[np.bool_]
Table: TypeAlias = pa.Table | pl.DataFrame
Columns: TypeAlias = Mapping[str, Kind]

_SOURCE_COLUMNS: dict[str, Kind] = {
    "batch": "text",
    "path": "text",
    "drive": "text",
    "camera": "text",
    "captured_ns": "number",
    "clock": "text",
    "lat": "number",
    "lon": "number",
    "speed_mps": "number",
    "heading_deg": "number",
    "source_split": "text",
}
FRAME_COLUMNS: Columns = {
    "frame_id": "text",
    "width": "number",
    "height": "number",
    "media_type": "text",
    "byte_count": "number",
    "split": "text",
    "drive_group": "text",
    **_SOURCE_COLUMNS,
}
"""What a condition on frames may name, beside `attributes.KEY`; those of sources hold where any source has it so."""

BOX_COLUMNS: Columns = {
    "frame_id": "text",
    "box_id": "text",
    "class_name": "text",
    "x1": "number",
    "y1": "number",
    "x2": "number",
    "y2": "number",
    "width_px": "number",
    "height_px": "number",
    "area_px": "number",
    "score": "number",
    "origin": "text",
    "annotator": "text",
    "guideline": "text",
    "ignore": "bool",
}
"""What a condition on boxes may name, beside `attributes.KEY`."""

_SIDES = {
    "width_px": pl.col("x2") - pl.col("x1"),
    "height_px": pl.col("y2") - pl.col("y1"),
    "area_px": (pl.col("x2") - pl.col("x1")) * (pl.col("y2") - pl.col("y1")),
}


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """A checked condition, and the columns and attributes (each as a kind) that it looks at."""

    text: str
    expression: pl.Expr
    names: frozenset[str]
    attributes: frozenset[tuple[str, AttributeKind]]

    def mask(self, rows: Table, sources: Table | None = None) -> Mask:
        """Return for each of `rows` (frames or boxes) whether the condition holds; unknown is no.

        Of frames, `sources` tells where they were found: the condition holds for a frame where it does for any source.
        """
        table = _polars(rows)
        of_sources = sorted(self.names & _SOURCE_COLUMNS.keys() - set(table.columns))
        if not of_sources:
            return self._holds(table)
        if sources is None:
            missing = ", ".join(of_sources)
            raise ValueError(f"The condition looks at sources ({missing}); none were given.")
        joined = table.with_row_index("_row").join(_polars(sources).select("frame_id", *of_sources), on="frame_id")
        found = np.zeros(table.height, np.bool_)
        found[joined["_row"].to_numpy()[self._holds(joined)]] = True
        return found

    def _holds(self, table: pl.DataFrame) -> Mask:
        derived = {name: side for name, side in _SIDES.items() if name in self.names}
        table = with_attributes(table.with_columns(**derived), self.attributes)
        found = table.select(self.expression.fill_null(value=False).alias("_holds"))["_holds"]
        mask: Mask = found.to_numpy() if len(found) == table.height else np.full(table.height, bool(found[0]))
        return mask


def compile_where(text: str, columns: Columns) -> Where:
    """Return the condition that `text` spells over `columns`, either `FRAME_COLUMNS` or `BOX_COLUMNS`.

    Comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, ILIKE, IS NULL, + - * /, numbers, texts in single quotes, true, false,
    and lower, abs, coalesce, length. `attributes.weather` is a number, a text or a yes or no, as it is compared; where
    it is of another kind or not there, it is null.

    Raises:
        UsageError: the text is anything else; the message names the position.
    """
    builder = Builder(text, columns)
    expression = builder.condition(parse_condition(text))
    return Where(text, expression, frozenset(builder.names), frozenset(builder.attributes))


def _polars(table: Table) -> pl.DataFrame:
    frame = table if isinstance(table, pl.DataFrame) else pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
