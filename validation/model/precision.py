"""Average precision and recall per class from matches, of all or of a part of the truth and the detections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from validation.model.curves import RECALLS
from validation.model.scene import Bools, Detected, Floats, Ints, Scene, Truth

if TYPE_CHECKING:
    from validation.model.precision_kernel import Sums

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

    def of_class(self, label: int) -> "Order":
        """Return the order of the detections of one class alone."""
        first, last = self.start[label], self.start[label + 1]
        return Order(self.rows[first:last], np.clip(self.start, first, last) - first, self.score)

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


def mean_by_value(
    order: Order, detected: Detected, given: Given, part: Part, values: tuple[Ints, Ints, bool, Ints]
) -> Floats:
    """Return average precision, values x classes, at the first threshold of `given`.

    `values` are the number of the value of each object and of each detection (-1: none), whether what was given nothing
    is of every value instead, and how many objects there are, values x classes.
    """
    from validation.model import precision_kernel as kernel

    of_truth, of_detected, every, objects = values
    found = kernel.Sorted(order.rows, order.start, order.score, detected.rank, given, part.alone, part.objects)
    asked = kernel.Asked(objects, RECALLS, LIMITS)
    mean: Floats = kernel.mean_by_value(found, kernel.Values(of_truth, of_detected, every), asked)
    return mean


def objects_of(truth: Truth, counted: Bools, classes: int) -> Ints:
    """Return how many of the `counted` rows of the truth each class has."""
    return np.bincount(truth.label[counted], minlength=classes)


def mean_of_found(values: Floats) -> float | None:
    """Return the mean over what is a number; None where nothing is."""
    found = values[np.isfinite(values)]
    return float(found.mean()) if found.size else None
