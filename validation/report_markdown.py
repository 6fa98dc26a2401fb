"""The validation report in short, as Markdown for the KFP page."""

from collections.abc import Iterable, Sequence

from driveflow.pages.markdown import plain
from validation.model.changed_frames import Changes
from validation.model.compare import Estimate
from validation.model.evaluation import Evaluation
from validation.model.resample import Interval
from validation.pages.changes import in_words
from validation.pages.rules import digits_of, unit_of
from validation.verdict import RuleResult, Verdict

_MOST_ROWS = 100
_MARK = {"PASS": "✅", "BLOCK": "⛔", "NEEDS DATA": "🟡", "NOT JUDGED": "▫️"}


def report_markdown(model: str, verdict: Verdict, challenger: Evaluation, found: Changes | None = None) -> str:
    """Return verdict, rules, what is newly broken and fixed, and a row a class and slice."""
    counted = f"{challenger.frames:,} frames, {challenger.drive_groups:,} drive groups, {challenger.objects:,} objects"
    metric = verdict.comparison.metric
    parts = [
        f"# {_MARK[verdict.outcome]} {verdict.outcome}: {plain(model)}",
        plain(verdict.reason, longest=2_000),
        f"Hold-out `{verdict.holdout_id[:16] or 'unnamed'}`: {counted}. Challenger `{verdict.challenger[:16]}`, "
        f"champion {f'`{verdict.champion[:16]}`' if verdict.champion else 'none'}.",
        "## Rules",
        _table(("rule", "outcome", "value", "limit", "95 % interval", "why"), map(_rule_row, verdict.rules)),
        "## Numbers",
        _table(
            (metric, "challenger", "95 % interval", "champion", "change", "95 % interval", "frames", "objects"),
            map(_estimate_row, [verdict.comparison.overall, *verdict.comparison.per_class]),
        ),
    ]
    if found is not None:
        parts += ["## Newly broken and fixed", in_words(found)]
    if verdict.comparison.per_slice:
        header = ("slice", metric, "95 % interval", "champion", "change", "95 % interval", "frames", "objects")
        parts += ["## Slices", _table(header, map(_estimate_row, verdict.comparison.per_slice))]
    return "\n\n".join(parts) + "\n"


def _rule_row(rule: RuleResult) -> tuple[str, ...]:
    digits, unit = digits_of(rule), unit_of(rule) if rule.value is not None else ""
    value = f"{_number(rule.value, digits=digits)} {unit}".rstrip()
    values = (value, _number(rule.limit, digits=digits), _span(rule.interval))
    return plain(rule.name), f"{_MARK[rule.outcome]} {rule.outcome}", *values, plain(rule.reason, longest=500)


def _estimate_row(found: Estimate) -> tuple[str, ...]:
    change = found.change
    return (
        plain(found.name),
        _number(found.value),
        _span(found.interval),
        _number(found.champion),
        _number(change.value if change else None, sign=True),
        _span(change.interval if change else None, sign=True),
        f"{found.counts.frames:,}",
        f"{found.counts.objects:,}",
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    every = [" | ".join(row) for row in rows]
    lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header), *(f"| {row} |" for row in every[:_MOST_ROWS])]
    if len(every) > _MOST_ROWS:
        lines.append(f"\n… and {len(every) - _MOST_ROWS:,} more")
    return "\n".join(lines)


def _number(value: float | None, *, sign: bool = False, digits: int = 3) -> str:
    if value is None or value != value:  # noqa: PLR0124 only NaN differs from itself
        return "–"
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def _span(interval: Interval | None, *, sign: bool = False) -> str:
    if interval is None:
        return "–"
    return f"{_number(interval.low, sign=sign)} to {_number(interval.high, sign=sign)}"
