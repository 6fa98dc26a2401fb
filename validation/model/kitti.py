"""KITTI's three levels of difficulty: who must be found by height, occlusion and truncation."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.precision import Order, Part, mean_of_found, number_or_none, objects_of, worth
from validation.model.scene import Bools, Floats, Scene

Difficulty: TypeAlias = Literal["easy", "moderate", "hard"]
FORTY: Floats = np.linspace(1 / 40, 1.0, 40)
OVERLAPS = (0.5, 0.7)


@dataclass(frozen=True, slots=True)
class Level:
    """What an object must meet to count: no lower, no more hidden, no more cut off than this."""

    name: Difficulty
    least_height_px: float
    most_occlusion: float  # 0 fully visible, 1 partly, 2 largely occluded
    most_truncation: float  # share of the object outside the picture


LEVELS = (Level("easy", 40, 0, 0.15), Level("moderate", 25, 1, 0.30), Level("hard", 25, 2, 0.50))
"""Of the KITTI object benchmark (Geiger, Lenz, Urtasun, CVPR 2012; constants of its development kit)."""


@dataclass(frozen=True, slots=True)
class KittiClass:
    """One class at one level; average precision at each of OVERLAPS, None without an object."""

    class_name: str
    ap: tuple[float | None, ...]
    recall: tuple[float | None, ...]
    objects: int


@dataclass(frozen=True, slots=True)
class Kitti:
    """One level over all classes that have an object in it; `ignored` objects are not of it, or do not say.

    `ap` is the mean precision at the 40 recalls from 1/40 to 1 (KITTI's since 2019), at the overlaps (IoU) 0.5, which
    KITTI asks of pedestrians and cyclists, and 0.7, which it asks of cars.
    """

    level: Level
    ap: tuple[float | None, ...]
    recall: tuple[float | None, ...]
    objects: int
    ignored: int
    per_class: tuple[KittiClass, ...]


def kitti(scene: Scene, matches: Matches, order: Order) -> tuple[Kitti, ...]:
    """Return the levels; none where no object says how occluded and how truncated it is.

    The one matching serves: who was given an object that is not of the level, or one that does not say, is neither
    right nor wrong, and so is who was given nothing and is lower than the level asks.
    """
    facts = scene.truth.facts
    if facts is None:
        return ()
    known = ~scene.truth.ignore & np.isfinite(facts.occlusion) & np.isfinite(facts.truncation)
    if not known.any():
        return ()
    heights = scene.truth.corners[:, 3] - scene.truth.corners[:, 1]
    results = []
    for level in LEVELS:
        objects = known & (heights >= level.least_height_px)
        objects &= (facts.occlusion <= level.most_occlusion) & (facts.truncation <= level.most_truncation)
        results.append(_of_level(scene, matches, order, level, objects))
    return tuple(results)


def _of_level(scene: Scene, matches: Matches, order: Order, level: Level, objects: Bools) -> Kitti:
    corners = scene.detected.corners
    part = Part(objects, corners[:, 3] - corners[:, 1] >= level.least_height_px)
    count = objects_of(scene.truth, objects, len(scene.classes))
    rows = [at_threshold(matches, overlap) for overlap in OVERLAPS]
    found = worth(order, scene.detected, matches.truth[rows], part, count, FORTY)
    recall = found.recall[-1]
    per_class = tuple(
        KittiClass(name, _numbers(found.mean[:, label]), _numbers(recall[:, label]), int(count[label]))
        for label, name in enumerate(scene.classes)
    )
    return Kitti(
        level=level,
        ap=tuple(mean_of_found(row) for row in found.mean),
        recall=tuple(mean_of_found(row) for row in recall),
        objects=int(count.sum()),
        ignored=int((~scene.truth.ignore & ~objects).sum()),
        per_class=per_class,
    )


def _numbers(values: Floats) -> tuple[float | None, ...]:
    return tuple(map(number_or_none, values))
