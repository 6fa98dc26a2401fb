"""A model as the gate sees it: what was found where on which hold-out, and by which code; no picture."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from driveflow.code_digest import module_digest, package_digest
from driveflow.flow.sections import BOX_DIMENSIONS
from validation.model.dimensions import box_values
from validation.model.evaluation import Evaluation
from validation.model.places import Places, frame_key, no_places, places, tenths
from validation.model.scene import Bools, Ints
from validation.model.slices import Inside, inside_of
from validation.model.sweep import Sweep, sweep_of

_STATISTICS = "validation.model"
BELOW = ("driveflow.dimension_values", "driveflow.predicates", "driveflow.truth")
"""Other modules that decide numbers of a hold-out; which frames a slice has is told by the digest of the hold-out."""


@dataclass(frozen=True, slots=True)
class Measure:
    """On what and how a model was measured; two models are compared only where all three are equal.

    `holdout` is the digest of frames, drive groups, annotated classes, truth and slices; `code` that of the evaluator.
    """

    holdout: str
    code: str
    mode: str


@dataclass(frozen=True, slots=True)
class ScoredSlice:
    """A named part of the hold-out by the row numbers of its frames.

    `sweep` is there where the slice is about some of the objects in them only: of one class, size or the like.
    """

    name: str
    rows: Ints
    sweep: Sweep | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """One model on one hold-out. `frame_key` names its frames; `object_found` tells which objects the model shows.

    An object is shown where a detection at or over its class's best score lies on it with IoU 0.5. `object_corners` (in
    tenths of a pixel) and `object_found` have a row an object of the sweep. `regions` are ignore regions, `false` the
    wrong detections at or over their class's best score. Detections under `min_score` were not counted.
    """

    measure: Measure
    holdout_id: str
    model_digest: str
    classes: tuple[str, ...]
    frame_group: Ints
    annotated: Bools
    sweep: Sweep
    slices: tuple[ScoredSlice, ...] = ()
    frame_key: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    object_corners: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 4), np.int32))
    object_found: Bools = field(default_factory=lambda: np.zeros(0, bool))
    regions: Places = field(default_factory=no_places)
    false: Places = field(default_factory=no_places)
    min_score: float = 0.0

    @property
    def objects(self) -> Places:
        """Return the objects of the hold-out, in the order of the sweep."""
        return Places(self.sweep.object_frame, self.sweep.object_label, self.object_corners)

    def looked_for(self, label: int | None = None) -> Bools:
        """Return in which frames somebody looked for a class, or for any class."""
        return np.asarray(self.annotated.any(axis=1) if label is None else self.annotated[:, label])


def scored_of(evaluation: Evaluation | Scored) -> Scored:
    """Return what the gate needs of an evaluation; what is that already stays as it is."""
    if isinstance(evaluation, Scored):
        return evaluation
    scene = evaluation.scene
    truth, detected, false = scene.truth, scene.detected, evaluation.mistakes.false
    real, insides = ~truth.ignore, _insides(evaluation)
    return Scored(
        measure=Measure(_holdout_digest(evaluation, insides), evaluation_code(), scene.mode),
        holdout_id=evaluation.holdout_id,
        model_digest=evaluation.model_digest,
        classes=scene.classes,
        frame_group=scene.frame_group,
        annotated=scene.annotated,
        sweep=sweep_of(scene, evaluation.matches),
        slices=_slices(evaluation, insides),
        frame_key=np.array([frame_key(name) for name in scene.frame_ids], np.uint64),
        object_corners=tenths(truth.corners[real]),
        object_found=_shown(evaluation)[real],
        regions=places(truth.frame[~real], truth.label[~real], truth.corners[~real]),
        false=places(detected.frame[false], detected.label[false], detected.corners[false]),
        min_score=evaluation.min_score,
    )


def _insides(evaluation: Evaluation) -> tuple[Inside | None, ...]:
    scene = evaluation.scene
    values = {name: box_values(scene, name) for name in BOX_DIMENSIONS}
    return tuple(inside_of(scene, part, values) for part in evaluation.per_slice)


def _slices(evaluation: Evaluation, insides: Sequence[Inside | None]) -> tuple[ScoredSlice, ...]:
    scene = evaluation.scene
    return tuple(
        ScoredSlice(part.name, part.rows, None if inside is None else sweep_of(scene, evaluation.matches, inside))
        for part, inside in zip(evaluation.per_slice, insides, strict=True)
    )


@functools.cache
def evaluation_code() -> str:
    """Return the digest of the code that makes numbers: the evaluator, what it stands on, and the array library."""
    total = hashlib.sha256(f"numpy {version('numpy')}\n".encode())
    total.update(package_digest(_STATISTICS).encode())
    total.update(module_digest(*BELOW).encode())
    return total.hexdigest()


def _shown(evaluation: Evaluation) -> Bools:
    """Return which rows of the truth are found at the operating point of their class."""
    scene, found = evaluation.scene, evaluation.matches
    least = np.array([part.point.score for part in evaluation.per_class])
    hits = found.right()[0] & (scene.detected.score >= least[scene.detected.label])
    shown = np.zeros(len(scene.truth.frame), bool)
    shown[found.truth[0][hits]] = True
    return shown


def _holdout_digest(evaluation: Evaluation, insides: Sequence[Inside | None]) -> str:
    scene = evaluation.scene
    total = hashlib.sha256()
    for names in (scene.frame_ids, scene.classes, scene.groups):
        total.update("\n".join(names).encode("utf-8", "surrogatepass") + b"\0")
    truth = scene.truth
    arrays = [scene.frame_group, scene.annotated, truth.frame, truth.label, truth.corners, truth.ignore]
    for part, inside in zip(evaluation.per_slice, insides, strict=True):
        total.update(part.name.encode("utf-8", "surrogatepass") + b"\0")
        arrays += [part.rows, *([] if inside is None else [inside.objects])]
    for values in arrays:
        total.update(f"{values.shape}{values.dtype}".encode())
        total.update(np.ascontiguousarray(values).tobytes())
    return total.hexdigest()
