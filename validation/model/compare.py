"""Challenger beside champion: a metric with intervals, over everything, per class and per slice."""

from dataclasses import dataclass

import numpy as np

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import Metric
from validation.model.evaluation import Evaluation
from validation.model.resample import (
    RESAMPLES,
    Difference,
    Interval,
    Samples,
    Scored,
    class_difference,
    difference,
    sample_metric,
    share_interval,
)
from validation.model.scene import Ints


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two models (or one) on the same hold-out."""

    metric: Metric
    draws: Draws
    overall: Estimate
    per_class: tuple[Estimate, ...]
    per_slice: tuple[Estimate, ...]


def compare(challenger: Evaluation, champion: Evaluation | None, metric: Metric, draws: Draws) -> Comparison:
    """Return `metric` of both with intervals by resampling drive groups, paired draw by draw.

    Raises:
        InvalidInputError: the two were not measured on the same hold-out, classes and slices.
    """
    if champion is not None:
        refuse_other_holdout(challenger, champion)
    everything = counted_rows(challenger)
    mine, theirs = (_samples(model, metric, everything, draws) for model in (challenger, champion))
    if mine is None:
        raise InvalidInputError("There is no challenger to compare.")
    return Comparison(
        metric=metric,
        draws=draws,
        overall=_overall("all classes", mine, theirs, counts_of(challenger, everything)),
        per_class=tuple(_of_class(challenger, mine, theirs, label) for label in range(len(challenger.per_class))),
        per_slice=tuple(
            _of_slice(challenger, champion, metric, number, draws) for number in range(len(challenger.per_slice))
        ),
    )


def compare_overall(challenger: Evaluation, champion: Evaluation | None, metric: Metric, draws: Draws) -> Estimate:
    """Return `metric` over all classes of both, with intervals; see `compare`."""
    everything = counted_rows(challenger)
    mine = sample_metric(Scored(challenger.scene, challenger.matches), metric, everything, draws.seed, draws.resamples)
    theirs = _samples(champion, metric, everything, draws)
    return _overall(metric, mine, theirs, counts_of(challenger, everything))


def refuse_other_holdout(challenger: Evaluation, champion: Evaluation) -> None:
    """Raise unless both were measured on the same hold-out version, frame by frame."""
    left, right = challenger.scene, champion.scene
    same = (
        challenger.holdout_id == champion.holdout_id
        and left.frame_ids == right.frame_ids
        and left.classes == right.classes
        and np.array_equal(left.annotated, right.annotated)
        and np.array_equal(left.truth.corners, right.truth.corners)
        and [part.name for part in challenger.per_slice] == [part.name for part in champion.per_slice]
    )
    if not same:
        raise InvalidInputError(
            "Challenger and champion were measured on different hold-outs "
            f"({_short(challenger)} and {_short(champion)}): score both on the same one, then compare."
        )


def counted_rows(evaluation: Evaluation) -> Ints:
    """Return the rows of the frames in which somebody looked for anything."""
    return np.flatnonzero(evaluation.scene.looked_for())


def counts_of(evaluation: Evaluation, rows: Ints, label: int | None = None) -> Counts:
    """Return frames, drive groups and objects of `rows`, of one class or of all."""
    scene = evaluation.scene
    rows = rows[scene.looked_for(label)[rows]]
    inside = np.isin(scene.truth.frame, rows) & ~scene.truth.ignore
    if label is not None:
        inside &= scene.truth.label == label
    return Counts(len(rows), len(np.unique(scene.frame_group[rows])), int(inside.sum()))


def estimate(evaluation: Evaluation, metric: Metric, rows: Ints, label: int | None, draws: Draws) -> Estimate:
    """Return one number of one model with its interval, over `rows`, of one class or of all."""
    samples = sample_metric(Scored(evaluation.scene, evaluation.matches), metric, rows, draws.seed, draws.resamples)
    counts = counts_of(evaluation, rows, label)
    if label is None:
        return _overall("", samples, None, counts)
    value, column = float(samples.point[label]), samples.resampled[:, label]
    return Estimate("", _found(value), share_interval(value, column, samples.drive_groups), None, None, counts)


def _samples(model: Evaluation | None, metric: Metric, rows: Ints, draws: Draws) -> Samples | None:
    if model is None:
        return None
    return sample_metric(Scored(model.scene, model.matches), metric, rows, draws.seed, draws.resamples)


def _overall(name: str, mine: Samples, theirs: Samples | None, counts: Counts) -> Estimate:
    value, rows = mine.overall()
    interval = share_interval(value, rows, mine.drive_groups)
    if theirs is None:
        return Estimate(name, _found(value), interval, None, None, counts)
    return Estimate(name, _found(value), interval, _found(theirs.overall()[0]), difference(mine, theirs), counts)


def _of_class(challenger: Evaluation, mine: Samples, theirs: Samples | None, label: int) -> Estimate:
    name = challenger.scene.classes[label]
    value = float(mine.point[label])
    interval = share_interval(value, mine.resampled[:, label], mine.drive_groups)
    counts = counts_of(challenger, counted_rows(challenger), label)
    if theirs is None:
        return Estimate(name, _found(value), interval, None, None, counts)
    change = class_difference(mine, theirs, label)
    return Estimate(name, _found(value), interval, _found(float(theirs.point[label])), change, counts)


def _of_slice(
    challenger: Evaluation, champion: Evaluation | None, metric: Metric, number: int, draws: Draws
) -> Estimate:
    part = challenger.per_slice[number]
    mine, theirs = (_samples(model, metric, part.rows, draws) for model in (challenger, champion))
    counts = Counts(part.frames, part.drive_groups, part.objects)
    if mine is None or not part.frames:
        return Estimate(part.name, None, None, None, None, counts)
    return _overall(part.name, mine, theirs, counts)


def _found(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _short(evaluation: Evaluation) -> str:
    return f"{evaluation.holdout_id[:12] or 'unnamed'} with {len(evaluation.scene.frame_ids)} frames"
