"""Everything of an evaluation beyond the twelve numbers, in one pass over the one matching."""

from collections.abc import Callable
from dataclasses import replace

from validation.model.calibration import find_calibration
from validation.model.curves import operating_point
from validation.model.delta_ap import find_delta_ap
from validation.model.dimension_results import find_dimensions
from validation.model.errors import find_errors
from validation.model.evaluation import Evaluation
from validation.model.false_alarms import find_false_alarms
from validation.model.kitti import kitti
from validation.model.nearest import at_threshold, find_nearest
from validation.model.precision import by_falling_score
from validation.model.scene import EvaluationRequest, Ints
from validation.model.slices import SliceMaterial, find_slices
from validation.model.sound_tags import with_sound_tags
from validation.model.twelve import CocoNumbers
from validation.model.voc import voc


def with_parts(
    evaluation: Evaluation, request: EvaluationRequest, frame_numbers: Callable[[Ints], CocoNumbers]
) -> Evaluation:
    """Return the evaluation with its slices, errors, calibration, VOC's and KITTI's numbers and false alarms.

    Raises:
        IntegrityError: counts that must add up do not.
    """
    scene, matches, mistakes = evaluation.scene, evaluation.matches, evaluation.mistakes
    request, doubted = with_sound_tags(request)
    order = by_falling_score(scene)
    row = at_threshold(matches, 0.5)
    missed = ~scene.truth.ignore
    missed[matches.truth[row][matches.right()[row]]] = False
    nearest = find_nearest(scene, missed)
    errors = find_errors(scene, matches, mistakes, nearest)
    material = SliceMaterial(request, scene, matches, mistakes, order, frame_numbers)
    columns = scene.detected.score, matches.right()[row], matches.wrong()[row], int((~scene.truth.ignore).sum())
    return replace(
        evaluation,
        corrections=(*evaluation.corrections, *doubted),
        per_slice=find_slices(material),
        point=operating_point(*columns),
        errors=errors,
        delta_ap=find_delta_ap(scene, matches, errors, order),
        calibration=find_calibration(scene, matches),
        voc=voc(scene, nearest, order, tuple(sorted(request.thresholds)) or (0.5,)),
        kitti=kitti(scene, matches, order),
        false_alarms=find_false_alarms(scene, matches, mistakes.shown),
        dimensions=find_dimensions(material),
    )
