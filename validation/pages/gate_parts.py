"""The parts of the report about what the gate asks beside numbers: what must stay right, and what a frame costs."""

from collections.abc import Sequence

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from validation.cost import Cost, ModelCost
from validation.pages.rules import COSTS, rules_table
from validation.regression_rule import RULE
from validation.verdict import RuleResult


def regression_section(rules: Sequence[RuleResult]) -> Html:
    """Return the rules about past failures that must stay right."""
    found = [rule for rule in rules if rule.name.startswith(RULE)]
    if not found:
        return html.empty("The flow names no regression set: no past failure is frozen as one that must stay fixed.")
    words = (
        "Frozen past failures: objects that a model once missed or took for another class must be found as what they "
        "are, and false alarms must stay gone."
    )
    return html.join([html.paragraph(words, tone="info"), rules_table(found, "Regression sets")])


def cost_section(cost: Cost | None, rules: Sequence[RuleResult]) -> Html:
    """Return how long a frame takes and how large the model is, beside the champion on one machine."""
    judged = [rule for rule in rules if rule.name.startswith(COSTS)]
    if cost is None and not judged:
        return html.empty("Latency and size were not measured in this run.")
    parts = [_measured(cost)] if cost is not None else []
    return html.join([*parts, *([rules_table(judged, "Rules about cost")] if judged else [])])


def _measured(cost: Cost) -> Html:
    words = (
        f"Median over {cost.frames:,} frames on {cost.machine}; "
        "challenger and champion took turns, so that a busy machine slows both alike."
        if cost.champion is not None
        else f"Median over {cost.frames:,} frames on {cost.machine}."
    )
    columns = [Column("model"), Column("ms a frame", numeric=True), Column("frames a second", numeric=True)]
    rows = [_row("challenger", cost.challenger), *([_row("champion", cost.champion)] if cost.champion else [])]
    table = html.table([*columns, Column("megabytes", numeric=True)], rows, label="Cost")
    return html.join([html.paragraph(words, tone="info"), html.element("div", {"class": "narrow"}, table)])


def _row(name: str, cost: ModelCost) -> list[Cell | Text]:
    speed = 1_000 / cost.latency_ms if cost.latency_ms > 0 else None
    return [name, html.number(cost.latency_ms, 1), html.number(speed, 1), html.number(cost.size_bytes / 1e6, 2)]
