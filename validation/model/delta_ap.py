"""What AP50 would be without one kind of mistake: TIDE's oracles, one kind at a time."""

from dataclasses import dataclass, replace

import numpy as np

from validation.model.errors import BKG, BOTH, CLS, DUPE, KINDS, LOC, MISS, ErrorKind, Errors
from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.precision import Given, Order, Part, mean_of_found, objects_of, worth
from validation.model.scene import Bools, Floats, Ints, Scene


@dataclass(frozen=True, slots=True)
class DeltaAP:
    """AP50 as it is, and what mending a kind of mistake adds to it: over the classes with an object, and by class.

    `Cls` and `Loc` are mended by giving the detection the object's class or box: of those about one missed object the
    surest becomes right, the others go. `Both`, `Dupe`, `Bkg` and all `false` ones go. Objects of `Miss`, and all
    `missed` ones, need not be found. A class without an object left to find has 1, or 0 if something wrong was said.
    The sum is no share of what is missing to 1: each is mended alone.
    """

    ap50: float | None
    kinds: tuple[float | None, ...]  # in the order of KINDS
    false: float | None
    missed: float | None
    by_class: Floats  # kinds x classes, NaN without an object

    def of(self, kind: ErrorKind) -> float | None:
        """Return what mending `kind` adds."""
        return self.kinds[KINDS.index(kind)]


@dataclass(frozen=True, slots=True)
class _Case:
    """Detections and what they were given, as a mended model would have them."""

    order: Order
    given: Given  # by detection
    alone: Bools
    objects: Ints


def find_delta_ap(scene: Scene, matches: Matches, errors: Errors, order: Order) -> DeltaAP:
    """Return what each kind of mistake costs."""
    classes = len(scene.classes)
    counted = ~scene.truth.ignore
    objects = objects_of(scene.truth, counted, classes)
    everywhere = np.ones(len(scene.detected.frame), bool)
    case = _Case(order, matches.truth[at_threshold(matches, errors.overlap)], everywhere, objects)
    base = _ap(scene, case, case.objects)
    unexplained = objects_of(scene.truth, errors.missed & ~errors.explained, classes)
    mended = {
        CLS: _with_classes(scene, case, errors),
        LOC: _with_boxes(scene, case, errors),
        **{kind: replace(case, alone=errors.kind != kind) for kind in (BOTH, DUPE, BKG)},
        MISS: replace(case, objects=objects - unexplained),
    }
    by_class = np.array([_ap(scene, mended[kind], objects) - base for kind in range(len(KINDS))])
    no_false = _ap(scene, replace(case, alone=~everywhere), objects) - base
    all_found = replace(case, objects=objects - objects_of(scene.truth, errors.missed, classes))
    no_missed = _ap(scene, all_found, objects) - base
    kinds = tuple(mean_of_found(row) for row in by_class)
    return DeltaAP(mean_of_found(base), kinds, mean_of_found(no_false), mean_of_found(no_missed), by_class)


def _ap(scene: Scene, case: _Case, objects: Ints) -> Floats:
    """Return AP50 by class; NaN where there was no object to begin with; `objects` has what there was."""
    part = Part(~scene.truth.ignore, case.alone)
    found: Floats = worth(case.order, scene.detected, case.given[None, :], part, case.objects).mean[0]
    for label in np.flatnonzero((objects > 0) & (case.objects == 0)).tolist():
        rows = case.order.rows[case.order.start[label] : case.order.start[label + 1]]
        found[label] = 0.0 if ((case.given[rows] < 0) & case.alone[rows]).any() else 1.0
    return found


def _with_boxes(scene: Scene, case: _Case, errors: Errors) -> _Case:
    rows = np.flatnonzero(errors.kind == LOC)
    return replace(case, given=_given(case.given, errors, _surest(scene, rows, errors)), alone=errors.kind != LOC)


def _with_classes(scene: Scene, case: _Case, errors: Errors) -> _Case:
    right = _surest(scene, np.flatnonzero(errors.kind == CLS), errors)
    staying = np.ones(len(errors.kind), bool)
    staying[right] = False
    order = _insert(case.order.within(staying), right, scene.truth.label[errors.about[right]])
    return replace(case, order=order, given=_given(case.given, errors, right), alone=errors.kind != CLS)


def _surest(scene: Scene, rows: Ints, errors: Errors) -> Ints:
    """Return, of each missed object that `rows` are about, the one with the highest score."""
    rows = rows[errors.missed[errors.about[rows]]]
    order = rows[np.lexsort((rows, -scene.detected.score[rows], errors.about[rows]))]
    return order[np.flatnonzero(np.diff(errors.about[order], prepend=-1))]


def _given(given: Given, errors: Errors, right: Ints) -> Given:
    changed = given.copy()
    changed[right] = errors.about[right]
    return changed


def _insert(order: Order, rows: Ints, labels: Ints) -> Order:
    """Return the order with `rows` among the detections of `labels`."""
    turn = np.lexsort((-order.score[rows], labels))
    rows, labels = rows[turn], labels[turn]
    places = np.zeros(len(rows), np.int64)
    bounds = np.searchsorted(labels, np.arange(len(order.start)))
    for label in np.unique(labels).tolist():
        own = slice(bounds[label], bounds[label + 1])
        there = order.rows[order.start[label] : order.start[label + 1]]
        places[own] = order.start[label] + np.searchsorted(-order.score[there], -order.score[rows[own]], "right")
    return Order(np.insert(order.rows, places, rows), order.start + bounds, order.score)
