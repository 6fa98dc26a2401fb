"""What kind of mistake each wrong detection and each missed object is: TIDE's six kinds, from the one matching.

A wrong detection is one that the matching gave nothing, at an overlap (IoU) of 0.5. Of the objects that it overlaps:

* one by 0.5 or more: `Dupe` where the one that it overlaps most is of its own class, for then another detection has it;
  else `Cls`. Where a detection of the same class and a higher score said `Cls` of that object already, it is `Dupe`.
* else one of its own class by 0.1 or more: `Loc`.
* else one of another class by 0.1 or more: `Both`.
* else `Bkg`.

`Miss` is an object that no detection was given, and of which no `Cls` or `Loc` speaks. The kinds and limits are those
of Bolya et al., TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020; which overlap decides where
there are several is ours.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driveflow.errors import IntegrityError
from validation.model.confusion import Mistakes
from validation.model.match import NONE, Matches
from validation.model.nearest import Nearest, at_threshold
from validation.model.scene import Bools, Ints, Scene

ErrorKind: TypeAlias = Literal["Cls", "Loc", "Both", "Dupe", "Bkg", "Miss"]
KINDS: tuple[ErrorKind, ...] = ("Cls", "Loc", "Both", "Dupe", "Bkg", "Miss")
CLS, LOC, BOTH, DUPE, BKG, MISS = range(6)
FOREGROUND, BACKGROUND = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each of KINDS was found among some detections: kinds x classes, and the sums that it adds up to.

    A detection counts for the class it was said to be, an object for its own. The six kinds together are
    `wrong` + `missed` - `explained`: the objects of which a `Cls` or `Loc` speaks are missed, and no `Miss`.
    """

    counts: Ints
    wrong: int
    missed: int
    explained: int

    def of(self, kind: ErrorKind) -> int:
        """Return how often `kind` was found."""
        return int(self.counts[KINDS.index(kind)].sum())


@dataclass(frozen=True, slots=True)
class Errors:
    """Every mistake with its kind; rows are those of the scene's tables.

    `kind` is a number of KINDS per detection, NONE where it is right or in an ignore region; `about` the object it is
    named by, NONE for `Bkg`. `every` counts all detections, `shown` those from the operating scores on.
    """

    overlap: float
    kind: NDArray[np.int8]
    about: NDArray[np.int32]
    missed: Bools
    explained: Bools
    every: Tally
    shown: Tally


def find_errors(scene: Scene, matches: Matches, mistakes: Mistakes, nearest: Nearest) -> Errors:
    """Return the kind of every mistake.

    Raises:
        IntegrityError: the kinds do not add up to the wrong detections and the missed objects.
    """
    row = at_threshold(matches, FOREGROUND)
    given, wrong = matches.truth[row], matches.wrong()[row]
    kind, about = _kinds(scene, nearest, wrong)
    missed = ~scene.truth.ignore
    missed[given[given != NONE]] = False
    unseen = np.zeros(len(missed), bool)
    unseen[mistakes.missed] = True
    explained = missed & _spoken_of(kind, about, len(missed))
    shown = np.where(mistakes.shown, kind, NONE).astype(np.int8)
    explained_shown = unseen & _spoken_of(shown, about, len(missed))
    every = _tally(scene, kind, missed, explained)
    of_shown = _tally(scene, shown, unseen, explained_shown)
    _check(every, int(wrong.sum()))
    _check(of_shown, len(mistakes.false))
    return Errors(float(matches.thresholds[row]), kind, about, missed, explained, every, of_shown)


def _kinds(scene: Scene, nearest: Nearest, wrong: Bools) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    from validation.model.nearest_kernel import Found, kinds

    overlaps = nearest.own, nearest.own_overlap, nearest.other, nearest.other_overlap, nearest.region_overlap
    kind, about = kinds(Found(*overlaps), wrong, (FOREGROUND, BACKGROUND))
    kind[_said_before(scene, np.flatnonzero(kind == CLS), about)] = DUPE
    return kind, about


def _said_before(scene: Scene, rows: Ints, about: NDArray[np.int32]) -> Ints:
    """Return those of `rows` about whose object a detection of the same class and a higher score speaks too."""
    label, score = scene.detected.label[rows], scene.detected.score[rows]
    order = np.lexsort((rows, -score, label, about[rows]))
    sorted_rows = rows[order]
    again = np.zeros(len(rows), bool)
    again[1:] = (np.diff(about[sorted_rows]) == 0) & (np.diff(label[order]) == 0)
    return sorted_rows[again]


def _spoken_of(kind: NDArray[np.int8], about: NDArray[np.int32], objects: int) -> Bools:
    found = np.zeros(objects, bool)
    found[about[(kind == CLS) | (kind == LOC)]] = True
    return found


def _tally(scene: Scene, kind: NDArray[np.int8], missed: Bools, explained: Bools) -> Tally:
    classes = len(scene.classes)
    rows = np.flatnonzero(kind != NONE)
    places = kind[rows].astype(np.int64) * classes + scene.detected.label[rows]
    counts = np.bincount(places, minlength=6 * classes).reshape(6, classes)
    counts[MISS] = np.bincount(scene.truth.label[missed & ~explained], minlength=classes)
    return Tally(counts, len(rows), int(missed.sum()), int(explained.sum()))


def _check(tally: Tally, wrong: int) -> None:
    found, expected = int(tally.counts.sum()), wrong + tally.missed - tally.explained
    if found != expected or tally.wrong != wrong:
        raise IntegrityError(f"The kinds of mistakes add up to {found}; wrong and missed are {expected} together.")
