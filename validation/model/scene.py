"""One model's predictions and the truth, as sorted arrays that every computation shares."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driveflow.flow.sections import SliceSection
from validation.model.box_facts import BoxFacts

if TYPE_CHECKING:
    from validation.model.raw import RawScene

Mode: TypeAlias = Literal["strict", "coco"]
"""How ties, limits, ignore regions and classes that nobody looked for are taken.

strict: detections of one score are a group, the limit comes from the data, ignore regions and unlabeled classes count
for nobody. coco: as pycocotools has it, in the order of the file, 100 detections of a class in a frame, crowds only.
"""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COCO_DETECTION_LIMIT = 100  # of one class in one frame


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """One model's predictions on one hold-out.

    `frames` and `boxes` are the hold-out's tables, `predictions` the model's (schemas in `driveflow.tables`);
    detections under `min_score` are not counted. `max_detections` of one class in one frame: 0 takes what `mode` has,
    in mode strict the limit from the data, at least COCO's 100. `thresholds` of overlap: none are COCO's ten. Where
    truth and predictions are there as arrays already (`raw`), the tables only serve slices. `conditions` are slices
    too: a name and a condition on the columns of frames, as in driveflow/where.py.
    """

    frames: pa.Table
    boxes: pa.Table
    predictions: pa.Table
    classes: tuple[str, ...]
    slices: tuple[SliceSection, ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()
    sources: pa.Table | None = None  # where the frames were found; None: no slice can tell cameras and places
    signals: pa.Table | None = None  # what their pixels measured; None: no tag is held against its picture
    min_score: float = 0.0
    max_detections: int = 0
    holdout_id: str = ""
    model_digest: str = ""
    mode: Mode = "strict"
    thresholds: tuple[float, ...] = ()
    raw: "RawScene | None" = None


@dataclass(frozen=True, slots=True)
class Correction:
    """Something in the input that was not counted as given: what, how often, a few examples, and what was done."""

    kind: str
    count: int
    examples: tuple[str, ...]
    done: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Annotated boxes, sorted by class and frame, then by corners (strict) or as given (coco). `ignore`: regions.

    `size` is width and height as given, where they were: corners round them.
    """

    frame: Ints
    label: Ints
    corners: Floats
    area_px: Floats
    ignore: Bools
    size: Floats | None = None
    facts: BoxFacts | None = None  # how hidden, cut off and far; None: nothing is said


@dataclass(frozen=True, slots=True)
class Detected:
    """Predicted boxes, sorted by class, frame and falling score, then by corners (strict) or as given (coco).

    `rank` counts those with a higher score within one class of one frame; in mode coco also equal ones given before.
    """

    frame: Ints
    label: Ints
    corners: Floats
    score: Floats
    rank: Ints
    size: Floats | None = None

    def rows(self, rows: Ints | Bools) -> "Detected":
        """Return some of the detections, in that order."""
        size = None if self.size is None else self.size[rows]
        return Detected(self.frame[rows], self.label[rows], self.corners[rows], self.score[rows], self.rank[rows], size)


@dataclass(frozen=True, slots=True)
class Scene:
    """All that an evaluation needs, as arrays; `frame` columns index `frame_ids`, `label` columns index `classes`."""

    frame_ids: tuple[str, ...]
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    frame_group: Ints  # index into groups, one a frame
    annotated: Bools  # frames x classes: somebody looked for it there
    truth: Truth
    detected: Detected
    limit: int
    under_min_score: int
    corrections: tuple[Correction, ...]
    by_score: Ints  # rows of `detected` by class and falling score; in mode coco equal ones in COCO's order
    mode: Mode = "strict"

    def looked_for(self, label: int | None = None) -> Bools:
        """Return in which frames somebody looked for a class, or for any class."""
        return np.asarray(self.annotated.any(axis=1) if label is None else self.annotated[:, label])
