"""Parts of the hold-out, by condition and along dimensions, each with its numbers from the one matching."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from driveflow.flow.sections import BOX_DIMENSIONS, Dimension, SliceSection
from driveflow.predicates import matches as frames_where
from driveflow.where import FRAME_COLUMNS, compile_where
from validation.model.confusion import Mistakes
from validation.model.dimensions import BoxValues, FrameValues, Value, box_values, frame_values
from validation.model.evaluation import SliceCounts, SlicePredicate, SliceResult
from validation.model.match import Matches
from validation.model.nearest import at_threshold
from validation.model.precision import Order, Part, mean_of_found, objects_of, worth
from validation.model.scene import Bools, EvaluationRequest, Floats, Ints, Scene
from validation.model.twelve import METRICS, CocoNumbers, Numbers

MOST_SLICES = 300  # of one section; those with the most objects stay
_AREAS = {"s": (0.0, 32.0**2), "m": (32.0**2, 96.0**2), "l": (96.0**2, 1e10)}  # COCO's, with both ends


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


def inside_of(scene: Scene, part: SliceResult) -> Inside | None:
    """Return which boxes a slice is about; None where it is about all in its frames."""
    wanted = [(box_values(scene, dimension), name) for dimension, name in part.by if dimension in BOX_DIMENSIONS]
    if not wanted:
        return None
    codes = [[value.name for value in values.values].index(name) for values, name in wanted]
    return _inside(scene, tuple(values for values, _ in wanted), tuple(codes))


def _of_section(material: SliceMaterial, section: SliceSection) -> Iterator[SliceResult]:
    cut = _cut(material, section)
    for cell in _cells(material, cut):
        yield _result(material, cut, cell)


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
    truth = material.scene.truth
    cells = []
    for frames in product(*shapes[0]):
        rows = _frames_of(cut, frames)
        counted = rows[truth.frame] & ~truth.ignore
        for boxes in product(*shapes[1]):
            objects = int((counted & _of_truth(cut.of_boxes, boxes)).sum())
            if objects or not cut.section.by or (not boxes and rows.any()):
                cells.append(_Cell(frames, boxes, objects))
    limit = sorted((cell.objects for cell in cells), reverse=True)[MOST_SLICES - 1 : MOST_SLICES]
    return [cell for cell in cells if not limit or cell.objects >= limit[0]][:MOST_SLICES]


def _result(material: SliceMaterial, cut: _Cut, cell: _Cell) -> SliceResult:
    scene = material.scene
    rows = _frames_of(cut, cell.frames)
    inside = _inside(scene, cut.of_boxes, cell.boxes) if cell.boxes else None
    in_frames = rows[scene.detected.frame]
    objects = rows[scene.truth.frame] & ~scene.truth.ignore
    alone = in_frames
    if inside is not None:
        objects, alone = objects & inside.objects, alone & inside.alone
    held = _held(scene, objects) if inside is not None else np.flatnonzero(rows)
    chosen = [values.values[number] for values, number in zip(cut.of_frames, cell.frames, strict=True)]
    of_boxes = [values.values[number] for values, number in zip(cut.of_boxes, cell.boxes, strict=True)]
    names = {values.dimension: value.name for values, value in zip(cut.of_frames, chosen, strict=True)}
    names |= {values.dimension: value.name for values, value in zip(cut.of_boxes, of_boxes, strict=True)}
    part = Part(objects, alone)
    if inside is not None:
        numbers = _twelve(material, _order(material, cut, cell, in_frames), part)
    else:
        numbers = material.frame_numbers(np.flatnonzero(rows)).overall
    return SliceResult(
        name=_name(cut.section, names),
        numbers=numbers,
        frames=len(held),
        drive_groups=len(np.unique(scene.frame_group[held])),
        objects=cell.objects,
        rows=np.flatnonzero(rows),
        by=tuple((dimension, names[dimension]) for dimension in cut.section.by),
        counts=_counts(material, part),
        predicate=_predicate(cut.section, chosen, of_boxes),
    )


def _held(scene: Scene, objects: Bools) -> Ints:
    frames = np.zeros(len(scene.frame_ids), bool)
    frames[scene.truth.frame[objects]] = True
    return np.flatnonzero(frames)


def _name(section: SliceSection, values: Mapping[Dimension, str]) -> str:
    """Return NAME/VALUE of a section with a name of its own, DIMENSION=VALUE of one called by its dimensions."""
    if section.name == "*".join(section.by):
        return ", ".join(f"{dimension}={values[dimension]}" for dimension in section.by)
    return "/".join([section.name, *(values[dimension] for dimension in section.by)])


def _order(material: SliceMaterial, cut: _Cut, cell: _Cell, in_frames: Bools) -> Order:
    """Return the order of the detections that can count: in the frames, and of the class where there is one."""
    order = material.order
    for values, number in zip(cut.of_boxes, cell.boxes, strict=True):
        if values.dimension == "class":
            order = order.of_class(number)
    return order if in_frames.all() else order.within(in_frames)


def _twelve(material: SliceMaterial, order: Order, part: Part) -> Numbers:
    """Return the twelve numbers; an object's size decides for APs and the like as the slice itself does."""
    scene, matches = material.scene, material.matches
    areas = scene.truth.area_px, (scene.detected.corners[:, 2:] - scene.detected.corners[:, :2]).prod(axis=1)
    mean, recall = _worth(material, order, part)
    at50, at75 = (np.isclose(matches.thresholds, limit) for limit in (0.5, 0.75))
    found = {"AP": mean, "AP50": mean[at50], "AP75": mean[at75]}
    found |= {"AR1": recall[0], "AR10": recall[1], "AR100": recall[2]}
    for name, (low, high) in _AREAS.items():
        inside = [(area >= low) & (area <= high) for area in areas]
        mean, recall = _worth(material, order, Part(part.objects & inside[0], part.alone & inside[1]))
        found |= {f"AP{name}": mean, f"AR{name}": recall[-1]}
    return {name: mean_of_found(found[name]) for name in METRICS}


def _worth(material: SliceMaterial, order: Order, part: Part) -> tuple[Floats, Floats]:
    scene = material.scene
    objects = objects_of(scene.truth, part.objects, len(scene.classes))
    found = worth(order, scene.detected, material.matches.truth, part, objects)
    return found.mean, found.recall


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


def _of_truth(of_boxes: tuple[BoxValues, ...], numbers: tuple[int, ...]) -> Bools | bool:
    mask: Bools | bool = True
    for values, number in zip(of_boxes, numbers, strict=True):
        mask = mask & (values.of_truth == number)
    return mask


def _inside(scene: Scene, of_boxes: tuple[BoxValues, ...], numbers: tuple[int, ...]) -> Inside:
    alone = np.ones(len(scene.detected.frame), bool)
    for values, number in zip(of_boxes, numbers, strict=True):
        if values.of_detected is not None:
            alone &= values.of_detected == number
    return Inside(np.asarray(_of_truth(of_boxes, numbers)), alone)


def _predicate(section: SliceSection, of_frames: list[Value], of_boxes: list[Value]) -> SlicePredicate:
    said = [f"({section.expression})"] if section.expression else []
    frames = [*said, *(value.condition for value in of_frames)]
    boxes = [value.condition for value in of_boxes]
    complete = all([*frames, *boxes])
    on_frames, on_boxes = (" AND ".join(filter(None, texts)) for texts in (frames, boxes))
    return SlicePredicate(section.where, on_frames, on_boxes, complete)
