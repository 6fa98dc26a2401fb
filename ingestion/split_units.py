"""Say what hangs together for a split: frames of one drive, and where asked for of one place, one day or both."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from driveflow.clocks import utc_ns
from driveflow.flow.sections import SplitSection
from driveflow.snapshots import SnapshotTables
from ingestion.split_board import TIE_MARK, Sighting

FRAMES: Final = ""  # counts the frames themselves beside the boxes of each class
_METRES_PER_DEGREE: Final = 111_320.0  # of latitude
_SCHEMA: Final = {"frame_id": pl.String, "drive": pl.String, "source_split": pl.String, "tie": pl.String}


def sightings(tables: SnapshotTables, splits: SplitSection) -> list[Sighting]:
    """Return every source of `tables` as what the split looks at; a source of unknown place or day is tied to none."""
    sources = pl.DataFrame(pl.from_arrow(tables.sources))
    if splits.by == "drive_group":
        tied = sources.with_columns(tie=pl.lit(None, pl.String))
    else:
        places = _places(sources, tables, splits) if splits.by != "day" else pl.Series([], dtype=pl.String)
        days = _days(sources) if splits.by != "place" else pl.Series([], dtype=pl.String)
        parts = [part for part in (places, days) if len(part) == sources.height]
        tied = sources.with_columns(tie=pl.select(pl.concat_str(pl.lit(TIE_MARK), *parts, separator="|")).to_series())
    rows = tied.select(list(_SCHEMA)).iter_rows()
    return [Sighting(frame, drive, split, (tie,) if tie else ()) for frame, drive, split, tie in rows]


def contents(tables: SnapshotTables) -> dict[str, dict[str, int]]:
    """Return what every frame holds: itself (under FRAMES), and its boxes by class; ignore regions are nothing."""
    found: dict[str, dict[str, int]] = {frame_id: {FRAMES: 1} for frame_id in tables.frames["frame_id"].to_pylist()}
    for frame_id, name, count in _boxes(tables):
        found[frame_id][name] = count
    return found


def _boxes(tables: SnapshotTables) -> Iterator[tuple[str, str, int]]:
    boxes = pl.DataFrame(pl.from_arrow(tables.boxes.select(["frame_id", "class_name", "ignore", "score"])))
    true = boxes.filter(pl.col("ignore").not_() & pl.col("score").is_null())
    yield from true.group_by("frame_id", "class_name").len().iter_rows()


def _places(sources: pl.DataFrame, tables: SnapshotTables, splits: SplitSection) -> pl.Series:
    """Return the name of each source's place, null where it is not known."""
    if splits.place_attribute:
        ids, texts = tables.frames["frame_id"].to_pylist(), tables.frames["attributes"].to_pylist()
        named = [_attribute(json.loads(text), splits.place_attribute) for text in texts]
        table = pl.DataFrame({"frame_id": ids, "place": named}, schema={"frame_id": pl.String, "place": pl.String})
        return sources.select("frame_id").join(table, on="frame_id", how="left", maintain_order="left")["place"]
    return sources.select(cell(splits.place_cell_m)).to_series()


def cell(size_m: float) -> pl.Expr:
    """Return the name of the cell of about `size_m` metres that lat and lon lie in, null where one is missing."""
    row = (pl.col("lat") * (_METRES_PER_DEGREE / size_m)).floor()
    # A degree of longitude is as long as the middle of the row says, so that the cells of a row have one width.
    width = ((row + 0.5) * (size_m / _METRES_PER_DEGREE)).radians().cos().clip(1e-6)
    column = (pl.col("lon") * width * (_METRES_PER_DEGREE / size_m)).floor()
    return pl.concat_str(row.cast(pl.Int64), column.cast(pl.Int64), separator=",")


def _days(sources: pl.DataFrame) -> pl.Series:
    return utc_ns(sources).cast(pl.Datetime("ns")).dt.date().cast(pl.String)


def _attribute(attributes: Mapping[str, object], name: str) -> str | None:
    value = attributes.get(name)
    return None if value is None else str(value)
