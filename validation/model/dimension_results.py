"""A slice for each value of each dimension that a hold-out tells of, all values of one in a single pass."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driveflow.flow.sections import BOX_DIMENSIONS, Dimension, SliceSection, WhereSection
from validation.model.dimensions import (
    BoxValues,
    FrameValues,
    Value,
    box_values,
    frame_values,
)
from validation.model.evaluation import SliceCounts, SlicePredicate, SliceResult
from validation.model.match import NONE
from validation.model.nearest import at_threshold
from validation.model.precision import Cells, mean_of_found, worth_by_cell
from validation.model.scene import Floats, Ints
from validation.model.slices import SliceMaterial, find_slices
from validation.model.twelve import METRICS

_AUTOMATIC: tuple[Dimension, ...] = ("size", "occlusion", "distance", "time_of_day", "weather", "camera", "place")
_NO_VALUE = -1


@dataclass(frozen=True, slots=True)
class _Codes:
    """The number of the value of each object and detection. `said` is false where a model does not say its own."""

    dimension: Dimension
    values: tuple[Value, ...]
    of_truth: Ints
    of_detected: Ints
    said: bool
    frames: NDArray[np.bool_]  # values x frames: those that are of the slice
    rows: NDArray[np.bool_]  # values x frames: those that count in it


def find_dimensions(material: SliceMaterial) -> tuple[SliceResult, ...]:
    """Return a slice for each value of each dimension that the hold-out tells anything about, with AP50 and counts."""
    results: list[SliceResult] = []
    for dimension in _AUTOMATIC:
        values = _values(material, dimension)
        if not values.is_stated:
            continue
        if isinstance(values, FrameValues) and np.sum(values.frames, axis=0).max(initial=0) > 1:
            results += _one_by_one(material, dimension)
        else:
            results += _at_once(material, _codes(material, values))
    return tuple(results)


def _values(material: SliceMaterial, dimension: Dimension) -> FrameValues | BoxValues:
    if dimension in BOX_DIMENSIONS:
        return box_values(material.scene, dimension)
    return frame_values(material.request, material.scene, dimension)


def _one_by_one(material: SliceMaterial, dimension: Dimension) -> tuple[SliceResult, ...]:
    """Return the slices of a dimension of which a frame may have several values."""
    return find_slices(material, (SliceSection(name=dimension, by=(dimension,)),))


def _codes(material: SliceMaterial, values: FrameValues | BoxValues) -> _Codes:
    scene = material.scene
    looked = scene.looked_for()
    shape = (len(values.values), len(scene.frame_ids))
    if isinstance(values, FrameValues):
        frames = np.array(values.frames).reshape(shape) & looked
        code = np.where(frames.any(axis=0), frames.argmax(axis=0), _NO_VALUE)
        of_boxes = code[scene.truth.frame], code[scene.detected.frame]
        return _Codes(values.dimension, values.values, *of_boxes, said=True, frames=frames, rows=frames)
    frames = np.zeros(shape, bool)
    real = ~scene.truth.ignore
    frames[values.of_truth[real], scene.truth.frame[real]] = True
    said = values.of_detected is not None
    of_detected = np.zeros(len(scene.detected.frame), np.int64) if values.of_detected is None else values.of_detected
    every = np.broadcast_to(looked, shape)
    return _Codes(values.dimension, values.values, values.of_truth, of_detected, said=said, frames=frames, rows=every)


def _at_once(material: SliceMaterial, codes: _Codes) -> list[SliceResult]:
    scene = material.scene
    real = ~scene.truth.ignore
    objects = np.bincount(codes.of_truth[real & (codes.of_truth >= 0)], minlength=len(codes.values))
    ap50, counts = _ap50(material, codes), _counts(material, codes)
    results = []
    for number, value in enumerate(codes.values):
        held = np.flatnonzero(codes.frames[number])
        if len(held):
            results.append(
                SliceResult(
                    name=f"{codes.dimension}={value.name}",
                    numbers=dict.fromkeys(METRICS, None) | {"AP50": mean_of_found(ap50[number])},
                    frames=len(held),
                    drive_groups=len(np.unique(scene.frame_group[held])),
                    objects=int(objects[number]),
                    rows=np.flatnonzero(codes.rows[number]),
                    by=((codes.dimension, value.name),),
                    counts=counts[number],
                    predicate=_predicate(codes.dimension, value),
                )
            )
    return results


def _ap50(material: SliceMaterial, codes: _Codes) -> Floats:
    """Return AP50, values x classes.

    A detection that was given an object is of that object's value. One that was given nothing is of its own, or of
    every value where the model does not say.
    """
    row = at_threshold(material.matches, 0.5)
    of_truth = np.where(material.scene.truth.ignore, _NO_VALUE, codes.of_truth)
    cells = Cells(of_truth, codes.of_detected, 1 if codes.said else len(codes.values), len(codes.values))
    found: Floats = worth_by_cell(material.order, material.scene, material.matches.truth[row : row + 1], cells).mean[0]
    return found


def _counts(material: SliceMaterial, codes: _Codes) -> list[SliceCounts]:
    mistakes, matches, size = material.mistakes, material.matches, len(codes.values)
    real = ~material.scene.truth.ignore
    given = matches.truth[at_threshold(matches, 0.5)][mistakes.shown]
    given = given[given != NONE]
    found, missed = (_by_value(codes.of_truth[rows], size) for rows in (given[real[given]], mistakes.missed))
    false = _by_value(codes.of_detected[mistakes.false], size)
    if not codes.said:
        false = np.full(size, len(mistakes.false))
    return [SliceCounts(*map(int, row)) for row in zip(found, missed, false, strict=True)]


def _by_value(code: Ints, size: int) -> Ints:
    return np.bincount(code[code >= 0], minlength=size)


def _predicate(dimension: Dimension, value: Value) -> SlicePredicate:
    of_boxes = dimension in BOX_DIMENSIONS
    frames, boxes = ("", value.condition) if of_boxes else (value.condition, "")
    return SlicePredicate(WhereSection(), frames, boxes, bool(value.condition))
