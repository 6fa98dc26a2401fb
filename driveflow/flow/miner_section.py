"""What a corner case looks for where it is more than a rule."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from driveflow.flow.fields import STRICT, Positive, Seconds, Share

MinerName = Literal[
    "rule",
    "rare_frames",
    "rare_objects",
    "uncertainty",
    "errors",
    "flicker",
    "like_these",
    "like_labels",
    "failed_slices",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MinerSection:
    """Settings of a miner; each heeds those that docs/flow.md lists for it."""

    __pydantic_config__ = STRICT
    at_least: Annotated[float, Field(ge=0)] = 0.0  # least score that counts as found, in the miner's own unit
    nearest: Positive = 1  # rarity is the distance to so many-th nearest
    reference: Literal["kept", "labeled", "other_drives"] = "kept"  # what rarity is measured against
    measure: Literal["entropy", "margin", "disagreement"] = "entropy"
    models: tuple[str, ...] = ()  # further models that disagreement asks, by address
    min_score: Share = 0.2  # detections under it are not looked at
    min_iou: Share = 0.5  # from this overlap on two boxes are of one object
    mistakes: tuple[Literal["missed", "false", "confused"], ...] = ()  # which of them count; none named: all
    max_gap_s: Seconds = 1.0  # a track that is gone for longer has ended
    frames: tuple[str, ...] = ()  # examples, by frame id, of train or val
    boxes: tuple[str, ...] = ()  # examples, as FRAME#BOX
    classes: tuple[str, ...] = ()  # whose labels are examples


@dataclass(frozen=True, slots=True, kw_only=True)
class ShieldSection:
    """What thinning spares beside the frames of corner cases, and how rules of these find their frames."""

    __pydantic_config__ = STRICT
    enabled: bool = True  # frames that are rare by their pixels alone survive thinning
    min_bits: Annotated[int, Field(ge=1, le=32)] = 16  # so far, of 64, from every other frame
    quota_frames: Positive = 100
    by_predictions: bool = False  # rules go by what the champion sees too, where nobody looked
