"""Truth that is a snapshot, predictions that are a table, and the tables that slices of any truth look at."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow import tables as columns
from driveflow.errors import InvalidInputError
from driveflow.snapshots import SnapshotTables
from validation.inputs.given import GIVEN_CLASSES, GIVEN_FRAMES, Given
from validation.model.build_scene import raw_boxes
from validation.model.raw import RawBoxes, RawScene

_WANTED = ("frame_id", "class_name", "x1", "y1", "x2", "y2", "score")


def given_snapshot(source: str, tables: SnapshotTables) -> Given:
    """Return a snapshot as truth: frames are known by their ids, and by the paths under which they were found."""
    frames = pl.DataFrame(pl.from_arrow(tables.frames))
    sources = pl.DataFrame(pl.from_arrow(tables.sources))
    paths = sources.group_by("frame_id").agg(
        name=pl.col("path").str.replace(r"^.*!", "").unique().sort().str.join("\n"), camera=pl.col("camera").first()
    )
    listed = frames.join(paths, on="frame_id", how="left", maintain_order="left").select(
        key="frame_id",
        name=pl.col("name").fill_null(""),
        width=pl.col("width").cast(pl.Float64),
        height=pl.col("height").cast(pl.Float64),
        drive="drive_group",
        camera=pl.col("camera").fill_null(""),
        attributes="attributes",
    )
    place = {name: number for number, name in enumerate(tables.classes)}
    looked = np.zeros((len(frames), len(tables.classes)), bool)
    for row, names in enumerate(frames["annotated_classes"].to_list()):
        looked[row, [place[name] for name in names]] = True
    boxes = raw_boxes(tables.boxes, frames["frame_id"].to_list(), tables.classes)
    return Given(
        source=source,
        frames=listed.cast(GIVEN_FRAMES),
        classes=pl.DataFrame({"key": [""] * len(place), "name": list(place)}, schema=GIVEN_CLASSES),
        boxes=boxes,
        known_frames=len(frames),
        known_classes=len(place),
        looked=looked,
        sources=tables.sources,
    )


def read_table(path: Path) -> Given:
    """Return the predictions in a Parquet file with driveflow's columns of boxes.

    Raises:
        InvalidInputError: it is no such file.
    """
    try:
        given = pl.read_parquet(path, columns=list(_WANTED))
        rows = given.select(pl.col(_WANTED[:2]).cast(pl.String), pl.col(_WANTED[2:]).cast(pl.Float64))
    except (pl.exceptions.PolarsError, OSError) as error:
        what = str(error).partition("\n")[0]
        raise InvalidInputError(f"{path}: no Parquet file with the columns {', '.join(_WANTED)}: {what}.") from error
    for name in _WANTED[:2]:
        if rows[name].null_count():
            raise InvalidInputError(f"{path}: row {rows[name].is_null().arg_max()} has no {name}.")
    frames, classes = rows["frame_id"].unique().sort(), rows["class_name"].unique().sort()
    nothing = dict.fromkeys(("drive", "camera"), "")
    listed = [{"key": key, "name": "", "width": None, "height": None, "attributes": "{}", **nothing} for key in frames]
    return Given(
        source=str(path),
        frames=pl.DataFrame(listed, schema=GIVEN_FRAMES),
        classes=pl.DataFrame({"key": [""] * len(classes), "name": classes}, schema=GIVEN_CLASSES),
        boxes=RawBoxes(
            frame=rows["frame_id"].cast(pl.Enum(frames)).to_physical().to_numpy().astype(np.int64),
            label=rows["class_name"].cast(pl.Enum(classes)).to_physical().to_numpy().astype(np.int64),
            corners=np.ascontiguousarray(rows.select("x1", "y1", "x2", "y2").to_numpy(), np.float64),
            score=rows["score"].fill_null(np.nan).to_numpy().astype(np.float64),
            where=lambda row: f"{path}: row {row}",
        ),
        known_frames=len(frames),
        known_classes=len(classes),
    )


def frames_table(truth: Given, names: Sequence[str], raw: RawScene) -> pa.Table:
    """Return the truth's frames in driveflow's columns, for slices to look at.

    Which classes were looked for stands in `raw` alone: as text it would be larger than all the rest.
    """
    listed = truth.frames[: truth.known_frames]
    groups = pl.Series(raw.groups, dtype=pl.String).gather(raw.frame_group)
    table = pl.DataFrame(
        {
            "frame_id": pl.Series(names, dtype=pl.String),
            "width": listed["width"].cast(pl.Int32, strict=False),
            "height": listed["height"].cast(pl.Int32, strict=False),
            "media_type": pl.repeat("", len(names), eager=True),
            "byte_count": pl.repeat(0, len(names), dtype=pl.Int64, eager=True),
            "split": pl.repeat("holdout", len(names), eager=True),
            "drive_group": groups,
            "annotated_classes": pl.repeat([], len(names), dtype=pl.List(pl.String), eager=True),
            "attributes": listed["attributes"],
        }
    )
    return table.to_arrow().cast(columns.FRAMES)


def sources_table(truth: Given, names: Sequence[str]) -> pa.Table:
    """Return where the truth's frames come from in driveflow's columns, for slices to look at."""
    listed = truth.frames[: truth.known_frames].with_columns(frame_id=pl.Series(names, dtype=pl.String))
    said = {
        "batch": pl.lit(truth.source),
        "path": pl.col("name").str.split("\n").list.first().fill_null(""),
        "clock": pl.lit("none"),
        "source_split": pl.lit(""),
        "camera": pl.when(pl.col("camera") != "").then(pl.col("camera")),
    }
    table = listed.with_columns(**said)
    missing = [pl.lit(None).alias(name) for name in columns.SOURCES.names if name not in table.columns]
    return table.with_columns(missing).select(columns.SOURCES.names).to_arrow().cast(columns.SOURCES)
