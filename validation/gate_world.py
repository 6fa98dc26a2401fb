"""The gate's rules about what lies around the numbers: leaks, the hold-out that is pinned, the champion, the cost."""

from dataclasses import dataclass

from driveflow.flow.sections import GateSection
from validation.cost import Cost
from validation.leak import LeakReport
from validation.model.scored import Scored
from validation.verdict import RuleResult

AWAY = "champion"  # the name of the rule about a champion that nobody compares with


@dataclass(frozen=True, slots=True)
class ChampionAway:
    """Why a champion is not compared with: set aside by somebody until a moment, or (`by` empty) it cannot run."""

    champion: str
    reason: str
    by: str = ""
    until: str = ""


def away_rule(away: ChampionAway) -> RuleResult:
    """Return what is said of a champion that is not compared with."""
    name, champion = AWAY, away.champion[:12]
    if away.by:
        reason = f"Champion {champion} is set aside by {away.by} until {away.until}: {away.reason}. Floors alone judge."
        return RuleResult(name, "PASS", reason)
    reason = (
        f"Champion {champion} cannot run: {away.reason} Mend it, roll back, or set it aside with a reason and an end: "
        "driveflow models set-aside."
    )
    return RuleResult(name, "NEEDS DATA", reason)


def leak_rule(leak: LeakReport | None, name: str) -> RuleResult:
    """Return whether training data touches the hold-out; what a champion has seen is no fair comparison."""
    if leak is None:
        return RuleResult(name, "NOT JUDGED", "Training data and hold-out were not compared: the data is not here.")
    if leak.is_clean:
        return RuleResult(name, "PASS", leak.summary(), 0.0, 0.0)
    if name == "leak":
        return RuleResult(name, "BLOCK", leak.summary(), float(leak.total), 0.0)
    reason = f"The champion has seen the hold-out, so its numbers are too good. {leak.summary()}"
    return RuleResult(name, "NEEDS DATA", reason, float(leak.total), 0.0)


def holdout_rule(pinned: str, challenger: Scored) -> RuleResult:
    """Return whether this hold-out is the one that the flow pins."""
    here = challenger.holdout_id or challenger.measure.holdout
    if here.startswith(pinned) or challenger.measure.holdout.startswith(pinned):
        return RuleResult("hold-out", "PASS", f"The hold-out is the pinned one, {pinned[:12]}.")
    reason = f"The hold-out is {here[:12]}, but the flow pins {pinned[:12]}: growing it is an act of its own."
    return RuleResult("hold-out", "NEEDS DATA", reason)


def cost_rules(gate: GateSection, cost: Cost | None) -> list[RuleResult]:
    """Return latency and size beside their limits; without a limit they are told and not judged."""
    if cost is None:
        reason = "Latency and size were not measured here, and the gate limits them."
        return [RuleResult("cost", "NEEDS DATA", reason)]
    own, champion = cost.challenger, cost.champion
    beside = f", the champion's {champion.latency_ms:.1f} ms" if champion else ""
    how = f"median of {cost.frames} frames in turn on {cost.machine}"
    told = f"A frame takes {own.latency_ms:.1f} ms{beside} ({how})."
    rules = []
    if gate.max_latency_ms:
        rules.append(_limit("latency", told, own.latency_ms, gate.max_latency_ms, "ms"))
    if gate.max_latency_ratio and champion is not None:
        ratio = own.latency_ms / max(champion.latency_ms, 1e-9)
        rules.append(_limit("latency to the champion's", told, ratio, gate.max_latency_ratio, "times"))
    if gate.max_size_ratio and champion is not None:
        ratio = own.size_bytes / max(champion.size_bytes, 1)
        size = f"The model has {own.size_bytes:,} bytes, the champion {champion.size_bytes:,}."
        rules.append(_limit("size to the champion's", size, ratio, gate.max_size_ratio, "times"))
    if not rules:
        size = f" It has {own.size_bytes:,} bytes{f', the champion {champion.size_bytes:,}' if champion else ''}."
        rules.append(RuleResult("cost", "NOT JUDGED", f"{told}{size}", own.latency_ms))
    return rules


def _limit(name: str, told: str, value: float, limit: float, unit: str) -> RuleResult:
    if value <= limit:
        return RuleResult(name, "PASS", f"{told} {value:.2f} {unit} is within {limit:g}.", value, limit)
    return RuleResult(name, "BLOCK", f"{told} {value:.2f} {unit} is over the limit of {limit:g}.", value, limit)
