"""What an evaluation says, as records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from driveflow.flow.sections import Dimension, WhereSection
from validation.model.calibration import Calibration
from validation.model.confusion import Confusion, Mistakes
from validation.model.curves import Curve, OperatingPoint
from validation.model.delta_ap import DeltaAP
from validation.model.errors import Errors
from validation.model.false_alarms import FalseAlarms
from validation.model.kitti import Kitti
from validation.model.match import Matches
from validation.model.scene import Correction, Ints, Mode, Scene
from validation.model.self_check import Check
from validation.model.twelve import Numbers
from validation.model.voc import Voc


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
class SliceCounts:
    """What is right, missed and wrong in a slice at IoU 0.5 and each class's operating score over the whole hold-out.

    `found` and `missed` are the objects of the slice. `false` leaves out what is not of it, see `slices.Inside`.
    """

    found: int
    missed: int
    false: int


@dataclass(frozen=True, slots=True)
class SlicePredicate:
    """What a slice means, for a search elsewhere: conditions as in `driveflow.where`, empty where nothing is asked.

    Not `complete`: a value (of occlusion, of distance, what is not stated) that no condition tells is left out.
    """

    where: WhereSection
    frames: str
    boxes: str  # some box of the frame must meet it
    complete: bool


@dataclass(frozen=True, slots=True)
class SliceResult:
    """A named part of the hold-out; `rows` are its frames' row numbers in the scene.

    `by` holds the value of each dimension that it was cut along. Where one of these is of boxes (class, size,
    occlusion, distance), the slice is about some of the objects in `rows` only (`slices.inside_of` tells which), and
    `frames` and `drive_groups` count those that hold such an object.
    """

    name: str
    numbers: Numbers
    frames: int
    drive_groups: int
    objects: int
    rows: Ints
    by: tuple[tuple[Dimension, str], ...] = ()
    counts: SliceCounts | None = None
    predicate: SlicePredicate | None = None


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
    min_score: float = 0.0  # detections under it were not counted
    by_threshold: Mapping[str, float | None] = field(default_factory=dict)  # AP at each threshold of overlap
    checks: tuple[Check, ...] = ()
    point: OperatingPoint | None = None  # of all classes together, cut at one score: the best F1
    errors: Errors | None = None  # kinds of mistakes, all detections and those from the operating scores on
    delta_ap: DeltaAP | None = None  # what mending each kind would add to AP50
    calibration: Calibration | None = None
    voc: tuple[Voc, ...] = ()  # one for each overlap
    kitti: tuple[Kitti, ...] = ()  # easy, moderate, hard; empty where no object says how occluded and truncated it is
    false_alarms: FalseAlarms | None = None
    dimensions: tuple[SliceResult, ...] = ()  # each value that the hold-out tells of, with AP50 alone
