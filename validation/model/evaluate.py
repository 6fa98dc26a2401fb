"""Measure a model: one matching for every number, and checks of the evaluator inside each evaluation."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np

from validation.model.arrange import Arrangement, arrange
from validation.model.build_scene import raw_scene
from validation.model.calibration import are_chances
from validation.model.confusion import confusion, find_mistakes
from validation.model.curves import Curve, OperatingPoint, curve, operating_point, point_at
from validation.model.evaluation import ClassResult, Evaluation, ScoreBin
from validation.model.match import Matches
from validation.model.parts import with_parts
from validation.model.scene import Bools, EvaluationRequest, Ints, Scene
from validation.model.self_check import check_evaluator
from validation.model.twelve import CocoNumbers, Tally, tally, tally_and_match

_BINS = 10


def evaluate(request: EvaluationRequest) -> Evaluation:
    """Return everything there is to say about the predictions.

    Frames count for a class only where somebody looked for it; an empty frame counts; no detections give 0, no
    objects give None. In mode strict the result does not depend on the order of any table.

    Raises:
        InvalidInputError: numbers that are none, or boxes turned inside out.
        IntegrityError: two ways of computing the same number disagree, or the truth itself does not score 1.
    """
    started_s = time.perf_counter()
    raw = request.raw or raw_scene(request)
    how = Arrangement(request.mode, request.min_score, request.max_detections)
    scene = arrange(raw, how)
    checks = check_evaluator(raw, how)
    usual, found = tally_and_match(scene)
    counted = np.flatnonzero(scene.looked_for())
    numbers = usual.numbers()
    asked = tally(scene, np.array(sorted(request.thresholds))) if request.thresholds else usual
    if request.thresholds:
        numbers = asked.numbers()
    points = _operating_points(scene, found)
    mistakes = find_mistakes(scene, found, points)
    evaluation = Evaluation(
        holdout_id=request.holdout_id,
        model_digest=request.model_digest,
        numbers=numbers.overall,
        per_class=_per_class(scene, found, numbers, points),
        per_slice=(),
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
        seconds=0.0,
        mode=request.mode,
        min_score=request.min_score,
        by_threshold=dict(zip(_spelled(asked), numbers.by_threshold, strict=True)),
        checks=checks,
    )
    evaluation = with_parts(evaluation, request, asked.numbers)
    return replace(evaluation, seconds=time.perf_counter() - started_s)


def _spelled(asked: Tally) -> list[str]:
    return [f"{threshold:.10g}" for threshold in asked.thresholds]


def _operating_points(scene: Scene, found: Matches) -> tuple[OperatingPoint, ...]:
    right, wrong = found.right()[0], found.wrong()[0]
    every = operating_point(scene.detected.score, right, wrong, int((~scene.truth.ignore).sum()))
    objects_of = _objects(scene)
    points = []
    for label, rows in enumerate(_class_rows(scene.detected.label, scene)):
        columns = (scene.detected.score[rows], right[rows], wrong[rows], int(objects_of[label]))
        # Without an object there is no best score of its own: the one of all classes together shows its false alarms.
        points.append(operating_point(*columns) if objects_of[label] else point_at(every.score, *columns))
    return tuple(points)


def _class_rows(sorted_labels: Ints, scene: Scene) -> list[slice]:
    """Return the rows of each class in a table that is sorted by class."""
    bounds = np.searchsorted(sorted_labels, np.arange(len(scene.classes) + 1)).tolist()
    return [slice(first, last) for first, last in pairwise(bounds)]


def _objects(scene: Scene) -> Ints:
    return np.bincount(scene.truth.label[~scene.truth.ignore], minlength=len(scene.classes))


def _per_class(
    scene: Scene, found: Matches, numbers: CocoNumbers, points: tuple[OperatingPoint, ...]
) -> tuple[ClassResult, ...]:
    right, wrong = found.right()[0], found.wrong()[0]
    objects_of = _objects(scene)
    ignored_of = np.bincount(scene.truth.label[scene.truth.ignore], minlength=len(scene.classes))
    results = []
    for label, rows in enumerate(_class_rows(scene.detected.label, scene)):
        objects, frames = int(objects_of[label]), int(scene.annotated[:, label].sum())
        results.append(
            ClassResult(
                class_name=scene.classes[label],
                numbers=numbers.per_class[label],
                frames=frames,
                objects=objects,
                ignored=int(ignored_of[label]),
                detections=rows.stop - rows.start,
                point=points[label],
                false_per_frame=points[label].false / frames if frames else 0.0,
                curve=_curve(scene, rows, (right, wrong), objects),
            )
        )
    return tuple(results)


def _curve(scene: Scene, rows: slice, found: tuple[Bools, Bools], objects: int) -> Curve:
    """Return the curve of a class; in mode coco equal scores stand in COCO's order, by frame and then as given."""
    right, wrong = found
    order = scene.by_score[rows]  # both tables are sorted by class, so a class has the same rows in both
    return curve(scene.detected.score[order], right[order], wrong[order], objects, as_group=scene.mode == "strict")


def _bins(scene: Scene, found: Matches) -> tuple[ScoreBin, ...]:
    if not are_chances(scene):
        return ()
    counts = ~found.void[0]
    score, right = scene.detected.score[counts], found.right()[0][counts]
    which = np.clip((score * _BINS).astype(int), 0, _BINS - 1)
    bins = []
    for number in range(_BINS):
        rows = which == number
        if rows.any():
            bins.append(ScoreBin(float(score[rows].mean()), float(right[rows].mean()), int(rows.sum())))
    return tuple(bins)
