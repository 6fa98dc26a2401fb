"""Say whether a model may be promoted: PASS, BLOCK or NEEDS DATA, with every rule's numbers and reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from driveflow.errors import UsageError
from driveflow.flow.sections import FloorSection, GateSection
from validation.leak import LeakReport
from validation.model.compare import Comparison, Counts, Draws, Estimate, compare, counted_rows, estimate
from validation.model.evaluation import Evaluation
from validation.model.resample import Interval
from validation.model.scene import Ints

Outcome: TypeAlias = Literal["PASS", "BLOCK", "NEEDS DATA"]
RuleOutcome: TypeAlias = Literal["PASS", "BLOCK", "NEEDS DATA", "NOT JUDGED"]

CHANCE_OF_FALSE_BLOCK = 0.05  # over all comparisons with the champion together


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
    nothing_new: bool = False


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Two models measured on one hold-out (the champion is None for a first model), the rules, and the leak check."""

    challenger: Evaluation
    champion: Evaluation | None
    gate: GateSection
    leak: LeakReport
    draws: Draws = field(default_factory=Draws)


def judge(request: JudgeRequest) -> Verdict:
    """Return the verdict.

    BLOCK: a leak, a missed floor, or the headline or a slice proven worse than its margin (Holm over these claims).
    PASS: floors are reached, and the headline is proven not worse than its margin. Otherwise NEEDS DATA.

    Raises:
        InvalidInputError: the two models were not measured on the same hold-out.
        UsageError: a floor names a class or slice that is not there.
    """
    challenger, champion = request.challenger, request.champion
    comparison = compare(challenger, champion, request.gate.metric, request.draws)
    nothing_new = (
        champion is not None and bool(champion.model_digest) and champion.model_digest == challenger.model_digest
    )
    rules = _floor_rules(request)
    if nothing_new:
        rules.insert(0, RuleResult("against the champion", "PASS", "Nothing new: the challenger is the champion.", 0.0))
    elif champion is not None:
        rules = [*_comparison_rules(request.gate, comparison), *rules]
    elif not request.gate.floors:
        reason = "This is the first model and the flow states no floor: nothing says what is good enough."
        rules.append(RuleResult("floors", "NEEDS DATA", reason))
    rules += [_leak_rule(request.leak), *_size_rules(request)]
    outcome = _overall(rules)
    return Verdict(
        outcome=outcome,
        reason=_why(outcome, rules),
        rules=tuple(rules),
        comparison=comparison,
        holdout_id=challenger.holdout_id,
        challenger=challenger.model_digest,
        champion=champion.model_digest if champion is not None else "",
        nothing_new=nothing_new,
    )


def _overall(rules: Sequence[RuleResult]) -> Outcome:
    outcomes = {rule.outcome for rule in rules}
    if "BLOCK" in outcomes:
        return "BLOCK"
    return "NEEDS DATA" if "NEEDS DATA" in outcomes else "PASS"


def _why(outcome: Outcome, rules: Sequence[RuleResult]) -> str:
    if outcome == "PASS":
        return f"{rules[0].reason} Every rule is met."
    return " ".join(rule.reason for rule in rules if rule.outcome == outcome)


def _leak_rule(leak: LeakReport) -> RuleResult:
    if leak.is_clean:
        return RuleResult("leak", "PASS", leak.summary(), 0.0, 0.0)
    return RuleResult("leak", "BLOCK", leak.summary(), float(leak.total), 0.0)


def _size_rules(request: JudgeRequest) -> list[RuleResult]:
    counts = Counts(request.challenger.frames, request.challenger.drive_groups, request.challenger.objects)
    wanted = (
        ("hold-out frames", counts.frames, request.gate.min_frames, "labelled frames"),
        ("hold-out drive groups", counts.drive_groups, request.gate.min_drive_groups, "drive groups"),
    )
    return [_size_rule(name, have, need, what, counts) for name, have, need, what in wanted]


def _size_rule(name: str, have: int, need: int, what: str, counts: Counts) -> RuleResult:
    enough = have >= need
    reason = f"The hold-out has {have} {what}; " + (f"{need} are enough." if enough else f"at least {need} are needed.")
    return RuleResult(name, "PASS" if enough else "NEEDS DATA", reason, float(have), float(need), None, counts)


def _floor_rules(request: JudgeRequest) -> list[RuleResult]:
    return [_floor_rule(request, floor) for floor in request.gate.floors]


def _floor_rule(request: JudgeRequest, floor: FloorSection) -> RuleResult:
    rows, label = _where(request.challenger, floor)
    found = estimate(request.challenger, floor.metric, rows, label, request.draws)
    place = " ".join(
        part
        for part in (floor.class_name and f"of {floor.class_name}", floor.slice and f"in slice {floor.slice}")
        if part
    )
    name = f"floor {floor.metric} {place}".strip()
    if found.value is None:
        reason = f"{floor.metric} {place} cannot be measured: the hold-out has no such object.".replace("  ", " ")
        return RuleResult(name, "NEEDS DATA", reason, None, floor.at_least, None, found.counts)
    reached = found.value >= floor.at_least
    outcome: RuleOutcome = "PASS" if reached else "BLOCK"
    if _too_small(found.counts, request.gate) and floor.slice:
        outcome = "NEEDS DATA"
    reason = (
        f"{floor.metric} {place} is {found.value:.3f}, {'at or over' if reached else 'under'} the floor of "
        f"{floor.at_least:.3f}{_on_little(outcome, found.counts)}."
    ).replace("  ", " ")
    return RuleResult(name, outcome, reason, found.value, floor.at_least, found.interval, found.counts)


def _on_little(outcome: RuleOutcome, counts: Counts) -> str:
    if outcome != "NEEDS DATA":
        return ""
    return f", but it stands on {counts.frames} frames of {counts.drive_groups} drive groups only"


def _where(evaluation: Evaluation, floor: FloorSection) -> tuple[Ints, int | None]:
    slices = {part.name: part.rows for part in evaluation.per_slice}
    if floor.slice and floor.slice not in slices:
        raise UsageError(f"A floor names the slice {floor.slice!r}; the flow has {sorted(slices) or 'no slices'}.")
    classes = evaluation.scene.classes
    if floor.class_name and floor.class_name not in classes:
        raise UsageError(f"A floor names the class {floor.class_name!r}; the taxonomy has {list(classes)}.")
    rows = slices[floor.slice] if floor.slice else counted_rows(evaluation)
    return rows, classes.index(floor.class_name) if floor.class_name else None


def _comparison_rules(gate: GateSection, comparison: Comparison) -> list[RuleResult]:
    judged = [part for part in comparison.per_slice if not _too_small(part.counts, gate) and part.change is not None]
    claims = [(comparison.overall, gate.max_drop), *((part, gate.max_slice_drop) for part in judged)]
    worse = _proven_worse(claims)
    rules = [_headline_rule(comparison, gate.max_drop, proven_worse=worse[0])]
    proven = {id(part): flag for part, flag in zip(judged, worse[1:], strict=True)}
    for part in comparison.per_slice:
        rules.append(_slice_rule(comparison, part, gate, proven_worse=proven.get(id(part))))
    return rules


def _proven_worse(claims: Sequence[tuple[Estimate, float]]) -> list[bool]:
    """Return which claims of being worse than the margin stand, by Holm's step-down over all of them."""
    chances = np.array([part.change.chance_of_not_worse(margin) if part.change else 1.0 for part, margin in claims])
    stands = [False] * len(claims)
    for place, number in enumerate(np.argsort(chances, kind="stable").tolist()):
        if chances[number] > CHANCE_OF_FALSE_BLOCK / (len(claims) - place):
            break
        stands[number] = True
    return stands


def _headline_rule(comparison: Comparison, margin: float, *, proven_worse: bool) -> RuleResult:
    part, name = comparison.overall, f"{comparison.metric} against the champion"
    change = part.change
    if change is None or change.interval is None or part.value is None or part.champion is None:
        reason = f"{comparison.metric} cannot be compared: the hold-out has too few objects or drive groups."
        return RuleResult(name, "NEEDS DATA", reason, None, -margin, None, part.counts, is_difference=True)
    low, high = change.interval.low, change.interval.high
    stated = f"{comparison.metric} is {part.value:.3f}, the champion's {part.champion:.3f}"
    span = f"the difference lies between {_signed(low)} and {_signed(high)}"
    outcome: RuleOutcome
    if proven_worse:
        outcome, tail = "BLOCK", f"worse by more than {margin:.3f} is proven"
    elif low >= -margin:
        outcome, tail = "PASS", f"not worse by more than {margin:.3f} is proven"
    else:
        outcome, tail = "NEEDS DATA", f"whether it is worse by more than {margin:.3f} cannot be told from so few drives"
    reason = f"{stated}; {span}: {tail}."
    return RuleResult(name, outcome, reason, change.value, -margin, change.interval, part.counts, is_difference=True)


def _slice_rule(comparison: Comparison, part: Estimate, gate: GateSection, *, proven_worse: bool | None) -> RuleResult:
    name, margin = f"slice {part.name}", gate.max_slice_drop
    if proven_worse is None or part.change is None:
        reason = (
            f"Slice {part.name} has {part.counts.frames} frames of {part.counts.drive_groups} drive groups: "
            f"too few to judge ({gate.min_frames} frames of {gate.min_drive_groups} drive groups are needed)."
        )
        return RuleResult(name, "NOT JUDGED", reason, None, -margin, None, part.counts, is_difference=True)
    change = part.change
    tail = f"worse by more than {margin:.3f} is {'proven' if proven_worse else 'not proven'}"
    reason = f"{comparison.metric} in slice {part.name} changes by {_signed(change.value)}: {tail}."
    outcome: RuleOutcome = "BLOCK" if proven_worse else "PASS"
    return RuleResult(name, outcome, reason, change.value, -margin, change.interval, part.counts, is_difference=True)


def _too_small(counts: Counts, gate: GateSection) -> bool:
    return counts.frames < gate.min_frames or counts.drive_groups < gate.min_drive_groups or not counts.objects


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
