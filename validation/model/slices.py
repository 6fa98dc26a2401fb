"""Parts of the hold-out, by condition and along dimensions, each with its numbers from the one matching."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np

from driveflow.flow.sections import BOX_DIMENSIONS, Dimension, SliceSection
from driveflow.predicates import matches as frames_where
from driveflow.where import FRAME_COLUMNS, compile_where
from validation.model.confusion import Mistakes
from validation.model.dimensions import BoxValues, FrameValues, Value, box_values, frame_values
from validation.model.evaluation import SliceCounts, SlicePredicate, SliceResult
from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.object_cells import Grid, find_cells
from validation.model.precision import Order, Part
from validation.model.scene import Bools, EvaluationRequest, Ints, Scene
from validation.model.twelve import CocoNumbers, Numbers

MOST_SLICES = 300  # of one section; those with the most objects stay


@dataclass(frozen=True, slots=True)
class SliceMaterial:
    """What slices are cut from. `frame_numbers` gives the twelve numbers over some frames."""

    request: EvaluationRequest
    scene: Scene
    matches: Matches
    mistakes: Mistakes
    order: Order
    frame_numbers: Callable[[Ints], CocoNumbers]


@dataclass(frozen=True, slots=True)
class Inside:
    """Which boxes a slice is about: objects to be found, and detections that are wrong where they were given nothing.

    Objects outside are as ignore regions: nobody misses them, and what was given one of them is not counted. A
    detection that was given nothing counts where it is of the slice itself, by its own height and class; what a model
    does not say of it (occlusion, distance) leaves nothing out. So COCO does with its areas and KITTI with its levels.
    """

    objects: Bools
    alone: Bools


@dataclass(frozen=True, slots=True)
class _Cut:
    """A section with its frames, and its values of frames and of boxes."""

    section: SliceSection
    rows: Bools
    of_frames: tuple[FrameValues, ...]
    of_boxes: tuple[BoxValues, ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    """One value of each dimension, as numbers, and how many objects it has."""

    frames: tuple[int, ...]
    boxes: tuple[int, ...]
    objects: int


def find_slices(material: SliceMaterial, sections: Iterable[SliceSection] | None = None) -> tuple[SliceResult, ...]:
    """Return the slices of `sections`, or of the request: one a section, or one for each value where it is cut."""
    request = material.request
    conditions = (SliceSection(name=name, expression=text) for name, text in request.conditions)
    asked = (*request.slices, *conditions) if sections is None else sections
    return tuple(result for section in asked for result in _of_section(material, section))


def inside_of(scene: Scene, part: SliceResult, known: Mapping[Dimension, BoxValues] | None = None) -> Inside | None:
    """Return which boxes a slice is about; None where it is about all in its frames.

    `known` are values of dimensions that need not be looked for again.
    """
    wanted = [(dimension, name) for dimension, name in part.by if dimension in BOX_DIMENSIONS]
    if not wanted:
        return None
    objects, alone = np.ones(len(scene.truth.frame), bool), np.ones(len(scene.detected.frame), bool)
    for dimension, name in wanted:
        values = (known or {}).get(dimension) or box_values(scene, dimension)
        number = [value.name for value in values.values].index(name)
        objects &= values.of_truth == number
        if values.of_detected is not None:
            alone &= values.of_detected == number
    return Inside(objects, alone)


def _of_section(material: SliceMaterial, section: SliceSection) -> Iterator[SliceResult]:
    cut = _cut(material, section)
    for frames, cells in groupby(_cells(material, cut), key=lambda cell: cell.frames):
        yield from _results(material, cut, _frames_of(cut, frames), list(cells))


def _cut(material: SliceMaterial, section: SliceSection) -> _Cut:
    request, scene = material.request, material.scene
    frames = [frame_values(request, scene, name) for name in section.by if name not in BOX_DIMENSIONS]
    boxes = [box_values(scene, name) for name in section.by if name in BOX_DIMENSIONS]
    return _Cut(section, _rows(request, scene, section), tuple(frames), tuple(boxes))


def _rows(request: EvaluationRequest, scene: Scene, section: SliceSection) -> Bools:
    """Return which frames of the scene the conditions of the section mean, of those that count."""
    if not (section.where.classes or section.where.attributes or section.expression):
        return scene.looked_for()
    mask = np.asarray(frames_where(request.frames, request.boxes, section.where), bool)
    if section.expression:
        mask &= compile_where(section.expression, FRAME_COLUMNS).mask(request.frames, request.sources)
    row_of = {frame_id: row for row, frame_id in enumerate(scene.frame_ids)}
    rows = np.zeros(len(scene.frame_ids), bool)
    rows[[row_of[frame_id] for frame_id in request.frames["frame_id"].filter(mask).to_pylist()]] = True
    return rows & scene.looked_for()


def _cells(material: SliceMaterial, cut: _Cut) -> list[_Cell]:
    """Return the values that hold anything; of too many those with the most objects, in their own order."""
    shapes = [range(len(values.values)) for values in cut.of_frames], [range(len(v.values)) for v in cut.of_boxes]
    scene, grid = material.scene, _grid(material, cut)
    cells = []
    for frames in product(*shapes[0]):
        rows = _frames_of(cut, frames)
        counted = grid.count_objects(scene, rows)
        for boxes in product(*shapes[1]):
            objects = int(counted[grid.cell(boxes), grid.labels(boxes)].sum())
            if objects or not cut.section.by or (not boxes and rows.any()):
                cells.append(_Cell(frames, boxes, objects))
    limit = sorted((cell.objects for cell in cells), reverse=True)[MOST_SLICES - 1 : MOST_SLICES]
    return [cell for cell in cells if not limit or cell.objects >= limit[0]][:MOST_SLICES]


def _grid(material: SliceMaterial, cut: _Cut) -> Grid:
    return Grid(cut.of_boxes, len(material.scene.classes))


def _results(material: SliceMaterial, cut: _Cut, rows: Bools, cells: list[_Cell]) -> Iterator[SliceResult]:
    """Yield the slices that have the frames `rows`; those of some objects in them come out of one pass."""
    held, scene = np.flatnonzero(rows), material.scene
    if not cut.of_boxes:
        part = Part(rows[scene.truth.frame] & ~scene.truth.ignore, rows[scene.detected.frame])
        said = held, material.frame_numbers(held).overall, _counts(material, part)
        yield _result(material, cut, cells[0], (held, *said))
        return
    found = material.matches, material.mistakes, material.order
    results = find_cells(_grid(material, cut), scene, found, rows)
    for cell in cells:
        said = results.held(cell.boxes), results.numbers(cell.boxes), results.counts(cell.boxes)
        yield _result(material, cut, cell, (held, *said))


def _result(
    material: SliceMaterial, cut: _Cut, cell: _Cell, said: tuple[Ints, Ints, Numbers, SliceCounts]
) -> SliceResult:
    """Return a slice; `said` is its frames, those that it is about, its numbers and counts."""
    rows, held, numbers, counts = said
    chosen = [values.values[number] for values, number in zip(cut.of_frames, cell.frames, strict=True)]
    of_boxes = [values.values[number] for values, number in zip(cut.of_boxes, cell.boxes, strict=True)]
    names = {values.dimension: value.name for values, value in zip(cut.of_frames, chosen, strict=True)}
    names |= {values.dimension: value.name for values, value in zip(cut.of_boxes, of_boxes, strict=True)}
    return SliceResult(
        name=_name(cut.section, names),
        numbers=numbers,
        frames=len(held),
        drive_groups=len(np.unique(material.scene.frame_group[held])),
        objects=cell.objects,
        rows=rows,
        by=tuple((dimension, names[dimension]) for dimension in cut.section.by),
        counts=counts,
        predicate=_predicate(cut.section, chosen, of_boxes),
    )


def _name(section: SliceSection, values: Mapping[Dimension, str]) -> str:
    """Return NAME/VALUE of a section with a name of its own, DIMENSION=VALUE of one called by its dimensions."""
    if section.name == "*".join(section.by):
        return ", ".join(f"{dimension}={values[dimension]}" for dimension in section.by)
    return "/".join([section.name, *(values[dimension] for dimension in section.by)])


def _counts(material: SliceMaterial, part: Part) -> SliceCounts:
    mistakes, matches = material.mistakes, material.matches
    found = matches.truth[at_threshold(matches, 0.5)][mistakes.shown]
    right = int(part.objects[found[found >= 0]].sum())
    return SliceCounts(right, int(part.objects[mistakes.missed].sum()), int(part.alone[mistakes.false].sum()))


def _frames_of(cut: _Cut, numbers: tuple[int, ...]) -> Bools:
    rows = cut.rows
    for values, number in zip(cut.of_frames, numbers, strict=True):
        rows = rows & values.frames[number]
    return rows


def _predicate(section: SliceSection, of_frames: list[Value], of_boxes: list[Value]) -> SlicePredicate:
    said = [f"({section.expression})"] if section.expression else []
    frames = [*said, *(value.condition for value in of_frames)]
    boxes = [value.condition for value in of_boxes]
    complete = all([*frames, *boxes])
    on_frames, on_boxes = (" AND ".join(filter(None, texts)) for texts in (frames, boxes))
    return SlicePredicate(section.where, on_frames, on_boxes, complete)
