"""What is said of annotated boxes beyond their corners, in one measure whatever the format: how hidden, how far."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LOOKED_AT = ("occluded", "visibility", "truncated", "difficult", "distance_m", "location")
_VISIBLE_WORDS: Mapping[str, float] = {
    "v80-100": 0, "v60-80": 1, "v40-60": 1, "v0-40": 2, "full": 0, "most": 1, "partial": 1, "none": 2,
}  # fmt: skip
_OCCLUDED_WORDS: Mapping[str, float] = {
    "no": 0, "none": 0, "not": 0, "visible": 0, "yes": 2, "partial": 1, "partially": 1, "partly": 1, "largely": 2,
    "heavy": 2, "heavily": 2, "fully": 2, "full": 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoxFacts:
    """One value a box; NaN: not said.

    `occlusion` counts as KITTI does: 0 fully visible, 1 partly, 2 largely occluded. A plain "yes" is 2: how much is not
    known, and no more is asked of it than of the most hidden. `truncation` is the share of the object that lies outside
    the picture; a plain "yes" is 0.5. `distance_m` is the distance over ground from the camera.
    """

    occlusion: NDArray[np.float64]
    truncation: NDArray[np.float64]
    distance_m: NDArray[np.float64]
    difficult: NDArray[np.bool_]

    def rows(self, rows: NDArray[np.int64]) -> "BoxFacts":
        """Return the facts of some of the boxes, in that order."""
        return BoxFacts(self.occlusion[rows], self.truncation[rows], self.distance_m[rows], self.difficult[rows])

    def followed_by(self, other: "BoxFacts") -> "BoxFacts":
        """Return the facts of these boxes and then of those."""
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return BoxFacts(*map(np.concatenate, pairs))

    def columns(self) -> list[NDArray[np.float64]]:
        """Return numbers by which boxes that are equal but for their facts can be put in order."""
        numbers = (self.occlusion, self.truncation, self.distance_m, self.difficult.astype(float))
        return [np.nan_to_num(column, nan=-1.0) for column in numbers]


def box_facts(attributes: pl.Series) -> BoxFacts | None:
    """Return what the attributes of boxes, canonical JSON objects, say; None where they say nothing of the kind."""
    asks = attributes.str.contains_any([f'"{name}"' for name in _LOOKED_AT]).fill_null(value=False)
    if not asks.any():
        return None
    texts = attributes.filter(asks)
    known = texts.unique()
    facts = [_facts(json.loads(text)) for text in known.to_list()]
    place = pl.DataFrame({"text": known, "place": range(len(known))}, schema_overrides={"place": pl.Int64})
    rows = texts.rename("text").to_frame().join(place, on="text", how="left", maintain_order="left")["place"].to_numpy()
    table = np.full((len(attributes), 4), np.nan)
    table[asks.to_numpy()] = np.array(facts, float).reshape(-1, 4)[rows]
    return BoxFacts(table[:, 0], table[:, 1], table[:, 2], table[:, 3] == 1.0)


def no_facts(boxes: int) -> BoxFacts:
    """Return the facts of boxes of which nothing is said."""
    nothing = np.full(boxes, np.nan)
    return BoxFacts(nothing, nothing, nothing, np.zeros(boxes, bool))


def _facts(said: object) -> tuple[float, float, float, float]:
    if not isinstance(said, dict):
        return math.nan, math.nan, math.nan, 0.0
    return _occlusion(said), _share(said.get("truncated")), _distance(said), float(said.get("difficult") is True)


def _occlusion(said: Mapping[str, object]) -> float:
    hidden, visible = said.get("occluded"), said.get("visibility")
    if visible == "unknown":
        return math.nan
    if isinstance(hidden, bool):
        return 2.0 if hidden else 0.0
    if isinstance(hidden, int | float):
        return min(max(float(hidden), 0.0), 2.0)
    if isinstance(hidden, str):
        return _OCCLUDED_WORDS.get(hidden.strip().casefold(), math.nan)
    if isinstance(visible, int | float):
        return 0.0 if visible >= 0.8 else 1.0 if visible >= 0.4 else 2.0
    return _VISIBLE_WORDS.get(visible.strip().casefold(), math.nan) if isinstance(visible, str) else math.nan


def _share(value: object) -> float:
    if isinstance(value, bool):
        return 0.5 if value else 0.0
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else math.nan


def _distance(said: Mapping[str, object]) -> float:
    stated, place = said.get("distance_m"), said.get("location")
    if isinstance(stated, int | float) and not isinstance(stated, bool) and stated >= 0:
        return float(stated)
    if not isinstance(place, list) or len(place) != 3 or not all(isinstance(one, int | float) for one in place):
        return math.nan
    right, _, ahead = (float(one) for one in place)  # KITTI: metres in the camera's own axes; -1000: not known
    return math.hypot(right, ahead) if ahead > -1000 else math.nan
