"""The parts of the report that say what was decided and why."""

from driveflow.pages import html
from driveflow.pages.html import Cell, Column, Html, Text, Tone
from validation.gate import RuleResult, Verdict
from validation.leak import Leak, LeakReport
from validation.model.evaluation import Evaluation
from validation.model.resample import Interval

TONES: dict[str, Tone] = {"PASS": "good", "BLOCK": "bad", "NEEDS DATA": "warn", "NOT JUDGED": "plain"}
_MOST_ON_FIRST_SCREEN = 8
_KINDS = {"bytes": "the same bytes", "near_duplicate": "near-duplicate", "drive_group": "same drive group"}


def verdict_banner(verdict: Verdict) -> Html:
    """Return the verdict in large letters with the reason beside it."""
    tone = TONES[verdict.outcome]
    return html.element(
        "div",
        {"class": f"verdict {tone}", "role": "status"},
        html.element("strong", {}, verdict.outcome),
        html.element("span", {}, verdict.reason),
    )


def rules_table(verdict: Verdict) -> Html:
    """Return all rules, those that decided first; many are folded after the first few."""
    deciding = [rule for rule in verdict.rules if rule.outcome == verdict.outcome]
    rest = [rule for rule in verdict.rules if rule.outcome != verdict.outcome]
    order = ("BLOCK", "NEEDS DATA", "PASS", "NOT JUDGED")
    rules = [*deciding, *sorted(rest, key=lambda rule: order.index(rule.outcome))]
    shown, folded = rules[:_MOST_ON_FIRST_SCREEN], rules[_MOST_ON_FIRST_SCREEN:]
    title = html.element("h3", {}, "Rules that decided" if verdict.outcome != "PASS" else "Rules")
    count = f"{len(folded)} more rule{'s' if len(folded) > 1 else ''}"
    more = [html.folded(count, _rules(folded))] if folded else []
    return html.join([title, _rules(shown), *more])


def leak_section(leak: LeakReport) -> Html:
    """Return what was compared with the training data and what was found."""
    tone: Tone = "good" if leak.is_clean else "bad"
    summary = html.paragraph(html.badge("no leak" if leak.is_clean else "leak", tone), " ", leak.summary())
    if leak.is_clean:
        return summary
    columns = [Column("kind"), Column("training frame"), Column("hold-out frame"), Column("bits apart", numeric=True)]
    table = html.table([*columns, Column("drive group")], [_leak_row(item) for item in leak.examples], "Examples")
    return html.join([summary, table])


def corrections_list(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return what the evaluator did not count as given, for both models."""
    rows: list[list[Cell | Text]] = []
    for who, model in (("challenger", challenger), ("champion", champion)):
        for item in model.corrections if model is not None else ():
            examples = html.join([html.name(example) for example in item.examples], ", ")
            row: list[Cell | Text] = [who, item.kind.replace("_", " "), html.number(item.count, 0), item.done, examples]
            rows.append(row)
    if not rows:
        return html.paragraph("Everything was counted as given.")
    columns = [Column("model"), Column("what"), Column("count", numeric=True), Column("done"), Column("examples")]
    return html.table(columns, rows, label="Corrections")


def span(interval: Interval | None, digits: int = 3, *, sign: bool = False) -> str:
    """Return an interval as text; nothing where there is none."""
    if interval is None:
        return ""
    low, high = (
        f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−") for value in (interval.low, interval.high)
    )
    return f"{low} to {high}"


def _rules(rules: list[RuleResult]) -> Html:
    columns = [
        Column("rule"),
        Column("outcome"),
        Column("value", numeric=True, hint="below it the 95 % interval over drive groups"),
        Column("limit", numeric=True),
        Column("frames", numeric=True),
        Column("drive groups", numeric=True),
        Column("why"),
    ]
    return html.table(columns, [_rule_row(rule) for rule in rules], label="Rules of the gate")


def _rule_row(rule: RuleResult) -> list[Cell | str | Html]:
    digits = 0 if rule.value is not None and rule.counts is not None and rule.name.startswith("hold-out ") else 3
    digits = 0 if rule.name == "leak" else digits
    counts = (rule.counts.frames, rule.counts.drive_groups) if rule.counts is not None else (None, None)
    return [
        html.name(rule.name),
        Cell(html.badge(rule.outcome, TONES[rule.outcome]), order=rule.outcome),
        html.number(rule.value, digits, sign=rule.is_difference, below=span(rule.interval, sign=rule.is_difference)),
        html.number(rule.limit, digits, sign=rule.is_difference),
        *(html.number(count, 0) for count in counts),
        rule.reason,
    ]


def _leak_row(leak: Leak) -> list[Cell | str | Html]:
    bits = float(leak.distance_bits) if leak.distance_bits is not None else None
    frames = [html.code(frame[:16]) for frame in (leak.training_frame, leak.holdout_frame)]
    return [_KINDS[leak.kind], *frames, html.number(bits, 0), html.name(leak.drive_group)]
