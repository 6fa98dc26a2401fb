"""One model's predictions and the truth, as sorted arrays that every computation shares."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driveflow.flow.sections import SliceSection

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COCO_DETECTION_LIMIT = 100  # of one class in one frame


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """One model's predictions on one hold-out.

    `frames` and `boxes` are the hold-out's tables, `predictions` the model's (schemas in `driveflow.tables`);
    detections under `min_score` are not counted. `max_detections` of one class in one frame: 0 takes the limit from
    the data, at least COCO's 100.
    """

    frames: pa.Table
    boxes: pa.Table
    predictions: pa.Table
    classes: tuple[str, ...]
    slices: tuple[SliceSection, ...] = ()
    min_score: float = 0.0
    max_detections: int = 0
    holdout_id: str = ""
    model_digest: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """Something in the input that was not counted as given: what, how often, a few examples, and what was done."""

    kind: str
    count: int
    examples: tuple[str, ...]
    done: str


@dataclass(frozen=True, slots=True)
class Truth:
    """Annotated boxes, sorted by class, frame, ignore and box id. `ignore` rows are regions."""

    frame: Ints
    label: Ints
    corners: Floats
    area_px: Floats
    ignore: Bools


@dataclass(frozen=True, slots=True)
class Detected:
    """Predicted boxes, sorted by class, frame, falling score and box id, so that file order cannot matter.

    `rank` counts from 0 within one class of one frame.
    """

    frame: Ints
    label: Ints
    corners: Floats
    score: Floats
    rank: Ints


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

    def looked_for(self, label: int | None = None) -> Bools:
        """Return in which frames somebody looked for a class, or for any class."""
        return np.asarray(self.annotated.any(axis=1) if label is None else self.annotated[:, label])
