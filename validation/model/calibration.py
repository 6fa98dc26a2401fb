"""How far the scores of a model can be believed: detection calibration error and the rows of a reliability diagram."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.model.match import Matches, overlap_of
from validation.model.nearest import at_threshold
from validation.model.precision import number_or_none
from validation.model.scene import Bools, Floats, Scene

BINS = 25


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Detections whose score lies from `low` up to `high`: what they said, how many were right, how well they lay."""

    low: float
    high: float
    count: int
    mean_score: float
    share_right: float
    mean_overlap: float | None  # IoU of the right ones; None where none is


@dataclass(frozen=True, slots=True)
class ClassCalibration:
    """One class; None where it has no detection that counts."""

    class_name: str
    d_ece: float | None
    la_ece: float | None
    detections: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores against what came of them, over all detections that count: those in ignore regions do not.

    Right is a detection to which the one matching gave an object at an overlap (IoU) of 0.5: in order of falling score,
    so a second one on an object is wrong. With n detections, n_b of them in bin b:

    * `d_ece` = sum of n_b / n x |share right in b - mean score in b|, over 25 bins of equal width;
    * `max_error`: the largest of those differences;
    * `la_ece`, per class and then the mean: sum of n_b / n x |share right x mean IoU of the right ones - mean score|;
    * `signed` = share right - mean score over all: below 0 the model is too sure.

    None where nothing was detected.
    """

    overlap: float
    d_ece: float | None
    max_error: float | None
    la_ece: float | None
    signed: float | None
    rows: tuple[ReliabilityRow, ...]  # bins that hold a detection
    per_class: tuple[ClassCalibration, ...]
    detections: int


@dataclass(frozen=True, slots=True)
class _Bins:
    """Sums by class and bin."""

    count: Floats
    score: Floats
    right: Floats
    overlap: Floats


def find_calibration(scene: Scene, matches: Matches) -> Calibration | None:
    """Return how the scores of the detections compare with their success; None where scores are no chances."""
    if not are_chances(scene):
        return None
    row = at_threshold(matches, 0.5)
    bins = _bins(scene, matches, row)
    every = _Bins(*(part.sum(axis=0) for part in (bins.count, bins.score, bins.right, bins.overlap)))
    d_ece, la_ece = _d_ece(bins), _la_ece(bins)
    total = float(every.count.sum())
    per_class = tuple(
        ClassCalibration(
            name, number_or_none(d_ece[label]), number_or_none(la_ece[label]), int(bins.count[label].sum())
        )
        for label, name in enumerate(scene.classes)
    )
    return Calibration(
        overlap=float(matches.thresholds[row]),
        d_ece=number_or_none(_d_ece(every)),
        max_error=float(_gaps(every).max()) if total else None,
        la_ece=float(np.nanmean(la_ece)) if total else None,
        signed=float((every.right.sum() - every.score.sum()) / total) if total else None,
        rows=_rows(every),
        per_class=per_class,
        detections=int(total),
    )


def are_chances(scene: Scene) -> bool:
    """Tell whether all scores lie from 0 to 1; others (logits, percent) order detections and say nothing else."""
    score = scene.detected.score
    return bool(score.min(initial=0.0) >= 0 and score.max(initial=1.0) <= 1)


def bin_of(score: Floats) -> NDArray[np.int64]:
    """Return the bin of each score; 1 lies in the last, and what lies outside 0 to 1 in the nearest."""
    return np.clip((score * BINS).astype(np.int64), 0, BINS - 1)


def _bins(scene: Scene, matches: Matches, row: int) -> _Bins:
    right, counted = matches.right()[row], ~matches.void[row]
    size = len(scene.classes) * BINS
    place = scene.detected.label * BINS + bin_of(scene.detected.score)

    def sums(rows: Bools, weights: Floats | None = None) -> Floats:
        found = np.bincount(place[rows], None if weights is None else weights[rows], minlength=size)
        return found.reshape(-1, BINS).astype(float)

    return _Bins(
        sums(counted), sums(counted, scene.detected.score), sums(right), sums(right, _overlaps(scene, matches, row))
    )


def _overlaps(scene: Scene, matches: Matches, row: int) -> Floats:
    rows = np.flatnonzero(matches.right()[row])
    objects = matches.truth[row][rows]
    overlap = np.zeros(len(scene.detected.frame))
    overlap[rows] = overlap_of(scene.detected.corners[rows], scene.truth.corners[objects])
    return overlap


def _gaps(bins: _Bins) -> Floats:
    """Return by bin how far the share of right ones lies from the mean score."""
    return np.abs(bins.right - bins.score) / np.maximum(bins.count, 1)


def _d_ece(bins: _Bins) -> Floats:
    return _over(np.abs(bins.right - bins.score).sum(axis=-1), bins.count.sum(axis=-1))


def _la_ece(bins: _Bins) -> Floats:
    """The share right times the mean IoU of the right ones is the sum of their IoU over the count."""
    return _over(np.abs(bins.overlap - bins.score).sum(axis=-1), bins.count.sum(axis=-1))


def _over(part: Floats, whole: Floats) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
    return shares


def _rows(bins: _Bins) -> tuple[ReliabilityRow, ...]:
    rows = []
    for number in np.flatnonzero(bins.count).tolist():
        count, right = bins.count[number], bins.right[number]
        mean_overlap = float(bins.overlap[number] / right) if right else None
        low, high = number / BINS, (number + 1) / BINS
        shares = float(bins.score[number] / count), float(right / count)
        rows.append(ReliabilityRow(low, high, int(count), *shares, mean_overlap))
    return tuple(rows)
