"""Average precision and recall per class from matches, of all or of a part of the truth and the detections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation.model.curves import RECALLS
from validation.model.scene import Bools, Detected, Floats, Ints, Scene, Truth

if TYPE_CHECKING:
    from validation.model.precision_kernel import CellSums, Sums

LIMITS: Ints = np.array([1, 10, 100, 2**31])  # detections of a class in a frame that recall counts; the last: all
Given = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Order:
    """Rows of detections by class and falling score; those of class k stand at start[k] up to start[k + 1].

    `score` is by detection; equal ones of a class come in together. In mode coco none are equal.
    """

    rows: Ints
    start: Ints
    score: Floats

    def within(self, kept: Bools) -> "Order":
        """Return the order of the detections in `kept` alone."""
        there = kept[self.rows]
        before = np.concatenate([[0], np.cumsum(there)])
        return Order(self.rows[there], before[self.start], self.score)

    def untied(self) -> "Order":
        """Return the order with scores that all differ, so that equal ones come in one after the other."""
        place = np.empty(len(self.score), np.int64)
        place[self.rows] = np.arange(len(self.rows))
        score = np.empty(len(self.score))
        score[np.lexsort((place, -self.score))] = -np.arange(len(self.score), dtype=float)
        return Order(self.rows, self.start, score)


@dataclass(frozen=True, slots=True)
class Part:
    """What counts: objects that are to be found, and detections that are wrong where they were given nothing.

    A detection that was given an object outside `objects` is neither right nor wrong, as in an ignore region.
    """

    objects: Bools  # by truth
    alone: Bools  # by detection


def by_falling_score(scene: Scene) -> Order:
    """Return the order in which the detections of a scene come in, as its mode takes equal scores."""
    labels = scene.detected.label[scene.by_score]
    order = Order(scene.by_score, np.searchsorted(labels, np.arange(len(scene.classes) + 1)), scene.detected.score)
    return order if scene.mode == "strict" else order.untied()


def worth(
    order: Order, detected: Detected, given: Given, part: Part, objects: Ints, recalls: Floats = RECALLS
) -> "Sums":
    """Return average precision and recall, thresholds x classes.

    `given` holds rows of the truth, thresholds x detections, negative for none; `objects` how many each class has.
    """
    from validation.model.precision_kernel import Asked, Sorted, sums

    found = Sorted(order.rows, order.start, order.score, detected.rank, given, part.alone, part.objects)
    total: Sums = sums(found, Asked(objects, recalls, LIMITS))
    return total


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each object, and the stated part of that of each detection; -1: it does not count.

    A cell is one value of each of several dimensions of boxes, `count` in all. Detections state their values of some
    dimensions only: `unsaid` cells that follow one another differ in the others. What was given nothing is in each cell
    of its part; what was given an object is of the object's cell.
    """

    of_truth: Ints
    of_detected: Ints
    unsaid: int
    count: int

    def within(self, objects: Bools, alone: Bools) -> "Cells":
        """Return the same where all other objects and detections do not count."""
        of_truth, of_detected = (
            np.where(kept, codes, -1) for kept, codes in ((objects, self.of_truth), (alone, self.of_detected))
        )
        return Cells(of_truth, of_detected, self.unsaid, self.count)


def objects_by_cell(codes: Ints, truth: Truth, shape: tuple[int, int]) -> Ints:
    """Return how many objects there are, cells x classes; `codes` are the cells of the truth's rows, -1: in none."""
    counted = codes >= 0
    places = codes[counted] * shape[1] + truth.label[counted]
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)


def worth_by_cell(order: Order, scene: Scene, given: Given, cells: Cells) -> "CellSums":
    """Return average precision and recall in every cell, thresholds x cells x classes; see `worth`."""
    from validation.model import precision_kernel as kernel

    found = kernel.Sorted(
        order.rows, order.start, order.score, scene.detected.rank, given, np.zeros(0, bool), np.zeros(0, bool)
    )
    objects = objects_by_cell(cells.of_truth, scene.truth, (cells.count, len(scene.classes)))
    asked = kernel.Asked(objects, RECALLS, LIMITS)
    total: CellSums = kernel.sums_by_cell(found, kernel.Cells(cells.of_truth, cells.of_detected, cells.unsaid), asked)
    return total


def objects_of(truth: Truth, counted: Bools, classes: int) -> Ints:
    """Return how many of the `counted` rows of the truth each class has."""
    return np.bincount(truth.label[counted], minlength=classes)


def mean_of_found(values: Floats) -> float | None:
    """Return the mean over what is a number; None where nothing is."""
    found = values[np.isfinite(values)]
    return float(found.mean()) if found.size else None


def number_or_none(value: Floats | float) -> float | None:
    """Return what is a number, None for what is none."""
    return float(value) if np.isfinite(value) else None
