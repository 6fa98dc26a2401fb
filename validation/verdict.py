"""What the gate decides, as records."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from validation.model.compare import Comparison, Counts
from validation.model.resample import Interval
from validation.model.scored import Measure

Outcome: TypeAlias = Literal["PASS", "BLOCK", "NEEDS DATA"]
RuleOutcome: TypeAlias = Literal["PASS", "BLOCK", "NEEDS DATA", "NOT JUDGED"]


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule decided: its value against its limit, what the value stands on, and why in one sentence."""

    name: str
    outcome: RuleOutcome
    reason: str
    value: float | None = None
    limit: float | None = None
    interval: Interval | None = None
    counts: Counts | None = None
    is_difference: bool = False  # value and limit are challenger minus champion


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided, and the comparison it decided from."""

    outcome: Outcome
    reason: str
    rules: tuple[RuleResult, ...]
    comparison: Comparison
    holdout_id: str
    challenger: str
    champion: str  # empty: there is none
    measure: Measure
    nothing_new: bool = False
