"""The gate's rules about challenger and champion side by side: the headline and the slices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driveflow.errors import UsageError
from driveflow.flow.sections import GateSection
from validation.model.compare import Comparison, Counts, Estimate
from validation.model.resample import Interval
from validation.verdict import RuleOutcome, RuleResult

CHANCE_OF_FALSE_BLOCK = 0.05  # over all comparisons with the champion together


@dataclass(frozen=True, slots=True)
class _Asked:
    """One comparison: how much worse it may be, and whether not being so must be proven."""

    part: Estimate
    margin: float
    required: bool


def champion_rules(gate: GateSection, comparison: Comparison) -> list[RuleResult]:
    """Return the rule of the headline, then one a slice.

    Raises:
        UsageError: the gate names a slice that is not there.
    """
    asked = [_Asked(comparison.overall, gate.max_drop, required=True), *_slices(gate, comparison)]
    judged = [one for one in asked[1:] if not too_small(one.part, gate) and one.part.change is not None]
    worse = _proven_worse([asked[0], *judged])
    proven = dict(zip([id(one) for one in judged], worse[1:], strict=True))
    rules = [_headline(comparison, gate, proven_worse=worse[0])]
    for one in asked[1:]:
        found = proven.get(id(one))
        rules.append(_slice(comparison, one, proven_worse=found) if found is not None else _unjudged(one, gate))
    return rules


def too_small(part: Estimate, gate: GateSection) -> bool:
    """Return whether a number stands on too little to judge by; only drives with an object in them count."""
    groups = part.interval.drive_groups if part.interval is not None else 0
    counts = part.counts
    return counts.frames < gate.min_frames or min(groups, counts.drive_groups) < gate.min_drive_groups


def stands_on(part: Estimate) -> str:
    """Return in words what a number stands on: frames, drive groups, and how many of those have an object."""
    counts, found = part.counts, part.interval
    groups = f"{found.drive_groups}" if found is not None else "fewer than 2"
    return f"{counts.frames} frames of {counts.drive_groups} drive groups, {groups} of them with an object"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def _slices(gate: GateSection, comparison: Comparison) -> list[_Asked]:
    own = {section.name: section for section in gate.slices}
    there = [part.name for part in comparison.per_slice]
    for name in own:
        if name not in there:
            raise UsageError(f"The gate names the slice {name!r}; the hold-out has {there or 'no slices'}.")
    return [
        _Asked(part, own[part.name].max_drop, own[part.name].required)
        if part.name in own
        else _Asked(part, gate.max_slice_drop, required=False)
        for part in comparison.per_slice
    ]


def _proven_worse(claims: Sequence[_Asked]) -> list[bool]:
    """Return which claims of being worse than the margin stand, by Holm's step-down over all of them."""
    chances = np.array([one.part.change.chance_of_not_worse(one.margin) if one.part.change else 1.0 for one in claims])
    stands = [False] * len(claims)
    for place, number in enumerate(np.argsort(chances, kind="stable").tolist()):
        if chances[number] > CHANCE_OF_FALSE_BLOCK / (len(claims) - place):
            break
        stands[number] = True
    return stands


def _headline(comparison: Comparison, gate: GateSection, *, proven_worse: bool) -> RuleResult:
    part, margin, name = comparison.overall, gate.max_drop, f"{comparison.metric} against the champion"
    change = part.change
    if change is None or change.interval is None or part.value is None or part.champion is None:
        reason = f"{comparison.metric} cannot be compared: the hold-out has too few objects or drive groups."
        return RuleResult(name, "NEEDS DATA", reason, None, -margin, None, part.counts, is_difference=True)
    outcome, tail = _decided(change.interval, margin, proven_worse=proven_worse)
    if outcome == "PASS" and too_small(part, gate):
        outcome, tail = "NEEDS DATA", f"that stands on {stands_on(part)}, too few to judge by"
    reason = (
        f"{comparison.metric} is {part.value:.3f}, the champion's {part.champion:.3f}; the difference lies between "
        f"{signed(change.interval.low)} and {signed(change.interval.high)}: {tail}."
    )
    return RuleResult(name, outcome, reason, change.value, -margin, change.interval, part.counts, is_difference=True)


def _decided(found: Interval, margin: float, *, proven_worse: bool) -> tuple[RuleOutcome, str]:
    if proven_worse:
        return "BLOCK", f"worse by more than {margin:.3f} is proven"
    if found.low >= -margin:
        return "PASS", f"not worse by more than {margin:.3f} is proven"
    groups = "1 drive group" if found.drive_groups == 1 else f"{found.drive_groups:,} drive groups"
    return "NEEDS DATA", f"whether it is worse by more than {margin:.3f} cannot be told from {groups}"


def _slice(comparison: Comparison, one: _Asked, *, proven_worse: bool) -> RuleResult:
    part, margin, change = one.part, one.margin, one.part.change
    if change is None or change.interval is None:
        raise UsageError(f"Slice {part.name} was not compared.")
    outcome, tail = _decided(change.interval, margin, proven_worse=proven_worse)
    if outcome == "NEEDS DATA" and not one.required:
        outcome, tail = "PASS", f"worse by more than {margin:.3f} is not proven"
    reason = f"{comparison.metric} in slice {part.name} changes by {signed(change.value)}: {tail}."
    name = f"slice {part.name}"
    return RuleResult(name, outcome, reason, change.value, -margin, change.interval, part.counts, is_difference=True)


def _unjudged(one: _Asked, gate: GateSection) -> RuleResult:
    counts: Counts = one.part.counts
    reason = (
        f"Slice {one.part.name} has {stands_on(one.part)}: too few to judge ({gate.min_frames} frames of "
        f"{gate.min_drive_groups} drive groups are needed)."
    )
    outcome: RuleOutcome = "NOT JUDGED"
    if one.required:
        outcome, reason = "NEEDS DATA", f"{reason} The gate requires this slice."
    change = one.part.change
    value, interval = (change.value, change.interval) if change is not None else (None, None)
    value = value if value is not None and np.isfinite(value) else None
    name = f"slice {one.part.name}"
    return RuleResult(name, outcome, reason, value, -one.margin, interval, counts, is_difference=True)
