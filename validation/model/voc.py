"""PASCAL VOC's average precision, by the rule of 2007 (eleven points) and of 2010 on (every point)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.model.match import NONE
from validation.model.nearest import Nearest
from validation.model.precision import Given, Order, Part, mean_of_found, number_or_none, objects_of, worth
from validation.model.scene import Bools, Floats, Ints, Scene

ELEVEN: Floats = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, slots=True)
class VocClass:
    """One class: average precision by both rules, None without an object; and how many objects it has."""

    class_name: str
    eleven_point: float | None
    every_point: float | None
    objects: int


@dataclass(frozen=True, slots=True)
class Voc:
    """VOC's numbers at one overlap (IoU); the means are over classes that have an object."""

    overlap: float
    eleven_point: float | None
    every_point: float | None
    per_class: tuple[VocClass, ...]


def voc(scene: Scene, nearest: Nearest, order: Order, overlaps: tuple[float, ...] = (0.5,)) -> tuple[Voc, ...]:
    """Return VOC's numbers at each overlap; equal scores are taken as the mode of the scene has it.

    Its own matching: a detection looks at the object that it overlaps most, taken or not. It is right where it overlaps
    that one by the limit and is the first to, wrong otherwise. Neither counts where the object is difficult, nor a
    detection that overlaps no object so much and lies so much inside an ignore region of its class.
    """
    facts = scene.truth.facts
    counted = ~scene.truth.ignore if facts is None else ~scene.truth.ignore & ~facts.difficult
    objects = objects_of(scene.truth, counted, len(scene.classes))
    results = []
    for overlap in overlaps:
        given, alone = _claims(nearest, order, overlap, counted)
        found = worth(order, scene.detected, given[None, :], Part(counted, alone), objects, ELEVEN)
        results.append(_result(scene, overlap, (found.mean[0], found.area[0]), objects))
    return tuple(results)


def _claims(nearest: Nearest, order: Order, overlap: float, counted: Bools) -> tuple[Given, Bools]:
    """Return the object that each detection is the first to claim, and which count as wrong where they are not."""
    claims = nearest.own_overlap >= overlap
    rows = order.rows[claims[order.rows]]
    first = np.full(len(counted), NONE, np.int64)
    first[nearest.own[rows[::-1]]] = rows[::-1]  # the last one written is the first in order
    winners = first[first != NONE]
    given: NDArray[np.int32] = np.full(len(claims), NONE, np.int32)
    given[winners] = nearest.own[winners]
    alone = nearest.region_overlap < overlap
    alone[rows] = counted[nearest.own[rows]]
    return given, alone


def _result(scene: Scene, overlap: float, found: tuple[Floats, Floats], objects: Ints) -> Voc:
    eleven, every = found
    parts = tuple(
        VocClass(name, number_or_none(eleven[label]), number_or_none(every[label]), int(objects[label]))
        for label, name in enumerate(scene.classes)
    )
    return Voc(overlap, mean_of_found(eleven), mean_of_found(every), parts)
