"""Frames with an object that looks like the labels of a class, and not like the other labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.miner_section import MinerSection
from driveflow.truth import truth_of
from filtering.miners.material import Mask, Material, ObjectVectors, Scores, Vectors

_EVENNESS: Final = 1.0  # mean spreads, added in every direction: a handful of labels cannot tell their own shape
_DECIMALS: Final = 6
_PART_ROWS: Final = 65_536  # what bounds memory


@dataclass(frozen=True, slots=True)
class LikeLabels:
    """Finds the frames with the object most like the labels of some classes, by the vector of its crop.

    A nearest example would do where examples are many. Here a handful stand beside hundreds of other labels, so what
    counts is the direction in which the two differ most, for how much each spreads (Fisher's linear discriminant).
    """

    settings: MinerSection
    formula: str = "best linear discriminant of a box: 0 as the other labels are on average, 1 as those of the classes"
    unit: str = "0 and up, 1 for a typical one"

    @property
    def reference(self) -> str:
        """What a frame is compared with."""
        return f"labels of {', '.join(self.settings.classes)}, and all other labels, in train and val"

    def score(self, material: Material) -> Scores:
        """Return the best score in each other frame of train and val; NaN without an object, or without both labels."""
        scores = np.full(material.count, np.nan)
        if material.objects is None:
            return scores
        rows = material.rows_of(material.objects.frame_ids)
        asked = np.isin(rows, np.flatnonzero(material.in_splits("train", "val")))
        like, unlike = (mask & asked for mask in labeled_as(material, material.objects, self.settings.classes))
        if not like.any() or not unlike.any():
            return scores
        vectors = material.objects.vectors
        found = discriminant(vectors[like], vectors[unlike], vectors[asked])
        np.fmax.at(scores, rows[asked], found)
        scores[rows[like]] = np.nan
        return scores


def labeled_as(material: Material, objects: ObjectVectors, classes: tuple[str, ...]) -> tuple[Mask, Mask]:
    """Return which objects are labels of `classes`, and which are labels of others; ignore regions are neither."""
    labels = truth_of(material.tables.boxes)
    labels = labels.filter(pc.invert(pc.fill_null(labels["ignore"], False)))
    at = pc.index_in(
        _names(pa.array(objects.frame_ids, pa.string()), pa.array(objects.box_ids, pa.string())),
        value_set=_names(labels["frame_id"].combine_chunks(), labels["box_id"].combine_chunks()),
    )
    known = at.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
    wanted = pc.is_in(labels["class_name"].take(at), value_set=pa.array(classes, pa.string()))
    like = known & wanted.to_numpy().astype(np.bool_)
    return like, known & ~like


def discriminant(like: Vectors, unlike: Vectors, asked: Vectors) -> Scores:
    """Return for each row of `asked` how far it lies from the mean of `unlike` (0) to that of `like` (1).

    Both groups weigh as much, however many rows each has. Where the means are equal nothing tells them apart: 0.

    >>> like, unlike = np.array([[1, 0]], np.float32), np.array([[0, 0]], np.float32)
    >>> discriminant(like, unlike, np.array([[0.5, 7]], np.float32)).tolist()
    [0.5]
    """
    (there, spread_there), (here, spread_here) = _mean_and_spread(like), _mean_and_spread(unlike)
    apart = there - here
    if not apart.any():
        return np.zeros(len(asked))
    spread = (spread_there + spread_here) / 2 + np.outer(apart, apart) / 4
    spread += np.eye(len(apart)) * (_EVENNESS * np.trace(spread) / len(apart))
    direction = np.linalg.solve(spread, apart)
    lengths = [(part - here) @ direction for part in _in_parts(asked)]
    return np.asarray(np.round(np.concatenate([np.zeros(0), *lengths]) / (apart @ direction), _DECIMALS))


def _mean_and_spread(rows: Vectors) -> tuple[Scores, Scores]:
    mean = rows.mean(axis=0, dtype=np.float64)
    spread = sum(((part - mean).T @ (part - mean) for part in _in_parts(rows)), np.zeros((len(mean), len(mean))))
    return np.asarray(mean), np.asarray(spread / len(rows))


def _in_parts(rows: Vectors) -> Iterator[Vectors]:
    for start in range(0, len(rows), _PART_ROWS):
        yield rows[start : start + _PART_ROWS]


def _names(frame_ids: pa.Array, box_ids: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(frame_ids, box_ids, "#")
