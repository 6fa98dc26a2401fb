"""Challenger beside champion: a metric with intervals, over everything, per class and per slice."""

from dataclasses import dataclass, replace

import numpy as np

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import Metric
from validation.model.evaluation import Evaluation
from validation.model.precision import number_or_none
from validation.model.resample import (
    RESAMPLES,
    Difference,
    Interval,
    Samples,
    class_difference,
    difference,
    groups_of,
    sample_metric,
    share_interval,
)
from validation.model.scene import Ints
from validation.model.scored import Scored, scored_of

_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Draws:
    """How intervals are drawn."""

    seed: int = 0
    resamples: int = RESAMPLES


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a number stands on."""

    frames: int
    drive_groups: int
    objects: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The challenger's value with its interval, and where there is a champion, its value and the difference."""

    name: str
    value: float | None
    interval: Interval | None
    champion: float | None
    change: Difference | None
    counts: Counts

    def agrees(self, measured: float | None) -> bool:
        """Return whether it is of the number that was measured: of the same objects, at the same overlaps."""
        if self.value is None or measured is None:
            return self.value is measured
        return abs(self.value - measured) < _SAME


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two models (or one) on the same hold-out."""

    metric: Metric
    draws: Draws
    overall: Estimate
    per_class: tuple[Estimate, ...]
    per_slice: tuple[Estimate, ...]


def compare(
    challenger: Evaluation | Scored, champion: Evaluation | Scored | None, metric: Metric, draws: Draws
) -> Comparison:
    """Return `metric` of both with intervals by resampling drive groups, paired draw by draw.

    Raises:
        InvalidInputError: the two were not measured on the same hold-out, classes and slices, by the same code.
    """
    mine_of, theirs_of = scored_of(challenger), scored_of(champion) if champion is not None else None
    if theirs_of is not None:
        refuse_other_measure(mine_of, theirs_of)
    everything = counted_rows(mine_of)
    mine, theirs = _samples(mine_of, metric, everything, draws), _samples_or_none(theirs_of, metric, everything, draws)
    return Comparison(
        metric=metric,
        draws=draws,
        overall=_overall("all classes", mine, theirs, counts_of(mine_of, everything)),
        per_class=tuple(_of_class(mine_of, mine, theirs, label) for label in range(len(mine_of.classes))),
        per_slice=tuple(_of_slice(mine_of, theirs_of, metric, number, draws) for number in range(len(mine_of.slices))),
    )


def compare_overall(
    challenger: Evaluation | Scored, champion: Evaluation | Scored | None, metric: Metric, draws: Draws
) -> Estimate:
    """Return `metric` over all classes of both, with intervals; see `compare`."""
    own = scored_of(challenger)
    everything = counted_rows(own)
    theirs = _samples_or_none(scored_of(champion) if champion is not None else None, metric, everything, draws)
    return _overall(metric, _samples(own, metric, everything, draws), theirs, counts_of(own, everything))


def refuse_other_measure(challenger: Scored, champion: Scored) -> None:
    """Raise unless both were measured by the same code, in the same mode, on one hold-out version, from one score on.

    Of two models the one of which fewer scores counted looks worse than it is.
    """
    left, right = challenger.measure, champion.measure
    ids = {model.holdout_id for model in (challenger, champion) if "/" not in model.holdout_id}  # no paths of files
    if left.holdout != right.holdout or len(ids) > 1:
        told = _short(challenger), _short(champion)
        which = f"{told[0]} and {told[1]}"
        if told[0] == told[1]:
            which = f"both are called {told[0]}, and frames, drive groups, classes, labels or slices differ"
        raise InvalidInputError(
            f"Challenger and champion were measured on different hold-outs ({which}): score both on the same one, then "
            "compare."
        )
    if left.mode != right.mode:
        raise InvalidInputError(
            f"Challenger and champion were measured in different modes ({left.mode} and {right.mode}): "
            "score both in one mode, then compare."
        )
    if left.code != right.code:
        raise InvalidInputError(
            "Challenger and champion were measured by different versions of the evaluator "
            f"({left.code[:12]} and {right.code[:12]}): score both with this one, then compare."
        )
    if challenger.min_score != champion.min_score:
        raise InvalidInputError(
            f"The challenger's detections count with a score of {challenger.min_score:g} or more, the champion's with "
            f"{champion.min_score:g} or more: evaluate both with the same --min-score, then compare."
        )


def counted_rows(model: Evaluation | Scored) -> Ints:
    """Return the rows of the frames in which somebody looked for anything."""
    looked = model.looked_for() if isinstance(model, Scored) else model.scene.looked_for()
    return np.flatnonzero(looked)


def counts_of(model: Scored, rows: Ints, label: int | None = None) -> Counts:
    """Return frames, drive groups and objects of `rows`, of one class or of all."""
    rows = rows[model.looked_for(label)[rows]]
    within = np.zeros(len(model.frame_group), bool)
    within[rows] = True
    inside = within[model.sweep.object_frame]
    if label is not None:
        inside &= model.sweep.object_label == label
    return Counts(len(rows), len(np.unique(model.frame_group[rows])), int(inside.sum()))


def estimate(model: Evaluation | Scored, metric: Metric, rows: Ints, label: int | None, draws: Draws) -> Estimate:
    """Return one number of one model with its interval, over `rows`, of one class or of all."""
    own = scored_of(model)
    samples, counts = _samples(own, metric, rows, draws), counts_of(own, rows, label)
    if label is None:
        return _overall("", samples, None, counts)
    value, column = float(samples.point[label]), samples.resampled[:, label]
    interval = share_interval(value, column, int(samples.drive_groups_of[label]))
    return Estimate("", number_or_none(value), interval, None, None, counts)


def _samples(model: Scored, metric: Metric, rows: Ints, draws: Draws) -> Samples:
    return sample_metric(model.sweep, metric, groups_of(model.frame_group, rows), draws.seed, draws.resamples)


def _samples_or_none(model: Scored | None, metric: Metric, rows: Ints, draws: Draws) -> Samples | None:
    return None if model is None else _samples(model, metric, rows, draws)


def _overall(name: str, mine: Samples, theirs: Samples | None, counts: Counts) -> Estimate:
    value, rows = mine.overall()
    interval = share_interval(value, rows, mine.drive_groups)
    if theirs is None:
        return Estimate(name, number_or_none(value), interval, None, None, counts)
    return Estimate(
        name, number_or_none(value), interval, number_or_none(theirs.overall()[0]), difference(mine, theirs), counts
    )


def _of_class(challenger: Scored, mine: Samples, theirs: Samples | None, label: int) -> Estimate:
    name = challenger.classes[label]
    value = float(mine.point[label])
    interval = share_interval(value, mine.resampled[:, label], int(mine.drive_groups_of[label]))
    counts = counts_of(challenger, counted_rows(challenger), label)
    if theirs is None:
        return Estimate(name, number_or_none(value), interval, None, None, counts)
    change = class_difference(mine, theirs, label)
    return Estimate(name, number_or_none(value), interval, number_or_none(float(theirs.point[label])), change, counts)


def _of_slice(challenger: Scored, champion: Scored | None, metric: Metric, number: int, draws: Draws) -> Estimate:
    part = challenger.slices[number]
    own, other = _within(challenger, number), _within(champion, number) if champion is not None else None
    counts = counts_of_objects(own, part.rows) if part.sweep is not None else counts_of(own, part.rows)
    if not len(part.rows):
        return Estimate(part.name, None, None, None, None, counts)
    mine, theirs = _samples(own, metric, part.rows, draws), _samples_or_none(other, metric, part.rows, draws)
    return _overall(part.name, mine, theirs, counts)


def _within(model: Scored, number: int) -> Scored:
    """Return the model as it is in a slice: of the objects that the slice is about."""
    sweep = model.slices[number].sweep
    return model if sweep is None else replace(model, sweep=sweep)


def counts_of_objects(model: Scored, rows: Ints, label: int | None = None) -> Counts:
    """Return how much a slice of some objects stands on: the frames and groups that hold such an object."""
    within = np.isin(model.sweep.object_frame, rows)
    if label is not None:
        within &= model.sweep.object_label == label
    frames = np.unique(model.sweep.object_frame[within])
    return Counts(len(frames), len(np.unique(model.frame_group[frames])), int(within.sum()))


def _short(model: Scored) -> str:
    called = (model.holdout_id or model.measure.holdout).rstrip("/")
    name = called.rpartition("/")[2] if "/" in called else called[:12]  # a file's name, or the start of a digest
    return f"{name} with {len(model.frame_group)} frames"
