"""The section of a flow file that says when data is good enough to train on."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from driveflow.flow.fields import STRICT, Count, Positive, Share

_FromZero = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataValidationSection:
    """Limits of the checks before training: over `review` a person should look, over `block` nothing is trained.

    Shares are of 0 to 1; a `block` of 1.0 is never reached. A check of fewer than `min_n` things never blocks.
    """

    __pydantic_config__ = STRICT
    enabled: bool = True
    examples: Count = 12  # suspects of each check that are listed and drawn
    min_n: Positive = 30
    unreadable_review: Share = 0.0  # pictures that cannot be decoded, of those that were measured
    unreadable_block: Share = 0.05
    left_out_review: Share = 0.01  # files and label lines that the import could not use, of frames and boxes
    left_out_block: Share = 1.0
    outside_px: _FromZero = 1.0  # so far a box may reach out of its picture
    outside_review: Share = 0.01  # of boxes
    outside_block: Share = 0.5
    empty_review: Share = 0.0  # boxes without area, of boxes
    empty_block: Share = 0.05
    twice_min_iou: Share = 0.9  # two boxes of one class in one frame that overlap so much are one object
    twice_review: Share = 0.01  # of boxes
    twice_block: Share = 0.25
    size_max_z: Annotated[float, Field(gt=0)] = 6.0  # robust deviations of log area or log aspect within the class
    size_min_side_px: _FromZero = 2.0
    size_review: Share = 0.02  # of boxes
    size_block: Share = 1.0
    unannotated_review: Share = 0.0  # boxes of a class that the frame does not list as annotated
    unannotated_block: Share = 0.2
    min_class_boxes: Count = 10  # training boxes of each class; fewer: review
    max_class_ratio: Annotated[float, Field(ge=1)] = 1000.0  # most to least frequent class; more: review
    time_review: Share = 0.01  # frames whose time is out of order or impossible, of those with a time
    time_block: Share = 1.0
    tags_review: Share = 0.02  # frames whose tag the sun, the picture or their neighbours speak against
    tags_block: Share = 0.5
    drift_review: Share = 0.25  # Jensen-Shannon distance of a category, Kolmogorov-Smirnov D of a number
    drift_block: Share = 1.0
    drift_min_frames: Positive = 100  # on either side; of fewer no drift is told
    drift_min_groups: Positive = 8  # drive groups on either side
    noise_min_score: Share = 0.8  # the champion's detections from here on are held against the labels
    noise_review: Share = 0.05  # of those detections
    noise_block: Share = 1.0
