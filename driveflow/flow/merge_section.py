"""The section of a flow file that says how batches become one snapshot."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from driveflow.flow.fields import STRICT, Positive, Share

MergeRule = Literal["union", "consensus", "prefer", "newest", "left", "review"]
Quorum = Annotated[int | float, Field(gt=0)]  # a whole number counts heads, a fraction up to 1.0 is a share of them


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMergeSection:
    """How the boxes of one class are merged."""

    __pydantic_config__ = STRICT
    rule: MergeRule
    quorum: Quorum = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSection:
    """Which share of some frames is taken."""

    __pydantic_config__ = STRICT
    keep: Share
    batch: str = ""  # empty: every batch
    where: str = ""  # an expression over frames; empty: all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSection:
    """How batches that share frames become one snapshot."""

    __pydantic_config__ = STRICT
    rule: MergeRule = "union"
    trust: tuple[str, ...] = ()  # of prefer: batch names, most trusted first; batches not named follow in flow order
    same_box_min_iou: Share = 0.9  # two boxes of one class at least this alike are one box
    consensus_min_iou: Share = 0.5  # the same under consensus
    quorum: Quorum = 2  # of consensus: how many of those who looked must have drawn a box
    per_class: dict[str, ClassMergeSection] = field(default_factory=dict)
    where: str = ""  # an expression over frames: the others of any batch are left out
    batch_where: dict[str, str] = field(default_factory=dict)  # batch -> the same for its frames
    boxes_where: str = ""  # an expression over boxes
    sampling: tuple[SamplingSection, ...] = ()
    quotas: dict[str, Positive] = field(default_factory=dict)  # batch -> most frames that are taken of it
    seed: int = 0  # of sampling and quotas
