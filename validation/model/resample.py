"""How sure a number is: metrics over resampled drive groups, from matches that were computed once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from driveflow.flow.sections import Metric
from validation.model.match import Matches
from validation.model.scene import Floats, Ints, Scene
from validation.model.weighted import class_metric

RESAMPLES = 1_000
LEVEL = 0.95
_CELLS_AT_ONCE = 2_000_000  # weights of one chunk; bounds memory to some 100 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A basic bootstrap interval: what the number would be, had other drives been recorded, 95 times of 100."""

    low: float
    high: float
    drive_groups: int
    resamples: int


@dataclass(frozen=True, slots=True)
class Samples:
    """A metric as it is and over resamples, per class: rows are resamples, columns classes, NaN without an object."""

    point: Floats
    resampled: Floats
    drive_groups: int

    def overall(self) -> tuple[float, Floats]:
        """Return the mean over classes that have an object, as it is and per resample."""
        return float(_mean_of_found(self.point[None, :])[0]), _mean_of_found(self.resampled)


@dataclass(frozen=True, slots=True)
class Difference:
    """Challenger minus champion, with its interval and all resampled differences."""

    value: float
    interval: Interval | None
    resampled: Floats

    def chance_of_not_worse(self, margin: float) -> float:
        """Return the one-sided p-value of "worse by no more than `margin`": small where worse is proven."""
        if self.interval is None:
            return 1.0
        below = int((2 * self.value - self.resampled >= -margin).sum())
        return (1 + below) / (1 + len(self.resampled))


@dataclass(frozen=True, slots=True)
class Scored:
    """What resampling needs of one model on one scene."""

    scene: Scene
    matches: Matches


def sample_metric(scored: Scored, metric: Metric, frames: Ints, seed: int = 0, resamples: int = RESAMPLES) -> Samples:
    """Return `metric` on `frames`, and on `resamples` draws of their drive groups with replacement.

    The draws depend on the groups, `seed` and `resamples` only, so two models on one hold-out see the same draws.
    """
    scene = scored.scene
    groups, group_of_frame = _groups(scene, frames)
    point, columns = [], []
    for label in range(len(scene.classes)):
        part = class_metric(scene, scored.matches, metric, label, group_of_frame)
        point.append(part(np.ones((1, len(groups))))[0])
        columns.append([part(weight) for weight in _draws(len(groups), seed, resamples, part.columns)])
    resampled = [np.concatenate([np.zeros(0), *parts]) for parts in columns]
    return Samples(np.array(point), np.column_stack(resampled), len(groups))


def share_interval(point: float, resampled: Floats, drive_groups: int) -> Interval | None:
    """Return the basic interval of a share, kept within 0 and 1. None: there is no number."""
    found = interval_of(point, resampled, drive_groups)
    if found is None:
        return None
    return Interval(max(found.low, 0.0), min(found.high, 1.0), found.drive_groups, found.resamples)


def interval_of(point: float, resampled: Floats, drive_groups: int) -> Interval | None:
    """Return the basic interval: percentile intervals of AP lean upward, because repeats help it. None: no number."""
    found = resampled[np.isfinite(resampled)]
    if not np.isfinite(point) or len(found) < 2 or drive_groups < 2:
        return None
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(2 * point - high), float(2 * point - low), drive_groups, len(found))


def difference(challenger: Samples, champion: Samples) -> Difference:
    """Return challenger minus champion of the means over classes, paired draw by draw."""
    (left, left_rows), (right, right_rows) = challenger.overall(), champion.overall()
    return _difference(left - right, left_rows - right_rows, challenger.drive_groups)


def class_difference(challenger: Samples, champion: Samples, label: int) -> Difference:
    """Return challenger minus champion of one class, paired draw by draw."""
    rows = challenger.resampled[:, label] - champion.resampled[:, label]
    return _difference(float(challenger.point[label] - champion.point[label]), rows, challenger.drive_groups)


def _difference(value: float, rows: Floats, drive_groups: int) -> Difference:
    return Difference(value, interval_of(value, rows, drive_groups), rows[np.isfinite(rows)])


def _groups(scene: Scene, frames: Ints) -> tuple[Ints, Ints]:
    """Return the groups of `frames`, and per frame of the scene its place among them; -1 where not in `frames`."""
    groups, place = np.unique(scene.frame_group[frames], return_inverse=True)
    of_frame = np.full(len(scene.frame_ids), -1)
    of_frame[frames] = place
    return groups, of_frame


def _draws(groups: int, seed: int, resamples: int, widest: int) -> Iterator[Floats]:
    """Yield weights, a row a resample, in chunks of one stream of random numbers, so that chunking changes nothing."""
    if not groups:
        return
    random = np.random.default_rng(seed)
    step = max(1, _CELLS_AT_ONCE // max(widest, groups))
    for first in range(0, resamples, step):
        rows = min(step, resamples - first)
        chosen = random.integers(0, groups, (rows, groups)) + groups * np.arange(rows)[:, None]
        yield np.bincount(chosen.ravel(), minlength=rows * groups).reshape(rows, groups).astype(float)


def _mean_of_found(values: Floats) -> Floats:
    there = np.isfinite(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1)
    means: Floats = np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)
    return means
