"""Truth and predictions as they were given: arrays in the order of the files, before anything is left out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from validation.model.box_facts import BoxFacts
from validation.model.scene import Bools, Correction, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class RawBoxes:
    """Boxes in their own order.

    `frame` and `label` index `RawScene.frame_ids` and `classes`, and beyond their ends the names of strangers.
    `size` is width and height as given, where the format has these and not corners. `score` is NaN where none is said,
    `area_px` NaN where it is that of the box. `where` tells a person which entry of which file a row is.
    """

    frame: Ints
    label: Ints
    corners: Floats
    size: Floats | None = None
    score: Floats | None = None
    area_px: Floats | None = None
    ignore: Bools | None = None
    crowd: Bools | None = None
    facts: BoxFacts | None = None
    where: Callable[[int], str] = lambda row: f"row {row}"

    def __len__(self) -> int:
        """Return how many boxes there are."""
        return len(self.frame)

    def sizes(self) -> Floats:
        """Return width and height of each box."""
        return self.size if self.size is not None else self.corners[:, 2:] - self.corners[:, :2]

    def with_last_pixel(self) -> "RawBoxes":
        """Return the same where the corners were numbers of pixels, and the last pixel belongs to the box."""
        last = np.array([0.0, 0.0, 1.0, 1.0])
        return replace(self, corners=self.corners + last, size=None if self.size is None else self.size + 1.0)

    def rows(self, rows: Ints) -> "RawBoxes":
        """Return some of the boxes, in that order."""
        return RawBoxes(
            frame=self.frame[rows],
            label=self.label[rows],
            corners=self.corners.take(rows, axis=0),
            size=None if self.size is None else self.size.take(rows, axis=0),
            score=None if self.score is None else self.score[rows],
            area_px=None if self.area_px is None else self.area_px[rows],
            ignore=None if self.ignore is None else self.ignore[rows],
            crowd=None if self.crowd is None else self.crowd[rows],
            facts=None if self.facts is None else self.facts.rows(rows),
            where=lambda row: self.where(int(rows[row])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RawScene:
    """All that was given, by number; strangers are frames and classes that only boxes name, sorted."""

    frame_ids: tuple[str, ...]
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    frame_group: Ints
    annotated: Bools  # frames x classes
    truth: RawBoxes
    found: RawBoxes
    strange_frames: tuple[str, ...] = ()
    strange_classes: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()  # what the readers found

    def frame_name(self, code: int) -> str:
        """Return the name of a frame, known or strange."""
        known = len(self.frame_ids)
        return self.frame_ids[code] if code < known else self.strange_frames[code - known]

    def class_name(self, code: int) -> str:
        """Return the name of a class, known or strange."""
        known = len(self.classes)
        return self.classes[code] if code < known else self.strange_classes[code - known]


def no_boxes(*, scored: bool) -> RawBoxes:
    """Return a set without boxes."""
    none = np.zeros(0, np.int64)
    score = np.zeros(0) if scored else None
    return RawBoxes(frame=none, label=none, corners=np.zeros((0, 4)), score=score)
