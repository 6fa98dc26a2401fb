"""The first screen: the verdict, one sentence why, the rules that decided, champion beside challenger."""

from driveflow.pages import html
from driveflow.pages.html import Html
from validation.model.evaluation import Evaluation
from validation.pages.captions import digest_name
from validation.pages.rules import short_rules_table
from validation.pages.words import TONES
from validation.verdict import RuleResult, Verdict

_MOST_DECIDING = 4
_LONGEST_REASON = 260


def verdict_banner(verdict: Verdict) -> Html:
    """Return the verdict in large letters with one sentence why, and how many rules say what."""
    return html.element(
        "div",
        {"class": f"verdict {TONES[verdict.outcome]}", "role": "status"},
        html.element("strong", {}, verdict.outcome),
        html.element("span", {}, one_sentence(verdict)),
        html.element("small", {}, _tally(verdict)),
    )


def one_sentence(verdict: Verdict) -> str:
    """Return why in short: the reason, or where many rules give one, the first of them and how many agree."""
    if len(verdict.reason) <= _LONGEST_REASON:
        return verdict.reason
    first, *rest = deciding_rules(verdict) or verdict.rules
    agree = f" {len(rest)} more rule{'s say' if len(rest) > 1 else ' says'} {verdict.outcome}." if rest else ""
    return first.reason + agree


def deciding_rules(verdict: Verdict) -> list[RuleResult]:
    """Return the rules whose outcome is the verdict; of a PASS those that compare or measure, not those that count."""
    same = [rule for rule in verdict.rules if rule.outcome == verdict.outcome]
    if verdict.outcome != "PASS":
        return same
    measured = [rule for rule in same if rule.interval is not None and not rule.name.startswith("slice ")]
    return measured or same


def deciding_table(verdict: Verdict) -> Html:
    """Return the rules that decided, the gravest first."""
    deciding = deciding_rules(verdict)
    table = short_rules_table(deciding[:_MOST_DECIDING], "Rules that decided")
    more = len(deciding) - _MOST_DECIDING
    note = (
        [html.paragraph(f"{more} more that decided, and all others, under “All rules”.", tone="info")]
        if more > 0
        else []
    )
    return html.join([html.element("h3", {}, "Rules that decided"), table, *note])


def facts(challenger: Evaluation, champion: Evaluation | None) -> Html:
    """Return who was measured on what, in one line."""
    against = html.join(["champion ", digest_name(champion.model_digest)]) if champion else "no champion yet"
    return html.element(
        "p",
        {"class": "info facts"},
        html.join(
            [html.join(["challenger ", digest_name(challenger.model_digest)]), against, counted(challenger)],
            " · ",
        ),
    )


def counted(evaluation: Evaluation) -> Html:
    """Return how much was measured, and the hold-out's digest where it has one."""
    sizes = f"{evaluation.frames:,} frames, {evaluation.drive_groups:,} drive groups, {evaluation.objects:,} objects"
    if not evaluation.holdout_id:
        return html.join([f"hold-out of {sizes}"])
    return html.join(["hold-out ", digest_name(evaluation.holdout_id), f" of {sizes}"])


def _tally(verdict: Verdict) -> str:
    counts = {outcome: sum(rule.outcome == outcome for rule in verdict.rules) for outcome in TONES}
    words = {"BLOCK": "blocking", "NEEDS DATA": "in need of data", "PASS": "met", "NOT JUDGED": "not judged"}
    parts = [f"{counts[outcome]} {words[outcome]}" for outcome in words if counts[outcome]]
    rules = "1 rule" if len(verdict.rules) == 1 else f"{len(verdict.rules)} rules"
    return f"{rules}: {', '.join(parts)}."
