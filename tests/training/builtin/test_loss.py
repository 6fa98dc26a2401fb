"""Only what is known counts."""

import numpy as np
import pytest
import torch

from training.builtin.examples import IGNORED
from training.builtin.loss import TargetBatch, loss_sums
from training.builtin.targets import make_target

GRID = (16, 24)
EVERYTHING = np.array([True, True])


def _target(boxes=(), numbers=(), looked_for=EVERYTHING):
    sides = np.array(boxes, np.float32).reshape(-1, 4)
    made = make_target(sides, np.array(numbers, np.int64), np.asarray(looked_for), GRID, 4)
    return TargetBatch(*(torch.from_numpy(getattr(made, name))[None] for name in ("heat", "counts", "box", "weight")))


def _sure(number=None):
    """Logits that see class `number` everywhere, or nothing anywhere."""
    logits = torch.full((1, 2, *GRID), -9.0)
    if number is not None:
        logits[:, number] = 9.0
    return logits.requires_grad_()


def _heat(logits, target):
    return loss_sums([(logits, torch.ones(1, 4, *GRID))], [target]).heat


def test_seeing_what_is_not_there_costs():
    assert _heat(_sure(1), _target()) > 100 * _heat(_sure(), _target())


def test_a_class_that_nobody_looked_for_gives_no_negative():
    target = _target(looked_for=[True, False])
    logits = _sure(1)
    cost = _heat(logits, target)
    cost.backward()

    assert cost < 0.01
    assert logits.grad[:, 1].abs().max() == 0


def test_an_ignore_region_counts_for_no_class_and_only_where_it_lies():
    target = _target([[8, 8, 40, 40]], [IGNORED])
    logits = _sure(0)
    _heat(logits, target).backward()

    assert logits.grad[0, :, 2:10, 2:10].abs().max() == 0
    assert logits.grad[0, 0, 10:, 10:].abs().min() > 0


def test_an_object_inside_an_ignore_region_still_counts():
    target = _target([[8, 8, 40, 40], [20, 20, 28, 28]], [IGNORED, 1])

    assert target.counts[0, 1, 6, 6] == 1
    assert _heat(_sure(), target) > 5


def test_missing_an_object_costs_and_finding_it_does_not():
    target = _target([[20, 20, 28, 28]], [1])
    found = _sure()
    with torch.no_grad():
        found[0, 1, 6, 6] = 9.0

    assert _heat(_sure(), target) > 100 * _heat(found, target)


def test_the_right_box_costs_nothing_and_a_wrong_one_does():
    target = _target([[20, 12, 68, 52]], [0])
    centre_x, centre_y = np.meshgrid(np.arange(GRID[1]) + 0.5, np.arange(GRID[0]) + 0.5)
    right = np.stack([centre_x - 5, centre_y - 3, 17 - centre_x, 13 - centre_y])
    sides = torch.from_numpy(right.astype(np.float32))[None]

    assert loss_sums([(_sure(), sides)], [target]).sides < 1e-5
    assert loss_sums([(_sure(), sides + 2)], [target]).sides > 0.1


def test_parts_of_a_batch_add_up_to_the_whole():
    targets = [_target([[20, 12, 68, 52]], [0]), _target([[8, 8, 16, 16]], [1])]
    random = torch.Generator().manual_seed(0)
    logits, sides = torch.randn(2, 2, *GRID, generator=random), torch.rand(2, 4, *GRID, generator=random) + 1
    whole = TargetBatch(*(torch.cat(parts) for parts in zip(*(_grids(one) for one in targets), strict=True)))

    parts = [loss_sums([(logits[at : at + 1], sides[at : at + 1])], [targets[at]]) for at in (0, 1)]
    total = parts[0].plus(parts[1])
    expected = loss_sums([(logits, sides)], [whole])

    for name in ("heat", "sides", "objects", "weight"):
        assert getattr(total, name).item() == pytest.approx(getattr(expected, name).item(), rel=1e-5)


def test_a_small_object_before_a_large_one_keeps_its_own_box():
    target = _target([[40, 24, 56, 40], [0, 0, 96, 64]], [0, 1])

    assert (target.box[0, :, 8, 12] * 4).tolist() == [40, 24, 56, 40]


def _grids(batch):
    return [batch.heat, batch.counts, batch.box, batch.weight]
