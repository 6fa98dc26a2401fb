"""All slices that cut objects along the same dimensions, in one pass: by class, by size, or both crossed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from driveflow.flow.sections import Dimension
from validation.model.confusion import Mistakes
from validation.model.dimensions import BoxValues
from validation.model.evaluation import SliceCounts
from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.precision import Cells, Order, mean_of_found, objects_by_cell, worth_by_cell
from validation.model.scene import Bools, Ints, Scene
from validation.model.twelve import METRICS, Numbers

if TYPE_CHECKING:
    from validation.model.precision_kernel import CellSums

_AREAS = {"s": (0.0, 32.0**2), "m": (32.0**2, 96.0**2), "l": (96.0**2, 1e10)}  # COCO's, with both ends


@dataclass(frozen=True, slots=True)
class Grid:
    """Dimensions of boxes that are crossed. A place is a cell of all of them but the class, and a class."""

    of_boxes: tuple[BoxValues, ...]
    classes: int

    @property
    def has_class(self) -> bool:
        """Tell whether the class is one of the dimensions."""
        return any(values.dimension == "class" for values in self.of_boxes)

    def cell(self, numbers: Sequence[int]) -> int:
        """Return the cell of one value of each dimension."""
        codes = {values.dimension: number for values, number in zip(self.of_boxes, numbers, strict=True)}
        return int(_folded([*self._of_kind(said=True), *self._of_kind(said=False)], codes))

    def labels(self, numbers: Sequence[int]) -> slice:
        """Return the classes that one value of each dimension means: one, or all."""
        for values, number in zip(self.of_boxes, numbers, strict=True):
            if values.dimension == "class":
                return slice(number, number + 1)
        return slice(self.classes)

    def cells(self, scene: Scene, rows: Bools) -> Cells:
        """Return the cells of the objects, and of the detections, in the frames `rows`."""
        said, unsaid = self._of_kind(said=True), self._of_kind(said=False)
        stated = {values.dimension: values.of_detected for values in said if values.of_detected is not None}
        of_detected = _folded(said, stated) + np.zeros(len(scene.detected.frame), np.int64)
        of_detected = np.where(rows[scene.detected.frame], of_detected, -1)
        below = _count(unsaid)
        return Cells(self.of_truth(scene, rows), of_detected, below, _count(said) * below)

    def of_truth(self, scene: Scene, rows: Bools) -> Ints:
        """Return the cells of the objects in the frames `rows`, -1 of all others."""
        codes = {values.dimension: values.of_truth for values in self.of_boxes}
        counted = rows[scene.truth.frame] & ~scene.truth.ignore
        return np.where(counted, _folded([*self._of_kind(said=True), *self._of_kind(said=False)], codes), -1)

    def count_objects(self, scene: Scene, rows: Bools) -> Ints:
        """Return how many objects there are in the frames `rows`, cells x classes."""
        cells = _count(self._of_kind(said=True)) * _count(self._of_kind(said=False))
        return objects_by_cell(self.of_truth(scene, rows), scene.truth, (cells, self.classes))

    def _of_kind(self, *, said: bool) -> list[BoxValues]:
        kept = [values for values in self.of_boxes if values.dimension != "class"]
        return [values for values in kept if (values.of_detected is not None) == said]


@dataclass(frozen=True, slots=True)
class CellResults:
    """What there is to say about every cell of a grid in some frames; tables are cells x classes."""

    grid: Grid
    thresholds: tuple[Bools, Bools]  # those of AP50 and AP75
    sums: dict[str, "CellSums"]  # of all sizes of object, and of each
    frames: Sequence[Ints]  # that hold an object of the place
    found: Ints
    missed: Ints
    false: Ints  # stated parts x classes
    unsaid: int

    def numbers(self, numbers: Sequence[int]) -> Numbers:
        """Return the twelve numbers; an object's size decides for APs and the like as the slice itself does."""
        at, labels = self.grid.cell(numbers), self.grid.labels(numbers)
        mean, recall = (table[..., at, labels] for table in self.sums[""])
        values = {"AP": mean, "AP50": mean[self.thresholds[0]], "AP75": mean[self.thresholds[1]]}
        values |= {"AR1": recall[0], "AR10": recall[1], "AR100": recall[2]}
        for name in _AREAS:
            mean, recall = (table[..., at, labels] for table in self.sums[name])
            values |= {f"AP{name}": mean, f"AR{name}": recall[-1]}
        return {name: mean_of_found(values[name]) for name in METRICS}

    def counts(self, numbers: Sequence[int]) -> SliceCounts:
        """Return what is found, missed and said wrongly at the operating points."""
        at, labels = self.grid.cell(numbers), self.grid.labels(numbers)
        said = self.false[at // self.unsaid, labels].sum()
        return SliceCounts(int(self.found[at, labels].sum()), int(self.missed[at, labels].sum()), int(said))

    def held(self, numbers: Sequence[int]) -> Ints:
        """Return the frames that hold an object."""
        at = self.grid.cell(numbers)
        return self.frames[at * self.grid.classes + self.grid.labels(numbers).start if self.grid.has_class else at]


def find_cells(grid: Grid, scene: Scene, found: tuple[Matches, Mistakes, Order], rows: Bools) -> CellResults:
    """Return the results of every cell in the frames `rows`."""
    matches, mistakes, order = found
    cells, in_frames = grid.cells(scene, rows), rows[scene.detected.frame]
    order = order if in_frames.all() else order.within(in_frames)
    given = matches.truth[at_threshold(matches, 0.5)][mistakes.shown]
    areas = scene.truth.area_px, (scene.detected.corners[:, 2:] - scene.detected.corners[:, :2]).prod(axis=1)
    sums = {"": worth_by_cell(order, scene, matches.truth, cells)}
    for name, (low, high) in _AREAS.items():
        inside = [(area >= low) & (area <= high) for area in areas]
        sums[name] = worth_by_cell(order, scene, matches.truth, cells.within(*inside))
    shape = cells.count, grid.classes
    return CellResults(
        grid=grid,
        thresholds=(np.isclose(matches.thresholds, 0.5), np.isclose(matches.thresholds, 0.75)),
        sums=sums,
        frames=_frames(grid, scene, cells),
        found=_table(cells.of_truth, scene.truth.label, given[given >= 0], shape),
        missed=_table(cells.of_truth, scene.truth.label, mistakes.missed, shape),
        false=_table(
            cells.of_detected, scene.detected.label, mistakes.false, (cells.count // cells.unsaid, grid.classes)
        ),
        unsaid=cells.unsaid,
    )


def _frames(grid: Grid, scene: Scene, cells: Cells) -> list[Ints]:
    """Return the frames that hold an object, by cell and class where the class is cut, else by cell."""
    size = grid.classes if grid.has_class else 1
    code = cells.of_truth * size + (scene.truth.label if grid.has_class else 0)
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(cells.count * size + 1)).tolist()
    return [np.unique(scene.truth.frame[order[first:last]]) for first, last in pairwise(bounds)]


def _table(codes: Ints, labels: Ints, rows: Ints, shape: tuple[int, int]) -> Ints:
    """Count some rows by code and class."""
    rows = rows[codes[rows] >= 0]
    return np.bincount(codes[rows] * shape[1] + labels[rows], minlength=shape[0] * shape[1]).reshape(shape)


def _folded(dimensions: Sequence[BoxValues], codes: Mapping[Dimension, Ints | int]) -> Ints | int:
    code: Ints | int = 0
    for values in dimensions:
        code = code * len(values.values) + codes[values.dimension]
    return code


def _count(dimensions: Sequence[BoxValues]) -> int:
    return int(np.prod([len(values.values) for values in dimensions], dtype=np.int64))
