"""What a validation of data says, as records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

Verdict: TypeAlias = Literal["PASS", "NEEDS REVIEW", "BLOCK"]
Outcome: TypeAlias = Literal["PASS", "NEEDS REVIEW", "BLOCK", "NOT JUDGED"]
GRAVEST_FIRST: Final[Sequence[Outcome]] = ("BLOCK", "NEEDS REVIEW", "PASS", "NOT JUDGED")
Corners: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A frame, or a box of it, that a check points at, and why in a few words.

    `corners` are x1, y1, x2, y2 in pixels of the upright picture; `other` is what it is held against, a second box.
    """

    frame_id: str
    detail: str
    box_id: str = ""
    class_name: str = ""
    corners: Corners | None = None
    other: Corners | None = None
    other_name: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found: `found` of `n` things, as `value` in `unit`, against the limits that were set.

    `review` and `block` are None where the check has no such limit.
    """

    name: str
    outcome: Outcome
    reason: str
    value: float | None = None
    unit: str = ""
    review: float | None = None
    block: float | None = None
    found: int = 0
    n: int = 0
    suspects: tuple[Suspect, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift:
    """How one column differs from the snapshot before: an effect size, and what chance alone would give.

    `effect` is the Jensen-Shannon distance (base 2, 0 to 1) of a category or the Kolmogorov-Smirnov D of a number,
    `index` the population stability index of a category, `difference` the standardised difference of a number's means.
    `by_chance` is reached in one of twenty exchanges of whole drive groups between the sides.
    """

    column: str
    kind: Literal["category", "number"]
    outcome: Outcome
    reason: str
    effect: float | None
    by_chance: float | None
    index: float | None
    difference: float | None
    frames: tuple[int, int]  # before, now
    groups: tuple[int, int]
    values: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class: its boxes by split, and in what share of the labeled frames somebody looked for it."""

    class_name: str
    boxes: Mapping[str, int]
    looked_for: float | None


@dataclass(frozen=True, slots=True)
class DataReport:
    """Everything that was found in a snapshot, and the verdict."""

    snapshot_id: str
    against_id: str  # empty: nothing to compare with
    verdict: Verdict
    reason: str
    checks: tuple[Check, ...]
    drift: tuple[Drift, ...]
    classes: tuple[ClassRow, ...]
    counts: Mapping[str, int]
    seconds: float = 0.0
    paths: Mapping[str, str] = field(default_factory=dict)  # of the suspects' frames, by frame id

    @property
    def suspects(self) -> int:
        """How many frames and boxes the checks point at."""
        return sum(check.found for check in self.checks)


def judged(check: Check, min_n: int) -> Check:
    """Return `check` with the outcome that its value has under its limits; a share of fewer than `min_n` never blocks.

    A check without a value is not judged.
    """
    return replace(check, outcome=_outcome(check, min_n))


def _outcome(check: Check, min_n: int) -> Outcome:
    if check.value is None:
        return "NOT JUDGED"
    if check.block is not None and check.value > check.block and check.n >= min_n:
        return "BLOCK"
    if check.review is not None and check.value > check.review:
        return "NEEDS REVIEW"
    return "PASS"
