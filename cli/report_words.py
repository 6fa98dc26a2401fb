"""What `driveflow report diff` says to a person."""

from collections.abc import Sequence

from cli.output import table
from driveflow.canonical import Json
from validation.report_diff import NumberChange, ReportDiff

_MOST_ROWS = 15


def diff_text(found: ReportDiff) -> str:
    """Return what changed, the verdict first."""
    one, other = found.outcomes
    verdict = f"{one} → {other}" if one != other else f"{one} both times"
    lines = [f"{verdict}: {found.models[0]} → {found.models[1]}"]
    lines += [f"before: {found.reasons[0]}", f"now:    {found.reasons[1]}"]
    lines += [f"note:   {flag}" for flag in found.flags]
    lines += ["", table([_row(item, "metric", item.metric) for item in found.numbers])]
    lines += _rules(found)
    for title, items in (("class", found.per_class), ("slice", found.per_slice)):
        lines += _parts(title, items)
    return "\n".join(lines)


def _rules(found: ReportDiff) -> list[str]:
    if not found.rules:
        return ["", "Every rule says the same."]
    rows: list[dict[str, Json]] = [
        {"rule": item.name, "before": item.first or "-", "now": item.second or "-", "why": item.reason}
        for item in found.rules
    ]
    return ["", table(rows)]


def _parts(title: str, items: Sequence[NumberChange]) -> list[str]:
    if not items:
        return []
    shown = items if len(items) <= _MOST_ROWS else [*items[: _MOST_ROWS - 5], *items[-5:]]
    left = len(items) - len(shown)
    rows = [_row(item, f"{title}, {items[0].metric}", item.name) for item in shown]
    return ["", table(rows), *([f"{left} more that changed less; -o json has all."] if left else [])]


def _row(item: NumberChange, title: str, name: str) -> dict[str, Json]:
    return {
        title: name,
        "before": _number(item.first),
        "now": _number(item.second),
        "change": _number(item.change, "+"),
    }


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.3f}"
