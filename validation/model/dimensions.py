"""What a hold-out can be cut along: the values of each dimension, of frames or of boxes, and what they mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from driveflow.flow.sections import Dimension
from driveflow.predicates import attribute
from validation.model.box_facts import no_facts
from validation.model.scene import Bools, EvaluationRequest, Floats, Ints, Scene

NOT_STATED: Final = "not stated"
HEIGHTS_PX: Final = (0.0, 25.0, 40.0, 80.0)
DISTANCES_M: Final = (0.0, 15.0, 30.0, 50.0, 80.0)
OCCLUSIONS: Final = ("visible", "partly", "largely")
CELL_DEG: Final = 0.01  # of a place that only lat and lon tell: about a kilometre
_KEYS: Final[Mapping[Dimension, tuple[str, ...]]] = {
    "time_of_day": ("time_of_day", "timeofday"),
    "weather": ("weather",),
    "place": ("place", "location", "city"),
}


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a dimension; `condition` says the same as a condition on frames or boxes, empty where none can."""

    name: str
    condition: str


@dataclass(frozen=True, slots=True)
class FrameValues:
    """A dimension of frames: which frames of the scene have each value; one frame may have several."""

    dimension: Dimension
    values: tuple[Value, ...]
    frames: tuple[Bools, ...]

    @property
    def is_stated(self) -> bool:
        """Tell whether any frame says anything."""
        return any(value.name != NOT_STATED for value in self.values)


@dataclass(frozen=True, slots=True)
class BoxValues:
    """A dimension of boxes: the number of the value of each.

    Detections have no value (`of_detected` is None) where a model does not say: then one that was given nothing is
    wrong in every value, as KITTI counts it.
    """

    dimension: Dimension
    values: tuple[Value, ...]
    of_truth: Ints
    of_detected: Ints | None

    @property
    def is_stated(self) -> bool:
        """Tell whether any object says anything."""
        stated = [number for number, value in enumerate(self.values) if value.name != NOT_STATED]
        return bool(np.isin(self.of_truth, stated).any())


def frame_values(request: EvaluationRequest, scene: Scene, dimension: Dimension) -> FrameValues:
    """Return the values of a dimension of frames, the most frequent first, and last what is not stated."""
    key = _key(request.frames, dimension)
    if dimension == "camera":
        said = _cameras(request.frames if "camera" in request.frames.column_names else request.sources)
    elif key or dimension != "place":
        said = _said(request.frames, key)
    else:
        said = _cells(request.sources)
    index = pl.DataFrame({"frame_id": pl.Series(scene.frame_ids, dtype=pl.String)}).with_row_index("row")
    known = said.filter(pl.col("value") != "").join(index, on="frame_id").select("row", "value").unique()
    counts = known.group_by("value").len().sort("len", "value", descending=[True, False])
    place = counts.select("value").with_row_index("number")
    rows = known.join(place, on="value").sort("number").select("number", "row").to_numpy()
    masks = np.zeros((len(counts), len(scene.frame_ids)), bool)
    masks[rows[:, 0], rows[:, 1]] = True
    values = [Value(name, _condition(dimension, key, name)) for name in counts["value"].to_list()]
    rest = ~masks.any(axis=0)
    if rest.any():
        values.append(Value(NOT_STATED, f"attributes.{key} IS NULL" if key else ""))
        masks = np.vstack([masks, rest])
    return FrameValues(dimension, tuple(values), tuple(masks))


def box_values(scene: Scene, dimension: Dimension) -> BoxValues:
    """Return the values of a dimension of boxes."""
    truth, detected = scene.truth, scene.detected
    facts = truth.facts or no_facts(len(truth.frame))
    if dimension == "class":
        values = tuple(Value(name, f"class_name = {quoted(name)}") for name in scene.classes)
        return BoxValues(dimension, values, truth.label, detected.label)
    if dimension == "size":
        return _of_bins(dimension, HEIGHTS_PX, "height_px", _height(truth.corners), _height(detected.corners))
    if dimension == "distance":
        return _of_bins(dimension, DISTANCES_M, "", facts.distance_m, None)
    stated = np.isfinite(facts.occlusion)
    level = np.where(stated, facts.occlusion, len(OCCLUSIONS)).astype(np.int64)
    values = tuple(Value(name, "") for name in (*OCCLUSIONS, NOT_STATED))
    return BoxValues(dimension, values, level, None)


def quoted(text: str) -> str:
    """Return `text` as a text in a condition."""
    return "'" + text.replace("'", "''") + "'"


def _of_bins(
    dimension: Dimension, edges: tuple[float, ...], column: str, truth: Floats, detected: Floats | None
) -> BoxValues:
    """Return bins from each edge up to the next; the last one is open."""
    values = []
    for low, high in zip(edges, (*edges[1:], None), strict=True):
        name = f"{low:g}+" if high is None else f"{low:g}-{high:g}"
        limit = "" if high is None else f" AND {column} < {high:g}"
        values.append(Value(name, f"{column} >= {low:g}{limit}" if column else ""))
    values.append(Value(NOT_STATED, ""))
    return BoxValues(dimension, tuple(values), _bin(edges, truth), None if detected is None else _bin(edges, detected))


def _bin(edges: tuple[float, ...], values: Floats) -> Ints:
    found = np.searchsorted(edges, values, "right") - 1
    return np.where(np.isfinite(values), np.maximum(found, 0), len(edges)).astype(np.int64)


def _height(corners: Floats) -> Floats:
    return corners[:, 3] - corners[:, 1]


def _key(frames: pa.Table, dimension: Dimension) -> str:
    """Return the first key of the dimension that any frame has; empty where there is none."""
    return next((key for key in _KEYS.get(dimension, ()) if (attribute(frames, key) != "").any()), "")


def _said(frames: pa.Table, key: str) -> pl.DataFrame:
    """Return what each frame says under `key`; nothing where there is no key."""
    if not key:
        return _table([], [])
    return _table(frames["frame_id"].to_pylist(), attribute(frames, key).tolist())


def _cameras(table: pa.Table | None) -> pl.DataFrame:
    if table is None:
        return _table([], [])
    return pl.DataFrame(pl.from_arrow(table.select(["frame_id", "camera"]))).rename({"camera": "value"})


def _cells(sources: pa.Table | None) -> pl.DataFrame:
    """Return the cell of lat and lon in which each frame was taken, named by its south-west corner."""
    if sources is None:
        return _table([], [])
    table = pl.DataFrame(pl.from_arrow(sources.select(["frame_id", "lat", "lon"])))
    table = table.filter(pl.col("lat").is_finite() & pl.col("lon").is_finite())
    cells = table.select("frame_id", *((pl.col(name) / CELL_DEG).floor().cast(pl.Int64) for name in ("lat", "lon")))
    distinct = cells.select("lat", "lon").unique()
    names = [f"{lat * CELL_DEG:.2f} {lon * CELL_DEG:.2f}" for lat, lon in distinct.iter_rows()]
    named = distinct.with_columns(value=pl.Series(names, dtype=pl.String))
    return cells.join(named, on=["lat", "lon"]).select("frame_id", "value")


def _table(frame_ids: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"frame_id": frame_ids, "value": values}, schema={"frame_id": pl.String, "value": pl.String})


def _condition(dimension: Dimension, key: str, name: str) -> str:
    """Return the condition on frames that holds for a value."""
    if key or dimension == "camera":
        return f"{f'attributes.{key}' if key else 'camera'} = {quoted(name)}"
    spans = [(column, float(low)) for column, low in zip(("lat", "lon"), name.split(), strict=True)]
    return " AND ".join(f"{column} >= {low:.2f} AND {column} < {low + CELL_DEG:.2f}" for column, low in spans)
