"""The network: a small pyramid of separable convolutions that answers on a fine and on a coarse grid of cells."""

import math
from typing import Final, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.builtin.levels import LEVELS

Answer: TypeAlias = tuple[Tensor, Tensor]
_CHANNELS: Final = (16, 32, 64, 128, 128)  # at 1/2, 1/4, 1/8, 1/16 and 1/32 of the picture
_BLOCKS: Final = (0, 1, 2, 1)  # more at 1/4, 1/8, 1/16 and 1/32
_WHOLE: Final = 3  # so many halvings mix all channels: separable ones lose small objects there
_PYRAMID_CHANNELS: Final = 64
_PYRAMID_STRIDES_PX: Final = (8, 16)
_GROUPS: Final = 8
_RARE: Final = 0.01  # what the untrained network answers everywhere: nearly all cells are background
_FIRST_SIDE_CELLS: Final = 3.0


class Network(nn.Module):
    """Takes pictures (n, 3, h, w) with levels 0..255, sides multiples of 32; answers for each of `LEVELS`.

    An answer is the logits of the heatmap (n, classes, rows, columns), and the distances from the centre of the cell to
    the left, top, right and bottom side of the box, in cells (n, 4, rows, columns).
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        first, *deeper = _CHANNELS
        self.stem = _whole(3, first)
        self.down = nn.ModuleList(
            nn.Sequential(
                _whole(before, after) if place < _WHOLE else _Separable(before, after, 2),
                *(_Separable(after, after, 1) for _ in range(more)),
            )
            for place, (before, after, more) in enumerate(zip(_CHANNELS[:-1], deeper, _BLOCKS, strict=True))
        )
        pyramid = _PYRAMID_CHANNELS
        self.across = nn.ModuleList(nn.Conv2d(channels, pyramid, 1, bias=False) for channels in deeper[1:])
        self.merged = nn.ModuleList(_norm(pyramid) for _ in _PYRAMID_STRIDES_PX)
        self.smooth = nn.ModuleList(_Separable(pyramid, pyramid, 1) for _ in _PYRAMID_STRIDES_PX)
        self.heads = nn.ModuleList(
            _Head(pyramid, classes, stride // level.stride_px)
            for stride, level in zip(_PYRAMID_STRIDES_PX, LEVELS, strict=True)
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        for module in self.modules():
            if isinstance(module, _Head | _Separable):
                module.start()

    def forward(self, pictures: Tensor) -> list[Answer]:
        """Return an answer for each level."""
        level = self.stem(pictures.contiguous().float() / 64.0 - 2.0)
        levels: list[Tensor] = []
        for stage in self.down:
            level = stage(level)
            levels.append(level)
        eighth, sixteenth, deepest = levels[1:]
        coarse = self._merge(1, sixteenth, self.across[2](deepest))
        fine = self._merge(0, eighth, coarse)
        return [self.heads[0](fine), self.heads[1](coarse)]

    def _merge(self, place: int, values: Tensor, above: Tensor) -> Tensor:
        grown = functional.interpolate(above, scale_factor=2.0, mode="nearest")
        merged: Tensor = self.smooth[place](functional.relu(self.merged[place](self.across[place](values) + grown)))
        return merged


class _Separable(nn.Module):
    """A 3 x 3 convolution of each channel by itself, then one across channels; added to what came in where it fits."""

    def __init__(self, before: int, after: int, step: int) -> None:
        super().__init__()
        self.residual = step == 1 and before == after
        self.each = nn.Conv2d(before, before, 3, step, 1, groups=before, bias=False)
        self.norm = _norm(before)
        self.across = nn.Conv2d(before, after, 1, bias=False)
        self.last = _norm(after)

    def start(self) -> None:
        """Set the first weights: what is added is nothing at first."""
        if self.residual:
            nn.init.zeros_(self.last.weight)

    def forward(self, values: Tensor) -> Tensor:
        """Return the new values."""
        changed = self.last(self.across(functional.relu(self.norm(self.each(values)))))
        return functional.relu(values + changed if self.residual else changed)


class _Head(nn.Module):
    """Answers for `parts` x `parts` cells in each place."""

    def __init__(self, channels: int, classes: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.heat = nn.Conv2d(channels, classes * parts**2, 1)
        self.sides = nn.Conv2d(channels, 4 * parts**2, 1)

    def start(self) -> None:
        """Set the first weights: nothing is seen anywhere."""
        for layer, bias in ((self.heat, math.log(_RARE / (1 - _RARE))), (self.sides, math.log(_FIRST_SIDE_CELLS))):
            nn.init.normal_(layer.weight, std=0.01)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, bias)

    def forward(self, values: Tensor) -> Answer:
        """Return logits and sides."""
        heat = functional.pixel_shuffle(self.heat(values), self.parts)
        sides = functional.pixel_shuffle(self.sides(values), self.parts)
        return heat, torch.exp(sides.clamp(-4.0, 6.0))


def _whole(before: int, after: int) -> nn.Sequential:
    """Return a 3 x 3 convolution across all channels that halves both sides."""
    return nn.Sequential(nn.Conv2d(before, after, 3, 2, 1, bias=False), _norm(after), nn.ReLU(inplace=True))


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(_GROUPS, channels)
