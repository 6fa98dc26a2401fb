"""What is validated: the tables of a snapshot, and all that is known beside them."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.as_polars import as_polars
from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.flow.sections import GateSection
from driveflow.truth import truth_of

CORNERS = ("x1", "y1", "x2", "y2")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Side:
    """A snapshot as tables (schemas in `driveflow.tables`), which need not be valid."""

    frames: pa.Table
    sources: pa.Table
    boxes: pa.Table
    signals: pa.Table | None = None
    snapshot_id: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DataRequest:
    """A snapshot to validate.

    `against` is the one before it, and `compared` the part that is held against it where that is not all (the hold-out
    is the same before and now). `predictions` (PREDICTIONS) are what the champion is known to have seen; a frame
    that it looked at and saw nothing in has a row without a class, one that it never saw has none. `quarantine` is what
    the import left out. `gate` is what will judge on the hold-out; None: no hold-out is asked for.
    """

    side: Side
    classes: tuple[str, ...]
    settings: DataValidationSection = field(default_factory=DataValidationSection)
    against: Side | None = None
    compared: Side | None = None
    predictions: pa.Table | None = None
    gate: GateSection | None = None
    quarantine: pa.Table = field(default_factory=columns.QUARANTINE.empty_table)


class Prepared:
    """The tables of one side as polars frames; each is made when it is first asked for."""

    def __init__(self, side: Side) -> None:
        self.side = side

    def only(self, ids: pa.Table) -> "Prepared":
        """Return the part that belongs to the frames of `ids`, a table with their `frame_id`."""
        wanted = ids["frame_id"].combine_chunks()
        picked = [
            table.filter(pc.is_in(table["frame_id"], value_set=wanted))
            for table in (self.side.frames, self.side.sources, self.side.boxes)
        ]
        return Prepared(replace(self.side, frames=picked[0], sources=picked[1], boxes=picked[2]))

    @cached_property
    def frames(self) -> pl.DataFrame:
        """Return the frames without their attributes."""
        wanted = ["frame_id", "width", "height", "split", "drive_group", "annotated_classes"]
        return as_polars(self.side.frames.select(wanted))

    @cached_property
    def boxes(self) -> pl.DataFrame:
        """Return the labels that are no ignore regions, with the size, split and drive group of their frame."""
        wanted = ["frame_id", "box_id", "class_name", *CORNERS, "ignore"]
        rows = as_polars(truth_of(self.side.boxes).select(wanted))
        rows = rows.filter(~pl.col("ignore").fill_null(value=False)).drop("ignore")
        of_frame = self.frames.select("frame_id", "width", "height", "split", "drive_group")
        return rows.join(of_frame, on="frame_id", how="inner", maintain_order="left")

    @cached_property
    def signals(self) -> pl.DataFrame:
        """Return what was measured of the frames; no row where nothing was."""
        table = columns.SIGNALS.empty_table() if self.side.signals is None else self.side.signals
        ids = self.frames.select("frame_id")
        return as_polars(table).join(ids, on="frame_id", how="semi", maintain_order="left")

    @cached_property
    def shots(self) -> pl.DataFrame:
        """Return the first source of each frame in each drive and camera."""
        wanted = ["frame_id", "batch", "path", "drive", "camera", "captured_ns", "clock"]
        rows = as_polars(self.side.sources.select(wanted)).sort("batch", "path")
        return rows.unique(["frame_id", "drive", "camera"], keep="first", maintain_order=True)
