"""One model's detections by class and falling score: all that a metric under weights of drive groups needs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driveflow.flow.sections import Metric
from validation.model.match import NONE, Matches
from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Floats, Ints, Scene
from validation.model.slices import Inside

_THRESHOLDS = 10  # of COCO, 0.5 to 0.95
_CHOSEN: dict[Metric, tuple[int, ...]] = {
    "AP": tuple(range(_THRESHOLDS)),
    "AP50": (0,),
    "AP75": (5,),
    "AR100": tuple(range(_THRESHOLDS)),
}


@dataclass(frozen=True, slots=True)
class Sweep:
    """Detections by class and falling score, those of class k from `start[k]` up to `start[k + 1]`; and the objects.

    `right` and `counted` (right or wrong, so not in an ignore region) have a bit a threshold. `tied`: of the score of
    the one before, so that the two come in together. `late`: beyond COCO's 100 of its frame and class.
    """

    start: Ints
    frame: NDArray[np.int32]
    tied: Bools
    late: Bools
    right: NDArray[np.uint16]
    counted: NDArray[np.uint16]
    object_frame: NDArray[np.int32]
    object_label: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ClassSweep:
    """The detections of one class in the frames that count, with their group; bits are of the asked thresholds.

    `last`: the last one of its score. `objects` counts by group.
    """

    group: NDArray[np.int32]
    right: NDArray[np.uint16]
    counted: NDArray[np.uint16]
    last: Bools
    objects: NDArray[np.int64]
    thresholds: int


def sweep_of(scene: Scene, matches: Matches, inside: Inside | None = None) -> Sweep:
    """Return the sweep of one model on one hold-out, or of the objects `inside` a slice of it alone.

    A detection that was given an object outside of the slice is neither right nor wrong in it.
    """
    found, truth = scene.detected, scene.truth
    order = scene.by_score if inside is None else _of_classes(scene, inside)
    right, wrong = _bits(matches, order, inside)
    real, counted = ~truth.ignore, right | wrong
    if inside is not None:  # the others come into no number of the slice, and a hold-out may have hundreds of slices
        real = real & inside.objects
        order, right, counted = (values[counted != 0] for values in (order, right, counted))
    label, score = found.label[order], found.score[order]
    tied = np.zeros(len(order), bool)
    if scene.mode == "strict":
        tied[1:] = (label[1:] == label[:-1]) & (score[1:] == score[:-1])
    return Sweep(
        start=np.searchsorted(label, np.arange(len(scene.classes) + 1)),
        frame=found.frame[order].astype(np.int32),
        tied=tied,
        late=found.rank[order] >= COCO_DETECTION_LIMIT,
        right=right,
        counted=counted,
        object_frame=truth.frame[real].astype(np.int32),
        object_label=truth.label[real].astype(np.int32),
    )


def class_sweeps(sweep: Sweep, metric: Metric, group_of_frame: Ints) -> list[ClassSweep]:
    """Return the detections of each class in the frames that have a group (-1: none) for `metric`.

    What comes after the last hit of a class changes no precision that is asked for, and is left out.
    """
    from validation.model.drive_kernel import grouped

    groups = int(group_of_frame.max(initial=-1)) + 1
    chosen, classes = _CHOSEN[metric], len(sweep.start) - 1
    right, counted = _asked(sweep.right, chosen), _asked(sweep.counted, chosen)
    if metric == "AR100":
        right = np.where(sweep.late, 0, right).astype(np.uint16)
    group, right, counted, last, bounds = grouped(
        (sweep.frame, sweep.tied, right, counted), sweep.start, group_of_frame
    )
    of_object = group_of_frame[sweep.object_frame]
    places = (sweep.object_label * np.int64(groups) + of_object)[of_object >= 0]
    objects = np.bincount(places, minlength=classes * groups).reshape(classes, groups)
    parts = [slice(first, end) for first, end in bounds.tolist()]
    return [
        ClassSweep(group[part], right[part], counted[part], last[part], objects[label], len(chosen))
        for label, part in enumerate(parts)
    ]


def recall_share(part: ClassSweep) -> Floats:
    """Return, by group, how many objects were found, as the mean over thresholds."""
    bits = np.bitwise_count(part.right).astype(np.float64) / part.thresholds
    found: Floats = np.bincount(part.group, weights=bits, minlength=len(part.objects)).astype(np.float64)
    return found


def _asked(bits: NDArray[np.uint16], chosen: tuple[int, ...]) -> NDArray[np.uint16]:
    """Return `bits` with those of the chosen thresholds alone, packed from the lowest bit."""
    if len(chosen) == _THRESHOLDS:
        return bits
    return (bits >> np.uint16(chosen[0])) & np.uint16(1)


def _of_classes(scene: Scene, inside: Inside) -> Ints:
    """Return the rows of `by_score` of the classes that have anything inside."""
    found = scene.detected.label
    starts = np.searchsorted(found, np.arange(len(scene.classes) + 1)).tolist()
    classes = np.union1d(scene.truth.label[inside.objects], found[inside.alone]).tolist()
    return np.concatenate(
        [scene.by_score[:0], *(scene.by_score[starts[label] : starts[label + 1]] for label in classes)]
    )


def _bits(matches: Matches, order: Ints, inside: Inside | None) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return a bit a threshold: which of the detections `order` are right, and which are wrong."""
    right, wrong = np.zeros((2, len(order)), np.uint16)
    for number in range(len(matches.thresholds)):
        given = matches.truth[number, order]
        found = (given != NONE) & ~matches.void[number, order]
        nothing = given == NONE
        if inside is not None:
            found, nothing = found & inside.objects[given], nothing & inside.alone[order]
        right |= found.astype(np.uint16) << np.uint16(number)
        wrong |= nothing.astype(np.uint16) << np.uint16(number)
    return right, wrong
