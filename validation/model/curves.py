"""Precision and recall from matches: curves, the best operating point, and average precision under weights."""

from dataclasses import dataclass

import numpy as np

from validation.model.scene import Bools, Floats, Ints

RECALLS: Floats = np.linspace(0.0, 1.0, 101)
_LEAST = float(np.spacing(1))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What a class counts where detections under `score` are dropped: at the best F1, IoU 0.5."""

    score: float
    right: int
    false: int
    missed: int

    @property
    def precision(self) -> float | None:
        """Share of detections that are right; None where there is none."""
        return _share(self.right, self.right + self.false)

    @property
    def recall(self) -> float | None:
        """Share of objects that are found; None where there is none."""
        return _share(self.right, self.right + self.missed)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None where there is no object."""
        return _share(2 * self.right, 2 * self.right + self.false + self.missed) if self.right + self.missed else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision at each of the 101 recalls of RECALLS, IoU 0.5; empty where there is no object."""

    precision: tuple[float, ...]


def operating_point(score: Floats, right: Bools, wrong: Bools, objects: int) -> OperatingPoint:
    """Return the score with the best F1; detections of one score come in together, so their order cannot matter."""
    order = np.argsort(-score, kind="stable")
    last_of_score = np.flatnonzero(np.diff(-score[order], append=np.inf) != 0)
    hits = np.cumsum(right[order])[last_of_score]
    falses = np.cumsum(wrong[order])[last_of_score]
    if not objects or not len(hits):
        return OperatingPoint(0.0, int(right.sum()), int(wrong.sum()), objects - int(right.sum()))
    f1 = 2 * hits / np.maximum(hits + falses + objects, 1)
    best = int(np.argmax(f1))
    found, false = int(hits[best]), int(falses[best])
    return OperatingPoint(float(score[order][last_of_score[best]]), found, false, objects - found)


def point_at(least_score: float, score: Floats, right: Bools, wrong: Bools, objects: int) -> OperatingPoint:
    """Return what is counted where detections under `least_score` are dropped."""
    shown = score >= least_score
    found = int((right & shown).sum())
    return OperatingPoint(least_score, found, int((wrong & shown).sum()), objects - found)


def curve(score: Floats, right: Bools, wrong: Bools, objects: int, *, as_group: bool = True) -> Curve:
    """Return interpolated precision over recall; detections of one score come in together `as_group`, else in order."""
    if not objects:
        return Curve(())
    order = np.argsort(-score, kind="stable")
    hits, seen = np.cumsum(right[order]), np.cumsum((right | wrong)[order])
    ends = np.flatnonzero(np.diff(-score[order], append=np.inf) != 0) if as_group else np.arange(len(order))
    rises = ends[np.diff(hits[ends], prepend=0) > 0]
    columns = (hits[rises].astype(float)[None, :], seen[rises].astype(float)[None, :])
    values = interpolated_precision(*columns, hits_for_recalls(np.array([float(objects)])))
    return Curve(tuple(float(value) for value in values[0]))


def interpolated_precision(hits: Floats, seen: Floats, wanted: Floats) -> Floats:
    """Return rows x 101 precisions of COCO's rule; their mean is AP.

    Columns are where recall rises, in order of falling score. `hits` counts the right detections up to each, `seen` the
    right and the wrong ones; `wanted` is what `hits_for_recalls` says for each row.
    """
    if not hits.shape[1]:
        return np.zeros((len(hits), len(RECALLS)))
    precision = hits / (seen + _LEAST)
    first = _first_at_least(hits, wanted)
    rows, columns = hits.shape
    starts = np.minimum(first, columns - 1) + columns * np.arange(rows)[:, None]
    # The best precision from one recall to the next, and from there on. Recall 0 starts every row, so none runs over.
    best = np.maximum.reduceat(precision.ravel(), starts.ravel()).reshape(first.shape)
    envelope = np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
    return np.where(first < columns, envelope, 0.0)


def hits_for_recalls(objects: Floats) -> Floats:
    """Return, rows x 101, the least whole number of hits whose recall, as a float, reaches each of RECALLS.

    `objects` says how many objects each row has.
    """
    total = np.maximum(objects, 1.0)[:, None]
    near = np.maximum(np.floor(RECALLS[None, :] * total) - 1.0, 0.0)
    for _ in range(3):
        near = np.where(near / total < RECALLS[None, :], near + 1.0, near)
    return near


def _first_at_least(rising: Floats, wanted: Floats) -> Ints:
    """Return, row by row, the first column of `rising` (whole numbers) that is at least each of `wanted`."""
    rows, columns = rising.shape
    step = max(float(rising[:, -1].max()), float(wanted.max())) + 1.0  # moves each row above the one before
    offset = np.arange(rows)[:, None] * step
    flat = np.searchsorted((rising + offset).ravel(), (wanted + offset).ravel(), "left").reshape(wanted.shape)
    found: Ints = np.clip(flat - np.arange(rows)[:, None] * columns, 0, columns)
    return found


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
