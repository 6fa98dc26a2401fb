"""How wrong the network's answers are, as sums over cells, so that parts of a batch can be added up."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from training.builtin.network import Answer

_LEAST_PROBABILITY: Final = 1e-4
SIDES_WEIGHT: Final = 2.0


@dataclass(frozen=True, slots=True)
class TargetBatch:
    """The grids of `targets.Target`, stacked: `heat` and `counts` (n, classes, h, w), `box` (n, 4, h, w), `weight`."""

    heat: Tensor
    counts: Tensor
    box: Tensor
    weight: Tensor


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over a batch, and what to divide them by: number of objects, and sum of the weights of boxes."""

    heat: Tensor
    sides: Tensor
    objects: Tensor
    weight: Tensor

    def plus(self, other: "LossSums") -> "LossSums":
        """Return the sums over both batches."""
        return LossSums(
            self.heat + other.heat, self.sides + other.sides, self.objects + other.objects, self.weight + other.weight
        )


def loss_sums(answers: list[Answer], targets: list[TargetBatch]) -> LossSums:
    """Return the focal loss of the heatmaps and the GIoU loss of the boxes, summed over levels and cells."""
    first, *others = (_level_sums(*answer, target) for answer, target in zip(answers, targets, strict=True))
    for other in others:
        first = first.plus(other)
    return first


def _level_sums(logits: Tensor, sides: Tensor, target: TargetBatch) -> LossSums:
    centres = target.heat.eq(1.0).to(target.heat.dtype)
    return LossSums(
        heat=_focal(logits, target, centres),
        sides=((1.0 - _giou(sides, target.box)) * target.weight).sum(),
        objects=centres.sum(),
        weight=target.weight.sum(),
    )


def _focal(logits: Tensor, target: TargetBatch, centres: Tensor) -> Tensor:
    """Return the sum of the penalty-reduced focal loss of CenterNet over the cells that count."""
    probability = torch.sigmoid(logits).clamp(_LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    at_centres = centres * (1 - probability) ** 2 * torch.log(probability)
    elsewhere = (1 - centres) * (1 - target.heat) ** 4 * probability**2 * torch.log(1 - probability)
    return -((at_centres + elsewhere) * target.counts).sum()


def _giou(sides: Tensor, box: Tensor) -> Tensor:
    """Return the generalised IoU of the boxes that `sides` (n, 4, h, w), in cells, spell, with `box`."""
    rows, columns = sides.shape[-2:]
    centre_x = torch.arange(columns, dtype=sides.dtype) + 0.5
    centre_y = (torch.arange(rows, dtype=sides.dtype) + 0.5)[:, None]
    left, top, right, bottom = sides.unbind(1)
    x1, y1, x2, y2 = centre_x - left, centre_y - top, centre_x + right, centre_y + bottom
    tx1, ty1, tx2, ty2 = box.unbind(1)
    shared = _length(x1, x2, tx1, tx2, outer=False) * _length(y1, y2, ty1, ty2, outer=False)
    union = (x2 - x1) * (y2 - y1) + (tx2 - tx1) * (ty2 - ty1) - shared + 1e-6
    hull = _length(x1, x2, tx1, tx2, outer=True) * _length(y1, y2, ty1, ty2, outer=True) + 1e-6
    return shared / union - (hull - union) / hull


def _length(low: Tensor, high: Tensor, other_low: Tensor, other_high: Tensor, *, outer: bool) -> Tensor:
    """Return how long two intervals are together (`outer`), or how much of them is shared."""
    if outer:
        return torch.maximum(high, other_high) - torch.minimum(low, other_low)
    return (torch.minimum(high, other_high) - torch.maximum(low, other_low)).clamp(min=0)
