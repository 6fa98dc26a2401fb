"""Say whether a model may be promoted: PASS, BLOCK or NEEDS DATA, with every rule's numbers and reason."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np

from driveflow.flow.sections import GateSection
from validation.cost import Cost
from validation.gate_champion import champion_rules
from validation.gate_floors import floor_rule, size_rules
from validation.gate_world import AWAY, ChampionAway, away_rule, cost_rules, holdout_rule, leak_rule
from validation.leak import LeakReport
from validation.model.compare import Draws, compare
from validation.model.evaluation import Evaluation
from validation.model.scored import Scored, scored_of
from validation.model.sweep import Sweep
from validation.regression import RegressionSet
from validation.regression_rule import regression_rule
from validation.verdict import Outcome, RuleOutcome, RuleResult, Verdict

__all__ = ["JudgeRequest", "Outcome", "RuleOutcome", "RuleResult", "Verdict", "judge"]
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Two models measured on one hold-out (the champion is None for a first model), the rules, and what is known.

    `leak` is the check of the challenger's training data, None where nobody could look; `champion_leak` that of the
    champion's. `away`: there is a champion, but it was set aside or cannot run.
    """

    challenger: Evaluation | Scored
    champion: Evaluation | Scored | None
    gate: GateSection
    leak: LeakReport | None
    draws: Draws = field(default_factory=Draws)
    champion_leak: LeakReport | None = None
    away: ChampionAway | None = None
    regressions: tuple[RegressionSet, ...] = ()
    cost: Cost | None = None


def judge(request: JudgeRequest) -> Verdict:
    """Return the verdict.

    BLOCK: a leak, a missed floor, a past failure of a regression set that is back, a limit of cost that is passed, or
    the headline or a slice proven worse than its margin (Holm over these claims). PASS: none of that, and the headline
    and every required slice are proven not worse than their margins. Otherwise NEEDS DATA.

    Raises:
        InvalidInputError: the two models were not measured by one code in one mode on the same hold-out.
        UsageError: a rule names a class or slice that is not there.
    """
    challenger, champion = scored_of(request.challenger), request.champion
    other = scored_of(champion) if champion is not None else None
    comparison = compare(challenger, other, request.gate.metric, request.draws)
    nothing_new = other is not None and _is_one_model(challenger, other)
    rules: list[RuleResult] = []
    if nothing_new:
        rules.append(RuleResult("against the champion", "PASS", "Nothing new: the challenger is the champion.", 0.0))
    elif other is not None:
        rules += champion_rules(request.gate, comparison)
    rules += [floor_rule(challenger, floor, request.gate, request.draws) for floor in request.gate.floors]
    if other is None and not request.gate.floors:
        reason = "There is nothing to compare with and the flow states no floor: nothing says what is good enough."
        if request.away is None:
            reason = "This is the first model and the flow states no floor: nothing says what is good enough."
        rules.append(RuleResult("floors", "NEEDS DATA", reason))
    rules += [regression_rule(challenger, other, wanted) for wanted in request.regressions]
    rules += _world_rules(request, challenger)
    outcome = _overall(rules)
    return Verdict(
        outcome=outcome,
        reason=_why(outcome, rules),
        rules=tuple(rules),
        comparison=comparison,
        holdout_id=challenger.holdout_id,
        challenger=challenger.model_digest,
        champion=other.model_digest if other is not None else "",
        measure=challenger.measure,
        nothing_new=nothing_new,
    )


def _world_rules(request: JudgeRequest, challenger: Scored) -> list[RuleResult]:
    gate = request.gate
    rules = [away_rule(request.away)] if request.away is not None else []
    rules += [leak_rule(request.leak, "leak")]
    if request.champion is not None:
        rules.append(leak_rule(request.champion_leak, "leak of the champion"))
    if gate.holdout:
        rules.append(holdout_rule(gate.holdout, challenger))
    if request.cost is not None or gate.max_latency_ms or gate.max_latency_ratio or gate.max_size_ratio:
        rules += cost_rules(gate, request.cost)
    return rules + size_rules(challenger, gate)


def _is_one_model(one: Scored, other: Scored) -> bool:
    """Tell whether both are one model: a digest says so, a name of a file only where what was found is the same too."""
    if not one.model_digest or one.model_digest != other.model_digest:
        return False
    columns = [item.name for item in fields(Sweep)]
    return _DIGEST.fullmatch(one.model_digest) is not None or all(
        np.array_equal(getattr(one.sweep, name), getattr(other.sweep, name)) for name in columns
    )


def _overall(rules: Sequence[RuleResult]) -> Outcome:
    outcomes = {rule.outcome for rule in rules}
    if "BLOCK" in outcomes:
        return "BLOCK"
    return "NEEDS DATA" if "NEEDS DATA" in outcomes else "PASS"


def _why(outcome: Outcome, rules: Sequence[RuleResult]) -> str:
    """Return what decided, and in every verdict that a champion was set aside: nothing was compared with it."""
    aside = [rule.reason for rule in rules[1:] if rule.name == AWAY and rule.outcome == "PASS"]
    if outcome == "PASS":
        those = " that could be judged" if any(rule.outcome == "NOT JUDGED" for rule in rules) else ""
        return " ".join([rules[0].reason, f"Every rule{those} is met.", *aside])
    return " ".join([*(rule.reason for rule in rules if rule.outcome == outcome), *aside])
