"""What the network should answer for a picture: where centres of objects are, and which box each cell near one sees.

After "Training-Time-Friendly Network for Real-Time Object Detection" (TTFNet, arXiv 1909.00700): not only the centre
cell of an object learns its box, but all cells near it, so that few pictures are enough.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from training.builtin.examples import IGNORED

Grid = npt.NDArray[np.float32]
_SPREAD: Final = 0.54 / 6  # standard deviation of a centre's bell, as a share of the box's side
_LEAST_SPREAD: Final = 0.3  # cells
_LEAST_BELL: Final = 0.01  # cells under it learn no box


@dataclass(frozen=True, slots=True)
class Target:
    """Grids of one picture.

    `heat` (classes, rows, columns) is 1 at centres and falls off around them. `counts`, of the same shape, is 0 where
    the answer is not known: classes nobody looked for, ignore regions. `box` (4, rows, columns) is x1, y1, x2, y2 in
    cells, `weight` (rows, columns) how much a cell's box counts.
    """

    heat: Grid
    counts: Grid
    box: Grid
    weight: Grid


def make_target(
    boxes: npt.NDArray[np.float32],
    numbers: npt.NDArray[np.int64],
    looked_for: npt.NDArray[np.bool_],
    grid: tuple[int, int],
    stride_px: int,
) -> Target:
    """Return the target for `boxes` in pixels, on a grid of (rows, columns) cells of `stride_px`."""
    rows, columns = grid
    heat = np.zeros((len(looked_for), rows, columns), dtype=np.float32)
    counts = np.repeat(looked_for.astype(np.float32), rows * columns).reshape(heat.shape)
    box = np.zeros((4, rows, columns), dtype=np.float32)
    weight = np.zeros((rows, columns), dtype=np.float32)
    cells = boxes / stride_px
    for place in np.flatnonzero(numbers == IGNORED).tolist():
        inside = _inside(cells[place])
        counts[:, inside[0], inside[1]] = 0.0
    sizes = (cells[:, 2] - cells[:, 0]) * (cells[:, 3] - cells[:, 1])
    for place in np.argsort(-sizes, kind="stable").tolist():  # small objects are drawn last, over the large
        if numbers[place] != IGNORED:
            bell = _bell(cells[place], grid)
            np.maximum(heat[numbers[place]], bell, out=heat[numbers[place]])
            near = bell > _LEAST_BELL
            box[:, near] = cells[place][:, None]
            weight[near] = bell[near] / bell[near].sum() * math.log(max(math.e, float(sizes[place])))
    np.maximum(counts, heat == 1.0, out=counts)
    return Target(heat, counts, box, weight)


def _bell(box: Grid, grid: tuple[int, int]) -> Grid:
    """Return a bell over the grid that is 1 at the box's centre cell and as wide as the box is."""
    sides = []
    for low, high, cells in ((box[1], box[3], grid[0]), (box[0], box[2], grid[1])):
        centre = min(cells - 1, max(0, int((low + high) / 2)))
        spread = max(_SPREAD * float(high - low), _LEAST_SPREAD)
        sides.append(np.exp(-((np.arange(cells) - centre) ** 2) / (2 * spread * spread)))
    return np.asarray(sides[0][:, None] * sides[1][None, :], dtype=np.float32)


def _inside(box: Grid) -> tuple[slice, slice]:
    """Return the cells that `box` touches."""
    low_x, low_y = (max(0, math.floor(value)) for value in box[:2])
    return slice(low_y, math.ceil(box[3])), slice(low_x, math.ceil(box[2]))
