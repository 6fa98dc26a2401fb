"""What a hold-out can be cut along: the values of each dimension, of frames or of boxes, and what they mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

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
BOX_DIMENSIONS: Final[tuple[Dimension, ...]] = ("class", "size", "occlusion", "distance")

Columns: TypeAlias = tuple[str, ...]


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
    row_of = {frame_id: row for row, frame_id in enumerate(scene.frame_ids)}
    key = _key(request.frames, dimension)
    if dimension == "camera":
        pairs = list(_cameras(request.frames if "camera" in request.frames.column_names else request.sources))
    else:
        pairs = list(_said(request.frames, key) if key else [])
        if dimension == "place" and not pairs:
            pairs = list(_cells(request.sources))
    rows: dict[Value, list[int]] = {}
    for frame_id, value in pairs:
        if frame_id in row_of:
            rows.setdefault(value, []).append(row_of[frame_id])
    masks = {value: _mask(scene, found) for value, found in rows.items()}
    rest = ~np.logical_or.reduce([np.zeros(len(scene.frame_ids), bool), *masks.values()])
    order = sorted(masks, key=lambda value: (-int(masks[value].sum()), value.name))
    values, frames = [*order], [masks[value] for value in order]
    if rest.any():
        values.append(Value(NOT_STATED, f"attributes.{key} IS NULL" if key else ""))
        frames.append(rest)
    return FrameValues(dimension, tuple(values), tuple(frames))


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


def _mask(scene: Scene, rows: Sequence[int]) -> Bools:
    mask = np.zeros(len(scene.frame_ids), bool)
    mask[rows] = True
    return mask


def _key(frames: pa.Table, dimension: Dimension) -> str:
    """Return the first key of the dimension that any frame has; empty where there is none."""
    return next((key for key in _KEYS.get(dimension, ()) if (attribute(frames, key) != "").any()), "")


def _said(frames: pa.Table, key: str) -> Iterator[tuple[str, Value]]:
    for frame_id, text in zip(frames["frame_id"].to_pylist(), attribute(frames, key).tolist(), strict=True):
        if text:
            yield frame_id, Value(text, f"attributes.{key} = {quoted(text)}")


def _cameras(table: pa.Table | None) -> Iterator[tuple[str, Value]]:
    if table is not None:
        rows = pl.DataFrame(pl.from_arrow(table.select(["frame_id", "camera"]))).filter(pl.col("camera") != "")
        for frame_id, camera in rows.unique().sort("camera").iter_rows():
            yield frame_id, Value(camera, f"camera = {quoted(camera)}")


def _cells(sources: pa.Table | None) -> Iterator[tuple[str, Value]]:
    """Yield the cell of lat and lon in which each frame was taken, named by its south-west corner."""
    if sources is None:
        return
    table = pl.DataFrame(pl.from_arrow(sources.select(["frame_id", "lat", "lon"])))
    table = table.filter(pl.col("lat").is_finite() & pl.col("lon").is_finite())
    cells = table.select("frame_id", *((pl.col(name) / CELL_DEG).floor().cast(pl.Int64) for name in ("lat", "lon")))
    for frame_id, lat, lon in cells.unique().sort("lat", "lon").iter_rows():
        spans = [(name, at * CELL_DEG, (at + 1) * CELL_DEG) for name, at in (("lat", lat), ("lon", lon))]
        condition = " AND ".join(f"{name} >= {low:.2f} AND {name} < {high:.2f}" for name, low, high in spans)
        yield frame_id, Value(f"{lat * CELL_DEG:.2f} {lon * CELL_DEG:.2f}", condition)
