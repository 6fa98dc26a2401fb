"""Which class was taken for which, from the matches that also give precision and recall."""

from dataclasses import dataclass

import numpy as np

from driveflow.errors import IntegrityError
from validation.model.curves import OperatingPoint
from validation.model.match import NONE, Matches
from validation.model.nearest import take_in_turn
from validation.model.scene import Bools, Ints, Scene

BACKGROUND = "background"
_LEAST_OVERLAP = 0.5


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts at IoU 0.5 and each class's operating score: rows are truth, columns what was said, background is last.

    A row adds up to the objects of its class, a column to the detections said to be of its class.
    """

    classes: tuple[str, ...]
    counts: Ints


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Detections and objects that do not agree at the operating scores; rows of the scene's tables.

    `taken_for` gives, per false detection, the object of another class that it covers, or NONE.
    """

    shown: Bools  # detections at or over their class's score
    false: Ints
    taken_for: Ints
    missed: Ints  # objects that nothing found, those taken for another class included


def find_mistakes(scene: Scene, matches: Matches, points: tuple[OperatingPoint, ...]) -> Mistakes:
    """Return what is wrong where each class is cut at its operating score."""
    limits = np.array([point.score for point in points])
    shown = scene.detected.score >= limits[scene.detected.label] if len(points) else np.zeros(0, bool)
    found = matches.truth[0]
    false = np.flatnonzero(shown & (found == NONE))
    unseen = ~scene.truth.ignore
    unseen[found[shown & (found != NONE)]] = False
    missed = np.flatnonzero(unseen)
    return Mistakes(shown, false, _taken_for(scene, false, missed), missed)


def confusion(scene: Scene, matches: Matches, mistakes: Mistakes, points: tuple[OperatingPoint, ...]) -> Confusion:
    """Return the matrix, after checking that its margins are the counts that precision and recall are made of.

    Raises:
        IntegrityError: they are not; then no number of this evaluation can be trusted.
    """
    size = len(scene.classes) + 1
    counts = np.zeros((size, size), np.int64)
    right = np.flatnonzero(mistakes.shown & matches.right()[0])
    np.add.at(counts, (scene.detected.label[right], scene.detected.label[right]), 1)
    taken = mistakes.taken_for != NONE
    said = scene.detected.label[mistakes.false]
    np.add.at(counts, (scene.truth.label[mistakes.taken_for[taken]], said[taken]), 1)
    np.add.at(counts, (np.full(int((~taken).sum()), size - 1), said[~taken]), 1)
    unseen = np.setdiff1d(mistakes.missed, mistakes.taken_for[taken])
    np.add.at(counts, (scene.truth.label[unseen], np.full(len(unseen), size - 1)), 1)
    _check_margins(counts, points)
    return Confusion((*scene.classes, BACKGROUND), counts)


def _check_margins(counts: Ints, points: tuple[OperatingPoint, ...]) -> None:
    for label, point in enumerate(points):
        rows = (int(counts[label].sum()), int(counts[:, label].sum()), int(counts[label, label]))
        expected = (point.right + point.missed, point.right + point.false, point.right)
        if rows != expected:
            raise IntegrityError(f"Class {label}: the confusion matrix counts {rows}, precision and recall {expected}.")


def _taken_for(scene: Scene, false: Ints, missed: Ints) -> Ints:
    """Let false detections choose among missed objects of any class in their frame, in order of falling score."""
    turn = np.lexsort((-scene.detected.score[false], scene.detected.frame[false]))
    taken = np.full(len(false), NONE, np.int64)
    taken[turn] = take_in_turn(scene, false[turn], missed, _LEAST_OVERLAP)
    return taken
