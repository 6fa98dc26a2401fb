"""What an evaluation says, as records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from validation.model.confusion import Confusion, Mistakes
from validation.model.curves import Curve, OperatingPoint
from validation.model.match import Matches
from validation.model.scene import Correction, Ints, Mode, Scene
from validation.model.self_check import Check
from validation.model.twelve import Numbers


@dataclass(frozen=True, slots=True)
class ClassResult:
    """One class: its numbers, how many frames it was looked for in, and its operating point."""

    class_name: str
    numbers: Numbers
    frames: int
    objects: int
    ignored: int
    detections: int
    point: OperatingPoint
    false_per_frame: float
    curve: Curve


@dataclass(frozen=True, slots=True)
class SliceResult:
    """A named part of the hold-out; `rows` are its frames' row numbers in the scene."""

    name: str
    numbers: Numbers
    frames: int
    drive_groups: int
    objects: int
    rows: Ints


@dataclass(frozen=True, slots=True)
class ScoreBin:
    """Detections whose score lies in a tenth of 0..1: how sure they were, and how many were right at IoU 0.5."""

    mean_score: float
    share_right: float
    count: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything measured about one model on one hold-out; all from one matching."""

    holdout_id: str
    model_digest: str
    numbers: Numbers
    per_class: tuple[ClassResult, ...]
    per_slice: tuple[SliceResult, ...]
    confusion: Confusion
    bins: tuple[ScoreBin, ...]
    corrections: tuple[Correction, ...]
    scene: Scene
    matches: Matches
    mistakes: Mistakes
    frames: int  # in which somebody looked for at least one class
    drive_groups: int
    objects: int
    detections: int
    seconds: float
    mode: Mode = "strict"
    by_threshold: Mapping[str, float | None] = field(default_factory=dict)  # AP at each threshold of overlap
    checks: tuple[Check, ...] = ()
