"""Doubt the evaluator inside every evaluation: the truth scores 1, order changes nothing, hotcoco says the same."""

from dataclasses import dataclass, replace

import numpy as np

from driveflow.errors import IntegrityError
from validation.model.arrange import Arrangement, arrange
from validation.model.coco import hotcoco_numbers
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import Ints, Scene
from validation.model.twelve import METRICS, CocoNumbers, tally

CHECKED_FRAMES = 500  # of a larger hold-out so many, spread evenly
_AGREE = 1e-9
_EVERYTHING = 2**31


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was doubted, on how many frames; it held, else there would be no evaluation."""

    name: str
    frames: int


def check_evaluator(raw: RawScene, how: Arrangement) -> tuple[Check, ...]:
    """Return what was checked on `raw`, or on a part of it where it is large.

    Raises:
        IntegrityError: a check does not hold; then no number of this evaluation can be used.
    """
    part = _part(raw)
    frames = min(len(raw.frame_ids), CHECKED_FRAMES)
    _truth_scores_one(part, how)
    checks = [Check("truth_against_itself_is_one", frames)]
    if how.mode == "strict":  # in mode coco the order of the file decides by definition; ties are told as a correction
        _order_changes_nothing(part, how)
        checks.append(Check("order_changes_nothing", frames))
    _hotcoco_says_the_same(part, how)
    return (*checks, Check("equals_hotcoco", frames))


def _part(raw: RawScene) -> RawScene:
    """Return `raw` with the boxes of some frames only, or as it is where it is small."""
    frames = len(raw.frame_ids)
    if frames <= CHECKED_FRAMES:
        return raw
    kept = np.zeros(frames + len(raw.strange_frames), bool)
    kept[np.linspace(0, frames - 1, CHECKED_FRAMES).astype(np.int64)] = True
    truth, found = (boxes.rows(np.flatnonzero(kept[boxes.frame])) for boxes in (raw.truth, raw.found))
    return replace(raw, truth=truth, found=found)


def _truth_scores_one(raw: RawScene, how: Arrangement) -> None:
    """Say the truth's own boxes, all with one score: whatever has an object must score 1."""
    rule = replace(how, min_score=0.0, max_detections=_EVERYTHING)
    truth = arrange(replace(raw, corrections=()), rule).truth
    real = np.flatnonzero(~truth.ignore)
    said = RawBoxes(
        frame=truth.frame[real],
        label=truth.label[real],
        corners=truth.corners[real],
        size=None if truth.size is None else truth.size[real],
        score=np.full(len(real), 0.5),
    )
    numbers = tally(arrange(replace(raw, found=said), rule)).numbers()
    for label, own in enumerate(numbers.per_class):
        for metric in ("AP", "AP50", "AP75"):
            value = own[metric]
            if value is not None and abs(value - 1) > _AGREE:
                name = raw.classes[label]
                raise IntegrityError(f"{metric} of {name!r} is {value} for the truth itself: no number can be used.")


def _order_changes_nothing(raw: RawScene, how: Arrangement) -> None:
    """Shuffle all rows: the numbers must be the same to the last bit."""
    turned = replace(raw, truth=_shuffled(raw.truth, 1), found=_shuffled(raw.found, 2))
    _compare(_numbers(raw, how), _numbers(turned, how), "in the order given", "in another order", exact=True)


def _shuffled(boxes: RawBoxes, seed: int) -> RawBoxes:
    return boxes.rows(np.random.default_rng(seed).permutation(len(boxes)))


def _hotcoco_says_the_same(raw: RawScene, how: Arrangement) -> None:
    scene = arrange(raw, replace(how, mode="coco", max_detections=0))
    _compare(tally(scene).numbers(), hotcoco_numbers(scene, _counted(scene)), "by driveflow", "by hotcoco")


def _counted(scene: Scene) -> Ints:
    return np.flatnonzero(scene.looked_for())


def _numbers(raw: RawScene, how: Arrangement) -> CocoNumbers:
    return tally(arrange(raw, how)).numbers()


def _compare(one: CocoNumbers, other: CocoNumbers, how: str, how_else: str, *, exact: bool = False) -> None:
    for metric in METRICS:
        left, right = one.overall[metric], other.overall[metric]
        if (left is None) != (right is None) or (
            left is not None and right is not None and abs(left - right) > (0.0 if exact else _AGREE)
        ):
            raise IntegrityError(f"{metric} is {left} {how} and {right} {how_else}: neither can be used.")
