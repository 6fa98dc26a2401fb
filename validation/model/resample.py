"""How sure a number is: metrics over resampled drive groups, from matches that were computed once."""

import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driveflow.flow.sections import Metric
from validation.model.curves import RECALLS
from validation.model.scene import Floats, Ints
from validation.model.sweep import ClassSweep, Sweep, class_sweeps, recall_share

RESAMPLES = 10_000
LEVEL = 0.95
_BYTES_AT_ONCE = 128_000_000  # of weights: the draws of 6,400 drives are kept, and made once for all slices
_ROWS_PER_THREAD = 1_000_000
_LINE_BYTES = 64


Numbers: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Interval:
    """What the number would be, had other drives been recorded, 95 times of 100.

    It is studentised: as many standard errors to each side as Student's t with one less degree of freedom than there
    are drive groups, the standard error taken from resampled drives.
    """

    low: float
    high: float
    drive_groups: int
    resamples: int


@dataclass(frozen=True, slots=True)
class Samples:
    """A metric as it is and over resamples, per class: rows are resamples, columns classes, NaN without an object.

    `drive_groups` counts those with an object: a drive without any tells next to nothing.
    `drive_groups_of` counts them by class.
    """

    point: Floats
    resampled: Numbers
    drive_groups: int
    drive_groups_of: Ints
    means: Numbers  # per resample, over the classes that have an object in it

    def overall(self) -> tuple[float, Numbers]:
        """Return the mean over classes that have an object, as it is and per resample."""
        return float(_mean_of_found(self.point[None, :])[0]), self.means


@dataclass(frozen=True, slots=True)
class Difference:
    """Challenger minus champion, with its interval; `error` is the standard error, 0 where nothing varies."""

    value: float
    interval: Interval | None
    error: float

    def chance_of_not_worse(self, margin: float) -> float:
        """Return the one-sided p-value of "worse by no more than `margin`": small where worse is proven."""
        if self.interval is None:
            return 1.0
        if not self.error:
            return float(self.value >= -margin)
        from scipy.special import stdtr

        return float(stdtr(self.interval.drive_groups - 1, (self.value + margin) / self.error))


def sample_metric(
    sweep: Sweep, metric: Metric, group_of_frame: Ints, seed: int = 0, resamples: int = RESAMPLES
) -> Samples:
    """Return `metric` over the frames that have a group (see `groups_of`), and over draws of the groups.

    Each draw takes as many groups as there are, with replacement. The draws depend on the number of groups, `seed` and
    `resamples` only, so two models on one hold-out see the same ones. The number itself is exact. A resampled one is
    mostly within 1e-6, and always within 1/101, of what evaluating the drawn drives would say: its sums are of single
    precision, and a recall that misses one of COCO's 101 by rounding has reached it.
    """
    classes = range(len(sweep.start) - 1)
    parts = class_sweeps(sweep, metric, group_of_frame)
    point = np.array([_exact(part, metric) for part in parts])
    objects = np.stack([part.objects for part in parts]) if parts else np.zeros((0, 0), np.int64)
    resampled = np.full((resamples, len(parts)), np.nan, np.float32)
    asked = [label for label in classes if np.isfinite(point[label])]
    for first, weight in _draws(objects.shape[1], seed, resamples):
        rows = slice(first, min(first + len(weight) * weight.shape[2], resamples))
        done = _at_once([parts[label] for label in asked], metric, weight)
        for label, values in zip(asked, done, strict=True):
            resampled[rows, label] = values[: rows.stop - rows.start]
    groups = int((objects.sum(axis=0) > 0).sum())
    return Samples(point, resampled, groups, (objects > 0).sum(axis=1), _mean_of_found(resampled))


def _at_once(parts: list[ClassSweep], metric: Metric, weight: NDArray[np.int16]) -> list[Numbers]:
    """Return the resampled metric of each class; on all processors where that is worth the start of a thread."""
    if len(weight) * sum(len(part.group) for part in parts) < _ROWS_PER_THREAD:
        return [_resampled(part, metric, weight) for part in parts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda part: _resampled(part, metric, weight), parts))


def groups_of(frame_group: Ints, rows: Ints) -> Ints:
    """Return per frame the place of its group among those of the frames `rows`; -1 where it is none of them."""
    of_frame = np.full(len(frame_group), -1)
    of_frame[rows] = np.unique(frame_group[rows], return_inverse=True)[1]
    return of_frame


def share_interval(point: float, resampled: Numbers, drive_groups: int) -> Interval | None:
    """Return the interval of a share, kept within 0 and 1. None: there is no number."""
    found = interval_of(point, resampled, drive_groups)
    if found is None:
        return None
    return Interval(max(found.low, 0.0), min(found.high, 1.0), found.drive_groups, found.resamples)


def interval_of(point: float, resampled: Numbers, drive_groups: int) -> Interval | None:
    """Return the interval of a number. None: there is no number, or less than two drive groups to tell from."""
    found = int(np.isfinite(resampled).sum())
    if not np.isfinite(point) or found < 2 or drive_groups < 2:
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(drive_groups - 1, (1 + LEVEL) / 2)) * standard_error(resampled, drive_groups)
    return Interval(point - reach, point + reach, drive_groups, found)


def standard_error(resampled: Numbers, drive_groups: int) -> float:
    """Return the spread of resampled numbers, made up for what a sample of so few groups lacks."""
    found = resampled[np.isfinite(resampled)].astype(np.float64)
    return float(found.std(ddof=1)) * float(np.sqrt(drive_groups / (drive_groups - 1)))


def difference(challenger: Samples, champion: Samples) -> Difference:
    """Return challenger minus champion of the means over classes, paired draw by draw."""
    (left, left_rows), (right, right_rows) = challenger.overall(), champion.overall()
    return _difference(left - right, left_rows - right_rows, challenger.drive_groups)


def class_difference(challenger: Samples, champion: Samples, label: int) -> Difference:
    """Return challenger minus champion of one class, paired draw by draw."""
    rows = challenger.resampled[:, label] - champion.resampled[:, label]
    groups = int(challenger.drive_groups_of[label])
    return _difference(float(challenger.point[label] - champion.point[label]), rows, groups)


def _difference(value: float, rows: Numbers, drive_groups: int) -> Difference:
    interval = interval_of(value, rows, drive_groups)
    return Difference(value, interval, standard_error(rows, drive_groups) if interval is not None else 0.0)


def _exact(part: ClassSweep, metric: Metric) -> float:
    """Return the metric of one class as it is, NaN without an object."""
    objects = float(part.objects.sum())
    if not objects:
        return float("nan")
    if metric == "AR100":
        return float(recall_share(part).sum() / objects)
    from validation.model.drive_kernel import exact_precision

    return float(exact_precision((part.right, part.counted, part.last, part.thresholds), int(objects), RECALLS))


def _resampled(part: ClassSweep, metric: Metric, weight: NDArray[np.int16]) -> Numbers:
    """Return the metric of one class under blocks of weights (blocks x groups x lanes), NaN without an object."""
    if metric == "AR100":
        objects, found = _under(part.objects, weight), _under(recall_share(part), weight)
        values = np.divide(found, objects, out=np.full(found.shape, np.nan), where=objects > 0)
        return np.asarray(values.ravel())
    from validation.model.drive_kernel import average_precisions

    out = np.empty((len(weight), weight.shape[2]), np.float32)
    average_precisions((part.group, part.right, part.counted, part.last, part.thresholds), part.objects, weight, out)
    return out.ravel()


def _under(count: Ints | Floats, weight: NDArray[np.int16]) -> Floats:
    """Return the weighted sum of a count by group, blocks x lanes."""
    total: Floats = np.einsum("g,bgl->bl", count.astype(np.float32), weight, dtype=np.float32, casting="unsafe")
    return total


def _draws(groups: int, seed: int, resamples: int) -> Iterator[tuple[int, NDArray[np.int16]]]:
    """Yield the number of the first resample and blocks of weights; more resamples only append to the stream."""
    if not groups or not resamples:
        return
    from validation.model.drive_kernel import LANES

    blocks = -(-resamples // LANES)
    at_once = max(1, _BYTES_AT_ONCE // (2 * groups * LANES))
    if at_once >= blocks:
        yield 0, _kept_weights(groups, seed, blocks)
        return
    random = np.random.default_rng(seed)
    for first in range(0, blocks, at_once):
        yield first * LANES, _weights(random, groups, min(at_once, blocks - first))


@functools.lru_cache(maxsize=2)
def _kept_weights(groups: int, seed: int, blocks: int) -> NDArray[np.int16]:
    """Return the weights of all blocks; kept, because two models and slices of as many drives ask for the same."""
    return _weights(np.random.default_rng(seed), groups, blocks)


def _weights(random: np.random.Generator, groups: int, blocks: int) -> NDArray[np.int16]:
    from validation.model.drive_kernel import LANES

    room = np.empty(blocks * groups * LANES + _LINE_BYTES // 2, np.int16)
    first = -room.ctypes.data % _LINE_BYTES // 2  # wide instructions are slow across lines of the cache
    weight = room[first : first + blocks * groups * LANES].reshape(blocks, groups, LANES)
    for block in weight:
        _draw(random, block)
    return weight


def _draw(random: np.random.Generator, block: NDArray[np.int16]) -> None:
    """Fill groups x lanes with how often each group is drawn in each of the resamples."""
    groups, lanes = block.shape
    chosen = random.integers(0, groups, (lanes, groups)) * lanes + np.arange(lanes)[:, None]
    block[:] = np.bincount(chosen.ravel(), minlength=groups * lanes).reshape(groups, lanes)


def _mean_of_found(values: Numbers) -> Floats:
    there = np.isfinite(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1, dtype=np.float64)
    means: Floats = np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)
    return means
