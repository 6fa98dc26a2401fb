"""The evaluator doubts itself: nothing of what files may hold makes the checks fail, and a difference is refused."""

import numpy as np
import pytest

from driveflow.errors import IntegrityError
from tests.validation.coco_files import annotation, document, measured, result
from validation.model.arrange import Arrangement
from validation.model.raw import RawBoxes, RawScene
from validation.model.self_check import CHECKED_FRAMES, _compare, check_evaluator
from validation.model.twelve import METRICS, CocoNumbers

SIDES = (0, 1, 5, 10, 32, 96, 100.5, 300)


def _nasty(seed: int) -> RawScene:
    """Flat boxes, boxes out of the picture, equal boxes, ties, negative scores, crowds, regions, strangers."""
    rng = np.random.default_rng(seed)
    frames, classes = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    objects, detections = int(rng.integers(0, 25)), int(rng.integers(0, 60))
    truth, size = _boxes(rng, objects)
    found, found_size = _boxes(rng, detections)
    if objects and detections:
        source, same = rng.integers(0, objects, detections), rng.random(detections) < 0.6
        found[same], found_size[same] = truth[source[same]], size[source[same]]
    stated = np.where(rng.random(objects) < 0.3, rng.choice([0, 1024, 9216, 5000.0], objects), np.nan)
    return RawScene(
        frame_ids=tuple(map(str, range(frames))),
        classes=tuple("abc"[:classes]),
        groups=("one",),
        frame_group=np.zeros(frames, np.int64),
        annotated=rng.random((frames, classes)) < 0.9,
        truth=RawBoxes(frame=rng.integers(0, frames + 1, objects), label=rng.integers(0, classes + 1, objects),
                       corners=truth, size=size, area_px=stated, ignore=rng.random(objects) < 0.1,
                       crowd=rng.random(objects) < 0.15),
        found=RawBoxes(frame=rng.integers(0, frames + 1, detections), label=rng.integers(0, classes + 1, detections),
                       corners=found, size=found_size, score=np.round(rng.normal(0, 3, detections), seed % 3)),
        strange_frames=("elsewhere",),
        strange_classes=("other",),
    )  # fmt: skip


def _boxes(rng, count):
    size = rng.choice(SIDES, (count, 2)) * rng.choice([1, 1, 0.1, 3.3], (count, 1))
    start = np.round(rng.uniform(-20, 200, (count, 2)), 1) * rng.choice([1, 0], (count, 1))
    return np.column_stack([start, start + size]), size


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_truth_scores_one_order_changes_no_bit_and_hotcoco_agrees_whatever_the_files_hold(mode):
    for seed in range(40):
        checks = check_evaluator(_nasty(seed), Arrangement(mode))

        assert {check.name for check in checks} >= {"truth_against_itself_is_one", "equals_hotcoco"}
        assert ("order_changes_nothing" in {check.name for check in checks}) == (mode == "strict")


@pytest.mark.parametrize("mode", ["strict", "coco"])
@pytest.mark.parametrize("area", [1e10, 1e11, -1, 0])
def test_an_object_of_a_size_that_coco_does_not_count_is_none_also_where_nothing_is_detected(tmp_path, area, mode):
    truth = document([annotation(1, 1, (10, 10, 50, 50), area=area)])

    numbers = measured(tmp_path, truth, [], mode=mode).numbers

    assert numbers["AP"] == (0.0 if 0 <= area <= 1e10 else None)


def test_of_a_large_holdout_a_part_is_checked_and_the_evaluation_says_how_much(tmp_path):
    images = CHECKED_FRAMES + 100
    truth = document([annotation(n, n, (10, 10, 50, 50)) for n in range(1, images + 1)], images)

    evaluation = measured(tmp_path, truth, [result(n, (10, 10, 50, 50), n / 1000) for n in range(1, images + 1)])

    assert {check.frames for check in evaluation.checks} == {CHECKED_FRAMES}


@pytest.mark.parametrize("other", [0.5 + 1e-6, None])
def test_two_ways_that_do_not_agree_leave_no_number(other):
    one, two = (CocoNumbers({**dict.fromkeys(METRICS), "AP": value}, ()) for value in (0.5, other))

    with pytest.raises(IntegrityError, match=r"AP is 0\.5 by one and .* by another: neither can be used"):
        _compare(one, two, "by one", "by another")
