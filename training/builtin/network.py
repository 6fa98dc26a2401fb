"""The network: a small pyramid of separable convolutions that answers on a grid of cells."""

import math
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

STRIDE_PX: Final = 4
_CHANNELS: Final = (16, 32, 64, 128, 192)  # at 1/2, 1/4, 1/8, 1/16 and 1/32 of the picture
_PYRAMID_CHANNELS: Final = 48
_GROUPS: Final = 8
_RARE: Final = 0.01  # what the untrained network answers everywhere: nearly all cells are background
_FIRST_SIDE_CELLS: Final = 3.0


class Network(nn.Module):
    """Takes pictures (n, 3, h, w) with levels 0..255, sides multiples of 32.

    Returns:
        Logits of the heatmap (n, classes, h / 4, w / 4), and distances to the left, top, right and bottom side of the
        box (n, 4, h / 4, w / 4) in cells.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        first, *deeper = _CHANNELS
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, 2, 1, bias=False), _norm(first), nn.ReLU(inplace=True))
        self.down = nn.ModuleList(
            nn.Sequential(_Separable(before, after, 2), *([_Separable(after, after, 1)] if after > 32 else []))
            for before, after in zip(_CHANNELS, deeper, strict=False)
        )
        self.across = nn.ModuleList(nn.Conv2d(channels, _PYRAMID_CHANNELS, 1, bias=False) for channels in deeper)
        self.merged = nn.ModuleList(_norm(_PYRAMID_CHANNELS) for _ in deeper[1:])
        self.smooth = nn.ModuleList(_Separable(_PYRAMID_CHANNELS, _PYRAMID_CHANNELS, 1) for _ in deeper[1:])
        self.heat = nn.Conv2d(_PYRAMID_CHANNELS, classes, 1)
        self.sides = nn.Conv2d(_PYRAMID_CHANNELS, 4, 1)
        self._start()

    def _start(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if isinstance(module, _Separable) and module.residual:
                nn.init.zeros_(module.last.weight)
        for layer, bias in ((self.heat, math.log(_RARE / (1 - _RARE))), (self.sides, math.log(_FIRST_SIDE_CELLS))):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.constant_(_bias(layer), bias)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and sides."""
        level = self.stem(pictures.float() / 64.0 - 2.0)
        levels: list[Tensor] = []
        for stage in self.down:
            level = stage(level)
            levels.append(level)
        merged = self.across[-1](levels[-1])
        for place in range(len(levels) - 2, -1, -1):
            above = functional.interpolate(merged, scale_factor=2.0, mode="nearest")
            merged = functional.relu(self.merged[place](self.across[place](levels[place]) + above))
            merged = self.smooth[place](merged)
        return self.heat(merged), torch.exp(self.sides(merged).clamp(-4.0, 6.0))


class _Separable(nn.Module):
    """A 3 x 3 convolution of each channel by itself, then one across channels; added to what came in where it fits."""

    def __init__(self, before: int, after: int, step: int) -> None:
        super().__init__()
        self.residual = step == 1 and before == after
        self.each = nn.Conv2d(before, before, 3, step, 1, groups=before, bias=False)
        self.norm = _norm(before)
        self.across = nn.Conv2d(before, after, 1, bias=False)
        self.last = _norm(after)

    def forward(self, values: Tensor) -> Tensor:
        """Return the new values."""
        changed = self.last(self.across(functional.relu(self.norm(self.each(values)))))
        return functional.relu(values + changed if self.residual else changed)


def _norm(channels: int) -> nn.GroupNorm:
    return nn.GroupNorm(_GROUPS, channels)


def _bias(layer: nn.Conv2d) -> Tensor:
    if layer.bias is None:
        raise ValueError("this layer has no bias")
    return layer.bias
