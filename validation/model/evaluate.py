"""Measure a model: one matching, COCO's numbers beside it, and a check that the two agree."""

import time

import numpy as np

from driveflow.errors import IntegrityError
from driveflow.flow.sections import Metric
from driveflow.predicates import matches as frames_where
from validation.model.build_scene import build_scene
from validation.model.coco import CocoEvaluator, CocoNumbers
from validation.model.confusion import confusion, find_mistakes
from validation.model.curves import OperatingPoint, curve, operating_point, point_at
from validation.model.evaluation import ClassResult, Evaluation, ScoreBin, SliceResult
from validation.model.match import Matches, match
from validation.model.resample import Scored, sample_metric
from validation.model.scene import EvaluationRequest, Ints, Scene

_AGREE = 1e-9
_BINS = 10
_CHECKED: tuple[Metric, ...] = ("AP", "AP50", "AP75", "AR100")


def evaluate(request: EvaluationRequest) -> Evaluation:
    """Return everything there is to say about the predictions.

    Frames count for a class only where somebody looked for it; an empty frame counts; no detections give 0, no
    objects give None. The result does not depend on the order of any table.

    Raises:
        InvalidInputError: numbers that are none, or boxes turned inside out.
        IntegrityError: two ways of computing the same number disagree.
    """
    started_s = time.perf_counter()
    scene = build_scene(request)
    found = match(scene.detected, scene.truth)
    evaluator = CocoEvaluator(scene)
    counted = np.flatnonzero(scene.looked_for())
    numbers = evaluator.numbers(counted)
    _check_agreement(Scored(scene, found), numbers, counted)
    points = _operating_points(scene, found)
    mistakes = find_mistakes(scene, found, points)
    return Evaluation(
        holdout_id=request.holdout_id,
        model_digest=request.model_digest,
        numbers=numbers.overall,
        per_class=_per_class(scene, found, numbers, points),
        per_slice=_per_slice(request, scene, evaluator, counted),
        confusion=confusion(scene, found, mistakes, points),
        bins=_bins(scene, found),
        corrections=scene.corrections,
        scene=scene,
        matches=found,
        mistakes=mistakes,
        frames=len(counted),
        drive_groups=len(np.unique(scene.frame_group[counted])),
        objects=int((~scene.truth.ignore).sum()),
        detections=len(scene.detected.frame),
        seconds=time.perf_counter() - started_s,
    )


def _check_agreement(scored: Scored, numbers: CocoNumbers, frames: Ints) -> None:
    for metric in _CHECKED:
        own, _ = sample_metric(scored, metric, frames, resamples=0).overall()
        other = numbers.overall[metric]
        if (other is None) != bool(np.isnan(own)) or (other is not None and abs(own - other) > _AGREE):
            raise IntegrityError(
                f"{metric} is {own} by driveflow's matches and {other} by hotcoco: neither can be used."
            )


def _operating_points(scene: Scene, found: Matches) -> tuple[OperatingPoint, ...]:
    right, wrong = found.right()[0], found.wrong()[0]
    every = operating_point(scene.detected.score, right, wrong, int((~scene.truth.ignore).sum()))
    points = []
    for label in range(len(scene.classes)):
        rows = scene.detected.label == label
        objects = int(((scene.truth.label == label) & ~scene.truth.ignore).sum())
        columns = (scene.detected.score[rows], right[rows], wrong[rows], objects)
        # Without an object there is no best score of its own: the one of all classes together shows its false alarms.
        points.append(operating_point(*columns) if objects else point_at(every.score, *columns))
    return tuple(points)


def _per_class(
    scene: Scene, found: Matches, numbers: CocoNumbers, points: tuple[OperatingPoint, ...]
) -> tuple[ClassResult, ...]:
    right, wrong = found.right()[0], found.wrong()[0]
    results = []
    for label, name in enumerate(scene.classes):
        rows, own = scene.detected.label == label, scene.truth.label == label
        objects, frames = int((own & ~scene.truth.ignore).sum()), int(scene.annotated[:, label].sum())
        results.append(
            ClassResult(
                class_name=name,
                numbers=numbers.per_class[label],
                frames=frames,
                objects=objects,
                ignored=int((own & scene.truth.ignore).sum()),
                detections=int(rows.sum()),
                point=points[label],
                false_per_frame=points[label].false / frames if frames else 0.0,
                curve=curve(scene.detected.score[rows], right[rows], wrong[rows], objects),
            )
        )
    return tuple(results)


def _per_slice(
    request: EvaluationRequest, scene: Scene, evaluator: CocoEvaluator, counted: Ints
) -> tuple[SliceResult, ...]:
    row_of = {frame_id: row for row, frame_id in enumerate(scene.frame_ids)}
    frame_ids = request.frames["frame_id"].to_pylist()
    rows_in_order = np.array([row_of[frame_id] for frame_id in frame_ids], np.int64)
    results = []
    for section in request.slices:
        mask = np.asarray(frames_where(request.frames, request.boxes, section.where), bool)
        rows = np.intersect1d(rows_in_order[mask], counted)
        results.append(
            SliceResult(
                name=section.name,
                numbers=evaluator.numbers(rows).overall,
                frames=len(rows),
                drive_groups=len(np.unique(scene.frame_group[rows])),
                objects=int((np.isin(scene.truth.frame, rows) & ~scene.truth.ignore).sum()),
                rows=rows,
            )
        )
    return tuple(results)


def _bins(scene: Scene, found: Matches) -> tuple[ScoreBin, ...]:
    counts = ~found.void[0]
    score, right = scene.detected.score[counts], found.right()[0][counts]
    which = np.clip((score * _BINS).astype(int), 0, _BINS - 1)
    bins = []
    for number in range(_BINS):
        rows = which == number
        if rows.any():
            bins.append(ScoreBin(float(score[rows].mean()), float(right[rows].mean()), int(rows.sum())))
    return tuple(bins)
