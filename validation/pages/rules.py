"""The part of the report that shows rules: each with its value drawn against its limit, and why in words."""

import math
from collections.abc import Sequence

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text
from driveflow.pages.whisker import Whisker, WhiskerScale, difference_scale, whisker
from validation.pages.words import INTERVAL, TONES, outcome_cell, span
from validation.verdict import RuleResult

_DRAWN = "dot: the value, line: its 95 % interval, dashed: the limit; differences with zero in the middle"
_OPENING = (
    Column("rule"),
    Column("outcome"),
    Column("against its limit", hint=_DRAWN),
    Column("value", numeric=True, hint=INTERVAL),
    Column("limit", numeric=True),
)
_COUNTS = ("hold-out", "leak")  # rules that count things instead of measuring
COSTS = ("cost", "latency", "size")
_UNITS = {
    "cost": "ms a frame",
    "latency": "ms a frame",
    "latency to the champion's": "times",
    "size to the champion's": "times",
    "leak": "training frames",
    "leak of the champion": "training frames",
}
_ORDER = ("BLOCK", "NEEDS DATA", "PASS", "NOT JUDGED")


def rules_table(rules: Sequence[RuleResult], label: str) -> Html:
    """Return rules in the order given."""
    columns = [*_OPENING, Column("frames", numeric=True), Column("drive groups", numeric=True), Column("why")]
    scale = _difference_scale(rules)
    return html.stacked(html.table(columns, [_row(rule, scale) for rule in rules], label=label))


def short_rules_table(rules: Sequence[RuleResult], label: str) -> Html:
    """Return a few rules for the first screen: what each stands on is said below why."""
    columns = [*_OPENING, Column("why")]
    scale = _difference_scale(rules)
    return html.stacked(html.table(columns, [_short_row(rule, scale) for rule in rules], label=label))


def digits_of(rule: RuleResult) -> int:
    """Return how many digits after the point value and limit of a rule have: what is counted has none."""
    return 0 if rule.name.startswith(_COUNTS) else 3


def unit_of(rule: RuleResult) -> str:
    """Return the unit of a rule's value; empty for shares and for what the rule's name says."""
    return _UNITS.get(rule.name, "")


def gravest_first(rules: Sequence[RuleResult]) -> list[RuleResult]:
    """Return the rules by outcome, those that stop a model first; within one outcome as they are."""
    return sorted(rules, key=lambda rule: _ORDER.index(rule.outcome))


def _row(rule: RuleResult, scale: tuple[float, float]) -> list[Cell | Text]:
    counts = (rule.counts.frames, rule.counts.drive_groups) if rule.counts is not None else (None, None)
    return [*_opening(rule, scale), *(html.number(count, 0) for count in counts), rule.reason]


def _short_row(rule: RuleResult, scale: tuple[float, float]) -> list[Cell | Text]:
    n = f"{rule.counts.frames:,} frames of {rule.counts.drive_groups:,} drive groups" if rule.counts is not None else ""
    return [*_opening(rule, scale), html.join([rule.reason, html.element("small", {}, n)])]


def _opening(rule: RuleResult, scale: tuple[float, float]) -> list[Cell | Text]:
    digits = digits_of(rule)
    below = unit_of(rule) or span(rule.interval, sign=rule.is_difference)
    return [
        html.name(rule.name),
        outcome_cell(rule.outcome),
        _drawn(rule, scale),
        html.number(rule.value, digits, sign=rule.is_difference, below=below),
        html.number(rule.limit, digits, sign=rule.is_difference),
    ]


def _drawn(rule: RuleResult, ends: tuple[float, float]) -> Cell:
    """Return the value against the limit: differences on one scale, shares from 0 to 1, counts not at all."""
    if rule.value is None or not math.isfinite(rule.value) or not (rule.is_difference or _is_share(rule)):
        return Cell(html.element("span", {"class": "none"}, "–"), order=math.nan)
    scale = WhiskerScale(*(ends if rule.is_difference else (0.0, 1.0)), limit=rule.limit)
    low, high = (rule.interval.low, rule.interval.high) if rule.interval is not None else (None, None)
    words = f"{rule.value:.3f} against {'no limit' if rule.limit is None else format(rule.limit, '.3f')}"
    return Cell(whisker(Whisker(rule.value, low, high, TONES[rule.outcome]), scale, words), order=rule.value)


def _difference_scale(rules: Sequence[RuleResult]) -> tuple[float, float]:
    differences = [rule for rule in rules if rule.is_difference and rule.outcome != "NOT JUDGED"]
    ends = [end for rule in differences if rule.interval for end in (rule.interval.low, rule.interval.high)]
    limits = [rule.limit for rule in differences if rule.limit is not None]
    scale = difference_scale(ends, min(limits, default=None), 0.5)
    return scale.low, scale.high


def _is_share(rule: RuleResult) -> bool:
    """Return whether value and limit are shares from 0 to 1, such as a metric and its floor."""
    numbers = [number for number in (rule.value, rule.limit) if number is not None]
    return not rule.name.startswith((*_COUNTS, *COSTS)) and all(0 <= number <= 1 for number in numbers)
