"""The sections of a flow file as plain frozen records: checked at the edge, taken as they are by the trades."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from driveflow.flow.data_validation_section import DataValidationSection
from driveflow.flow.defect_sections import (
    BlurSection,
    ExposureSection,
    FrozenCameraSection,
    LowContrastSection,
    SoiledLensSection,
    SwappedChannelsSection,
    TruncatedTailSection,
)
from driveflow.flow.fields import STRICT as _STRICT
from driveflow.flow.fields import Count, Name, Positive, Seconds, Share
from driveflow.flow.gate_section import GateSliceSection
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.miner_section import MinerName, MinerSection, ShieldSection
from driveflow.flow.schedule_section import ScheduleSection

LabelFormatName = Literal[
    "auto", "coco", "yolo", "voc", "kitti", "kitti_tracking", "bdd100k", "scalabel", "nuscenes", "waymo", "openlabel",
    "cvat", "label_studio", "open_images", "labelme", "mot", "udacity", "dota", "recording", "folder",
]  # fmt: skip
"""What a batch may be stated to be; T4 tables are nuscenes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonomySection:
    """The classes of a project and how foreign names map to them."""

    __pydantic_config__ = _STRICT
    classes: Annotated[tuple[str, ...], Field(min_length=1)]
    aliases: dict[str, str] = field(default_factory=dict)  # foreign name -> one of `classes`
    drop: tuple[str, ...] = ()  # foreign names whose boxes are not wanted
    ignore: tuple[str, ...] = ()  # foreign names that become ignore regions of every class


ONE_CAMERA = "camera"  # what the camera is called that nobody names


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSection:
    """One delivery of recorded data."""

    __pydantic_config__ = _STRICT
    name: Name
    path: Annotated[str, Field(min_length=1)]  # relative to the profile's data root, or file:// or s3://
    format: LabelFormatName = "auto"
    annotations: str = ""  # the label file or its folder, relative to `path`; empty: found by content
    # a CSV or Parquet table with a row a file (path, drive, camera, captured_ns, ...); empty: all called metadata
    metadata: str = ""
    clock: Literal["", "utc", "gps", "drive_relative"] = ""  # of times whose source names none
    epoch_ns: int = 0  # added to those times: what they count from, in nanoseconds since 1970
    join_tolerance_ms: Annotated[float, Field(ge=0)] = 0.0  # a time in a name may be so much off; 0: not at all
    max_gap_s: Seconds = 60.0  # a drive is cut where no frame was taken for so long; 0: never
    drives: Literal["auto", "batch", "folder", "stills"] = "auto"
    drive: str = ""  # states that the whole batch is this drive; equal names in two batches are one drive
    camera: str = ONE_CAMERA  # where neither metadata nor labels name it; this one also where no folder of cameras does
    split: Literal["", "train", "val", "holdout"] = ""  # puts every frame of the batch in this split
    annotated_classes: tuple[str, ...] = ()  # classes somebody looked for; empty: all that the label format lists
    attributes: dict[str, str] = field(default_factory=dict)  # frame attributes of every frame, e.g. weather: rain
    every_s: Seconds = 0.0  # frames of videos at least so many seconds apart; 0: all
    as_of: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = ""  # the day of its labels, for `newest`


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutSection:
    """What judges models: by source split, by drive, or a fraction of drive groups. All that is stated is used."""

    __pydantic_config__ = _STRICT
    source_splits: tuple[str, ...] = ()  # names of splits in the data, e.g. valid, test
    drives: tuple[str, ...] = ()
    fraction: Share = 0.0  # of drive groups, by seeded hash
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSection:
    """How training frames split into train and val, and what may not be split: it goes for the hold-out too."""

    __pydantic_config__ = _STRICT
    val_fraction: Share = 0.1  # of drive groups, by seeded hash
    seed: int = 0
    by: Literal["drive_group", "place", "day", "place_and_day"] = "drive_group"  # what one drive group shares
    place_cell_m: Annotated[float, Field(gt=0, le=20_000_000)] = 200.0  # side of a cell of lat and lon
    place_attribute: str = ""  # the frame attribute that names the place; empty: lat and lon do
    balance: bool = False  # new groups go where each split comes nearest to its share of every class


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicateSection:
    """Leader rule over 64-bit perceptual hashes; distances in bits."""

    __pydantic_config__ = _STRICT
    enabled: bool = True
    same_drive_max_bits: Annotated[int, Field(ge=0, le=16)] = 4  # same camera of one drive
    across_drives_max_bits: Annotated[int, Field(ge=0, le=16)] = 2
    window_s: Seconds = 0.0  # same_drive limit holds within so many seconds; 0: no window
    min_gap_s: Seconds = 0.0  # temporal floor between kept frames of a camera; 0: none
    min_gap_m: Annotated[float, Field(ge=0)] = 0.0  # and a floor in metres, where positions are known; 0: none
    standstill_s: Seconds = 10.0  # after so long a frame stays though the car has not moved
    across_cameras: bool = False  # compare frames of different cameras too, by the limit across drives
    equal_pixels: bool = True  # a frame whose every pixel equals a kept one's is dropped whatever camera took it
    embedding: str = ""  # compare frames by this model too, as builtin://efficientnet-lite0; empty: by hash alone
    same_drive_max_distance: Annotated[float, Field(ge=0, le=2)] = 0.05  # cosine distance; 0: not asked
    across_drives_max_distance: Annotated[float, Field(ge=0, le=2)] = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSection:
    """What makes a training frame not worth its label."""

    __pydantic_config__ = _STRICT
    near_duplicates: NearDuplicateSection = field(default_factory=NearDuplicateSection)
    blur: BlurSection = field(default_factory=BlurSection)
    exposure: ExposureSection = field(default_factory=ExposureSection)
    low_contrast: LowContrastSection = field(default_factory=LowContrastSection)
    truncated_tail: TruncatedTailSection = field(default_factory=TruncatedTailSection)
    frozen_camera: FrozenCameraSection = field(default_factory=FrozenCameraSection)
    swapped_channels: SwappedChannelsSection = field(default_factory=SwappedChannelsSection)
    soiled_lens: SoiledLensSection = field(default_factory=SoiledLensSection)
    shield: ShieldSection = field(default_factory=ShieldSection)
    by_arrival: bool = True  # batches are judged in the order of the flow file, each against what those before it kept


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereSection:
    """A predicate: any of `classes` in the frame, and every attribute one of its values."""

    __pydantic_config__ = _STRICT
    classes: tuple[str, ...] = ()
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CornerCaseSection:
    """A named search for frames worth a label: a rule, which also spares what it finds from thinning, or a miner."""

    __pydantic_config__ = _STRICT
    name: Name
    where: WhereSection = field(default_factory=WhereSection)
    expression: str = ""  # a condition on frames that must hold too, as in driveflow/where.py
    boxes_expression: str = ""  # a condition that some box of the frame must meet
    miner: MinerName = "rule"
    settings: MinerSection = field(default_factory=MinerSection)
    quota_frames: Positive = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelingSection:
    """What goes to annotators."""

    __pydantic_config__ = _STRICT
    provider: Literal["folder"] = "folder"
    budget_frames: Count = 500
    cost_per_frame: Annotated[float, Field(ge=0)] = 0.0  # money; 0: not known
    currency: str = ""  # what that money is, for people
    budget_money: Annotated[float, Field(ge=0)] = 0.0  # most that a hand-off may cost; 0: frames alone bound it
    control_share: Share = 0.1  # of the budget, drawn at random
    diversity: Literal["none", "k_center"] = "none"  # how the rest of the budget is chosen within a group
    embedding: str = ""  # by which frames are compared; empty: by hash
    balance: Literal["drives", "classes", "slices", "all"] = "drives"  # the groups that the rest is spread over
    guideline: str = "v1"
    prelabel_min_score: Share = 0.3
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSection:
    """What each worker gets on a cluster; a laptop takes what there is."""

    __pydantic_config__ = _STRICT
    cpu: Annotated[float, Field(gt=0)] = 1.0
    memory_gib: Annotated[float, Field(gt=0)] = 4.0
    gpu: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSection:
    """How a model is made: the built-in trainer, or a command that keeps the trainer contract."""

    __pydantic_config__ = _STRICT
    trainer: Literal["builtin", "command"] = "builtin"
    command: tuple[str, ...] = ()
    export: Literal["tables", "coco", "yolo"] = "tables"  # what a command trainer gets
    nodes: Positive = 1
    workers_per_node: Positive = 2
    resources: ResourceSection = field(default_factory=ResourceSection)
    epochs: Positive = 12
    image_size_px: Annotated[int, Field(ge=64, le=1024, multiple_of=32)] = 256  # long side
    batch_size: Positive = 8  # over all workers
    learning_rate: Annotated[float, Field(gt=0)] = 0.004
    seed: int = 0
    max_seconds: Positive = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainSection:
    """When a new model is due; any one reason is enough."""

    __pydantic_config__ = _STRICT
    min_new_labeled_frames: Positive = 1
    max_age_days: Positive = 30


Dimension = Literal["class", "size", "occlusion", "time_of_day", "weather", "camera", "place", "distance"]
BOX_DIMENSIONS: tuple[Dimension, ...] = ("class", "size", "occlusion", "distance")  # the others are of frames


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSection:
    """A named part of the hold-out, or one for each value of the dimensions that it is cut along."""

    __pydantic_config__ = _STRICT
    name: Name
    where: WhereSection = field(default_factory=WhereSection)
    expression: str = ""  # a condition on frames that must hold too, as in driveflow/where.py
    by: tuple[Dimension, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSection:
    """How a model is measured."""

    __pydantic_config__ = _STRICT
    slices: tuple[SliceSection, ...] = ()
    leak_max_bits: Annotated[int, Field(ge=0, le=16)] = 2  # near-duplicate limit between training and hold-out
    worst_frames: Count = 12
    min_score: Share = 0.05  # detections under it are not counted


Metric = Literal["AP", "AP50", "AP75", "AR100"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorSection:
    """A value that a metric must reach, over all classes or one class or one slice."""

    __pydantic_config__ = _STRICT
    metric: Metric = "AP50"
    class_name: str = ""
    slice: str = ""
    at_least: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSection:
    """What a model must show before it may be promoted."""

    __pydantic_config__ = _STRICT
    floors: tuple[FloorSection, ...] = ()
    metric: Metric = "AP50"  # compared with the champion on the same hold-out
    max_drop: Share = 0.02  # how much worse than the champion the headline may be
    max_slice_drop: Share = 0.1
    min_frames: Positive = 20  # fewer hold-out frames: NEEDS DATA
    min_drive_groups: Positive = 5
    slices: tuple[GateSliceSection, ...] = ()  # with margins of their own, and what must be proven
    regressions: tuple[str, ...] = ()  # sets of past failures that must stay right, by digest or address
    holdout: str = ""  # the beginning of the id of the one hold-out that may judge; empty: any
    max_latency_ms: Annotated[float, Field(ge=0)] = 0.0  # a frame; 0: no limit
    max_latency_ratio: Annotated[float, Field(ge=0)] = 0.0  # to the champion's; 0: no limit
    max_size_ratio: Annotated[float, Field(ge=0)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySection:
    """Where passing models go."""

    __pydantic_config__ = _STRICT
    model: Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9_.-]{0,60})?$")] = ""  # empty: the flow's name
    promote: Literal["auto", "manual"] = "auto"  # manual: a passing version stays a candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A whole flow file."""

    __pydantic_config__ = _STRICT
    name: Name
    taxonomy: TaxonomySection
    batches: Annotated[tuple[BatchSection, ...], Field(min_length=1)]
    merge: MergeSection = field(default_factory=MergeSection)
    holdout: HoldoutSection = field(default_factory=HoldoutSection)
    splits: SplitSection = field(default_factory=SplitSection)
    filters: FilterSection = field(default_factory=FilterSection)
    corner_cases: tuple[CornerCaseSection, ...] = ()
    labeling: LabelingSection = field(default_factory=LabelingSection)
    training: TrainingSection = field(default_factory=TrainingSection)
    retrain: RetrainSection = field(default_factory=RetrainSection)
    data_validation: DataValidationSection = field(default_factory=DataValidationSection)
    validation: ValidationSection = field(default_factory=ValidationSection)
    gate: GateSection = field(default_factory=GateSection)
    registry: RegistrySection = field(default_factory=RegistrySection)
    schedule: ScheduleSection = field(default_factory=ScheduleSection)
