"""Measure decoded pixels in compiled code; `signals` and `hashes` are its faces.

Sums are whole numbers and fractions are taken in one fixed order, so that every processor finds the same. Loops run
over one plane or row each, plainly: the compiler makes vector instructions of that.
"""

from typing import Any, Final, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from driveflow.images.decode import Pixels
from driveflow.images.scales import (
    BRIGHT_LEVEL,
    DARK_LEVEL,
    GRID_COLUMNS,
    GRID_ROWS,
    SCALE_PX,
    STEEPNESS_STEPS,
    TAIL_RANGE,
)

Sums: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = npt.NDArray[np.int32]

# What `sweep` sums over all pixels, by place.
GRAY, GRAY_SQUARES, DARK, BRIGHT, RED, GREEN, BLUE, COLOUR_RANGE = range(8)
TOTALS: Final = 8
# What `edges` sums, by place: squares of first and second differences, and of the Laplacian.
ACROSS, DOWN, BENT_ACROSS, BENT_DOWN, LAPLACIAN, LAPLACIAN_SQUARES = range(6)
SQUARES: Final = 6
_PRIME: Final = np.int64(1099511628211)

compiled: Any = numba.njit(cache=True, nogil=True)


class Measured(NamedTuple):
    """What one call measures: see `sweep`, `edges` of the `small_shape` picture, `fingerprint` and `tail_rows`."""

    gray: Pixels
    totals: Sums
    red_blue: Pixels
    small_shape: tuple[int, int]
    squares: Sums
    steepness: Pixels
    fingerprint: int
    tail_rows: int


@compiled
def measured(rgb: Pixels) -> Measured:
    """Measure all but the hashes: one call, since each costs as much as hundreds of pixels."""
    gray, totals, red_blue = sweep(rgb)
    small = scaled(gray)
    squares, steepness = edges(small)
    return Measured(gray, totals, red_blue, small.shape, squares, steepness, fingerprint(gray), tail_rows(rgb, gray))


@compiled
def sweep(rgb: Pixels) -> tuple[Pixels, Sums, Pixels]:
    """Return the grey picture, the sums over all pixels, and for each cell red minus blue, halved, around 128."""
    height, width = rgb.shape[0], rgb.shape[1]
    planes = _planes(rgb)
    gray = _gray(planes).reshape((height, width))
    columns = np.zeros((TOTALS, width), np.int32)
    red_blue = np.zeros((GRID_ROWS, width), np.int32)
    for row in range(height):
        pixels = planes[:, row * width : (row + 1) * width]
        _add_gray(gray[row], columns)
        _add_colours(pixels, columns)
        _add_red_blue(pixels, red_blue[row * GRID_ROWS // height])
    cells = np.rint(_cell_sums(red_blue) * (GRID_ROWS * GRID_COLUMNS / (2.0 * height * width))) + 128
    return gray, _row_sums(columns), np.minimum(np.maximum(cells, 0.0), 255.0).astype(np.uint8)


@compiled
def fingerprint(gray: Pixels) -> int:
    """Return a number that is the same for equal pictures, and hardly ever for others."""
    flat = gray.reshape(-1)
    whole = len(flat) // 8 * 8
    mixed = len(flat)
    for word in flat[:whole].view(np.int64):
        mixed = (mixed ^ word) * _PRIME
        mixed ^= mixed >> 29
    for level in flat[whole:]:
        mixed = (mixed ^ level) * _PRIME
    return mixed


@compiled
def tail_rows(rgb: Pixels, gray: Pixels) -> int:
    """Return how many rows from the bottom up are, together, of one colour that is neither black nor burnt out."""
    height, width = gray.shape
    if gray[height - 1, 0] < DARK_LEVEL or gray[height - 1, 0] > BRIGHT_LEVEL:
        return 0
    least = np.full(3, 255, np.uint8)
    most = np.zeros(3, np.uint8)
    for back in range(height):
        for column in range(width):
            for channel in range(3):
                value = rgb[height - 1 - back, column, channel]
                least[channel] = min(least[channel], value)
                most[channel] = max(most[channel], value)
                if np.int32(most[channel]) - np.int32(least[channel]) > TAIL_RANGE:
                    return back
    return height


@compiled
def scaled(gray: Pixels) -> Pixels:
    """Return `gray` averaged to the long side of the fixed scale, exactly; smaller pictures as they are."""
    height, width = gray.shape
    long_side = max(height, width)
    if long_side <= SCALE_PX:
        return gray
    rows = max(1, (2 * height * SCALE_PX + long_side) // (2 * long_side))
    columns = max(1, (2 * width * SCALE_PX + long_side) // (2 * long_side))
    return _averaged_rows(_averaged_rows(gray, rows).T.copy(), columns).T.copy()


@compiled
def edges(gray: Pixels) -> tuple[Sums, Pixels]:
    """Return the sums over all inner pixels, and for each cell the root of its mean absolute first difference."""
    height, width = gray.shape
    inner = max(height - 2, 1) * max(width - 2, 1)
    sums = np.zeros((SQUARES, max(width - 2, 0)), np.int32)
    steepness = np.zeros((GRID_ROWS, max(width - 2, 0)), np.int32)
    for row in range(1, height - 1):
        _add_edges(gray[row - 1 : row + 2], sums, steepness[(row - 1) * GRID_ROWS // (height - 2)])
    roots = np.sqrt(_cell_sums(steepness) * (GRID_ROWS * GRID_COLUMNS / inner))
    return _row_sums(sums), np.minimum(np.rint(roots * STEEPNESS_STEPS), 255.0).astype(np.uint8)


@compiled
def _planes(rgb: Pixels) -> Pixels:
    pixels = rgb.shape[0] * rgb.shape[1]
    flat = rgb.reshape(-1)
    planes = np.empty((3, pixels), np.uint8)
    for pixel in range(pixels):
        planes[0, pixel] = flat[3 * pixel]
        planes[1, pixel] = flat[3 * pixel + 1]
        planes[2, pixel] = flat[3 * pixel + 2]
    return planes


@compiled
def _gray(planes: Pixels) -> Pixels:
    red, green, blue = planes[0], planes[1], planes[2]
    gray = np.empty(len(red), np.uint8)
    for pixel in range(len(red)):
        gray[pixel] = (77 * red[pixel] + 150 * green[pixel] + 29 * blue[pixel] + 128) >> 8
    return gray


@compiled
def _add_gray(gray: Pixels, columns: Columns) -> None:
    levels, squares, dark, bright = columns[GRAY], columns[GRAY_SQUARES], columns[DARK], columns[BRIGHT]
    for column in range(len(gray)):
        levels[column] += gray[column]
        squares[column] += gray[column] * gray[column]
    for column in range(len(gray)):
        dark[column] += gray[column] < DARK_LEVEL
        bright[column] += gray[column] > BRIGHT_LEVEL


@compiled
def _add_colours(planes: Pixels, columns: Columns) -> None:
    red, green, blue, ranges = planes[0], planes[1], planes[2], columns[COLOUR_RANGE]
    reds, greens, blues = columns[RED], columns[GREEN], columns[BLUE]
    for column in range(len(red)):
        reds[column] += red[column]
        greens[column] += green[column]
        blues[column] += blue[column]
    for column in range(len(red)):
        most = max(red[column], green[column], blue[column])
        ranges[column] += most - min(red[column], green[column], blue[column])


@compiled
def _add_red_blue(planes: Pixels, columns: Columns) -> None:
    red, blue = planes[0], planes[2]
    for column in range(len(columns)):
        columns[column] += np.int32(red[column]) - np.int32(blue[column])


@compiled
def _add_edges(rows: Pixels, sums: Columns, steepness: Columns) -> None:
    """Add the inner pixels of the middle one of three rows."""
    above, here, below = rows[0], rows[1], rows[2]
    across, down, bent_across, bent_down = sums[ACROSS], sums[DOWN], sums[BENT_ACROSS], sums[BENT_DOWN]
    laplacian, squares = sums[LAPLACIAN], sums[LAPLACIAN_SQUARES]
    for column in range(len(steepness)):
        level = np.int32(here[column + 1])
        right, lower = np.int32(here[column + 2]) - level, np.int32(below[column + 1]) - level
        across[column] += right * right
        down[column] += lower * lower
        steepness[column] += abs(right) + abs(lower)
    for column in range(len(steepness)):
        twice = 2 * np.int32(here[column + 1])
        bent_x = np.int32(here[column]) + np.int32(here[column + 2]) - twice
        bent_y = np.int32(above[column + 1]) + np.int32(below[column + 1]) - twice
        bent_across[column] += bent_x * bent_x
        bent_down[column] += bent_y * bent_y
        laplacian[column] += bent_x + bent_y
        squares[column] += (bent_x + bent_y) * (bent_x + bent_y)


@compiled
def _row_sums(columns: Columns) -> Sums:
    sums = np.zeros(len(columns), np.int64)
    for row in range(len(columns)):
        for value in columns[row]:
            sums[row] += value
    return sums


@compiled
def _cell_sums(columns: Columns) -> Sums:
    width = columns.shape[1]
    sums = np.zeros((GRID_ROWS, GRID_COLUMNS), np.int64)
    for row in range(GRID_ROWS):
        for cell in range(GRID_COLUMNS):
            for column in range(cell * width // GRID_COLUMNS, (cell + 1) * width // GRID_COLUMNS):
                sums[row, cell] += columns[row, column]
    return sums


@compiled
def _averaged_rows(values: Pixels, count: int) -> Pixels:
    """Return `values` with `count` rows, each the rounded mean of the rows that it covers, parts of rows included."""
    height, width = values.shape
    averaged = np.empty((count, width), np.uint8)
    sums = np.empty(width, np.int64)
    for row in range(count):
        sums[:] = height // 2
        start, stop = row * height, (row + 1) * height  # in units of 1/count of a row
        for source in range(start // count, (stop - 1) // count + 1):
            weight = min((source + 1) * count, stop) - max(source * count, start)
            line = values[source]
            for column in range(width):
                sums[column] += weight * line[column]
        for column in range(width):
            averaged[row, column] = sums[column] // height
    return averaged
