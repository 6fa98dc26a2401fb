"""The part of the report that shows slices: what each stands on, what the gate said, and which could not be judged."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text, Tone
from driveflow.pages.whisker import WhiskerScale
from validation.model.compare import Comparison, Estimate
from validation.model.evaluation import Evaluation, SliceResult
from validation.model.slices import MOST_SLICES
from validation.pages.words import (
    INTERVAL,
    MEANING,
    MOST_ROWS,
    TONES,
    change_cell,
    drawn_cell,
    drawn_column,
    left_out,
    metric_column,
    outcome_cell,
    scale_of,
    value_cell,
)
from validation.verdict import RuleResult

_OTHERS = ("AP", "AP50", "AR100")
RULE = "slice "  # a gate's rule of a slice is named by it


def slice_table(challenger: Evaluation, comparison: Comparison, rules: Sequence[RuleResult] = ()) -> Html:
    """Return a row a slice, those the gate stopped at first, then those that lost most."""
    if not comparison.per_slice:
        return html.empty("No slices were asked for: name some in the flow (validation.slices) or with --slices.")
    by_name = {rule.name.removeprefix(RULE): rule for rule in rules if rule.name.startswith(RULE)}
    pairs = [
        (part, found)
        for part, found in zip(challenger.per_slice, comparison.per_slice, strict=True)
        if _outcome(by_name, part.name) != "NOT JUDGED"
    ]
    if not pairs:
        return html.empty("No slice has enough data to be judged; all are listed under “Slices without enough data”.")
    compared = comparison.overall.change is not None
    limits = [-rule.limit for rule in by_name.values() if rule.limit is not None and rule.is_difference]
    scale = scale_of([found for _part, found in pairs], max(limits, default=None) if compared else None)
    ordered = sorted(pairs, key=lambda pair: _gravity(by_name, pair[1]))
    rows = [_row(part, found, by_name, scale, comparison) for part, found in ordered[:MOST_ROWS]]
    table = html.table(_columns(comparison, scale, compared=compared, judged=bool(by_name)), rows, label="Slices")
    return html.join([table, left_out(len(pairs) - MOST_ROWS, "slices"), _bounded(challenger.per_slice)])


def _bounded(slices: Sequence[SliceResult]) -> Html:
    """Return that a section has no more slices than are measured, where one has as many."""
    found = Counter(tuple(dimension for dimension, _value in part.by) for part in slices if part.by)
    if max(found.values(), default=0) < MOST_SLICES:
        return Html("")
    words = f"Of one section at most {MOST_SLICES} slices are measured: those with the most objects."
    return html.paragraph(words, tone="info")


def unjudged_slices(challenger: Evaluation, rules: Sequence[RuleResult]) -> Html:
    """Return the slices that have too little data to be judged, with what they have."""
    reasons = {rule.name.removeprefix(RULE): rule for rule in rules if rule.outcome == "NOT JUDGED"}
    parts = [part for part in challenger.per_slice if part.name in reasons]
    if not challenger.per_slice:
        return html.empty("No slices were asked for.")
    if not parts:
        return html.empty("Every slice has enough frames and drive groups to be judged.")
    columns = [
        Column("slice"),
        Column("frames", numeric=True),
        Column("drive groups", numeric=True),
        Column("objects", numeric=True),
        Column("why not"),
    ]
    rows: list[list[Cell | Text]] = [
        [html.name(part.name), *_counts(part), reasons[part.name].reason]
        for part in sorted(parts, key=lambda part: (-part.drive_groups, -part.frames, part.name))[:MOST_ROWS]
    ]
    note = "These say nothing for or against the model. To judge them, record and label more drives of this kind."
    return html.join([html.paragraph(note, tone="info"), html.table(columns, rows, label="Slices without enough data")])


def _columns(comparison: Comparison, scale: WhiskerScale, *, compared: bool, judged: bool) -> list[Column]:
    change = Column("change", numeric=True, hint=f"challenger minus champion; {INTERVAL}, paired")
    return [
        Column("slice"),
        *([Column("gate")] if judged else []),
        *([drawn_column(scale), change, Column("champion", numeric=True)] if compared else []),
        metric_column(comparison.metric),
        *(Column(name, numeric=True, hint=MEANING[name]) for name in _OTHERS if name != comparison.metric),
        Column("frames", numeric=True),
        Column("drive groups", numeric=True),
        Column("objects", numeric=True),
    ]


def _row(
    part: SliceResult, found: Estimate, by_name: Mapping[str, RuleResult], scale: WhiskerScale, comparison: Comparison
) -> list[Cell | Text]:
    outcome, compared = _outcome(by_name, part.name), comparison.overall.change is not None
    tone: Tone | None = TONES[outcome] if outcome in {"BLOCK", "NEEDS DATA"} else None
    if not found.agrees(part.numbers.get(comparison.metric)):
        found = _measured(part, found, comparison)
    drawn = [drawn_cell(found, scale, tone), change_cell(found.change), html.number(found.champion)] if compared else []
    return [
        html.name(part.name),
        *([outcome_cell(outcome)] if by_name else []),
        *drawn,
        value_cell(found),
        *(html.number(part.numbers.get(name)) for name in _OTHERS if name != comparison.metric),
        *_counts(part),
    ]


def _measured(part: SliceResult, found: Estimate, comparison: Comparison) -> Estimate:
    """Return the number that was measured where the interval is of all objects of its frames."""
    return replace(found, value=part.numbers.get(comparison.metric), interval=None, champion=None, change=None)


def _counts(part: SliceResult) -> list[Cell]:
    return [html.number(value, 0) for value in (part.frames, part.drive_groups, part.objects)]


def _outcome(by_name: Mapping[str, RuleResult], name: str) -> str:
    return by_name[name].outcome if name in by_name else ""


def _gravity(by_name: Mapping[str, RuleResult], found: Estimate) -> tuple[int, float]:
    order = ("BLOCK", "NEEDS DATA", "PASS", "")
    change = found.change.value if found.change is not None else 0.0
    return order.index(_outcome(by_name, found.name)), change if math.isfinite(change) else 0.0
