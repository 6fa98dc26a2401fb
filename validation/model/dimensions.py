"""What a hold-out can be cut along: the values of each dimension, of frames or of boxes, and what they mean."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from driveflow.dimension_values import CELL_DEG, HEIGHTS_PX, NOT_STATED, bin_names, bins, said_of_frames
from driveflow.flow.sections import Dimension
from validation.model.box_facts import no_facts
from validation.model.scene import Bools, EvaluationRequest, Floats, Ints, Scene

DISTANCES_M: Final = (0.0, 15.0, 30.0, 50.0, 80.0)
OCCLUSIONS: Final = ("visible", "partly", "largely")


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
    key, said = said_of_frames(request.frames, request.sources, dimension)
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
    for name, low, high in zip(bin_names(edges), edges, (*edges[1:], None), strict=True):
        limit = "" if high is None else f" AND {column} < {high:g}"
        values.append(Value(name, f"{column} >= {low:g}{limit}" if column else ""))
    values.append(Value(NOT_STATED, ""))
    return BoxValues(dimension, tuple(values), bins(edges, truth), None if detected is None else bins(edges, detected))


def _height(corners: Floats) -> Floats:
    return corners[:, 3] - corners[:, 1]


def _condition(dimension: Dimension, key: str, name: str) -> str:
    """Return the condition on frames that holds for a value."""
    if key or dimension == "camera":
        return f"{f'attributes.{key}' if key else 'camera'} = {quoted(name)}"
    spans = [(column, float(low)) for column, low in zip(("lat", "lon"), name.split(), strict=True)]
    return " AND ".join(f"{column} >= {low:.2f} AND {column} < {low + CELL_DEG:.2f}" for column, low in spans)
