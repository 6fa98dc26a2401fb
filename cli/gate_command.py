"""`driveflow gate`: say whether one measured model may take the place of another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from validation.leak import LeakReport
    from validation.model.scored import Scored
    from validation.regression import RegressionSet
    from validation.verdict import RuleResult, Verdict

_NOT_PASSED = 5
_REASON_CHARS = 110


def gate(
    challenger: Annotated[Path, typer.Option(help="JSON of an evaluation or a report.", dir_okay=False)],
    policy: Annotated[Path, typer.Option(help="A flow file, or its section gate.", dir_okay=False)],
    champion: Annotated[
        Path | None, typer.Option(help="The same of the model in place; left out: there is none.", dir_okay=False)
    ] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Judge a challenger beside a champion: PASS, BLOCK or NEEDS DATA, with every rule's numbers and reason.

    Both files come from `driveflow evaluate -o json` or from a run (report.json), and are refused where the two were
    not measured by this code, in mode strict, on one hold-out, from one score on. Without a champion, floors alone
    judge.

    Examples:
      driveflow gate --challenger new.json --champion old.json --policy flow.yaml
      driveflow gate --challenger first.json --policy gate.yaml -o json

    Exit codes: 0 PASS, 1 refused, 2 usage, 3 not found, 5 BLOCK or NEEDS DATA.
    """
    from driveflow.flow.part import load_gate
    from validation.gate import JudgeRequest, judge
    from validation.report_json import verdict_json

    section = load_gate(policy)
    regressions = tuple(_regressions(name, policy, workspace, profile) for name in section.regressions)
    own, leak = _read(challenger)
    other, other_leak = _read(champion) if champion is not None else (None, None)
    verdict = judge(JudgeRequest(own, other, section, leak, champion_leak=other_leak, regressions=regressions))
    emit(verdict_json(verdict), output, _text(verdict))
    raise typer.Exit(0 if verdict.outcome == "PASS" else _NOT_PASSED)


def _read(path: Path) -> "tuple[Scored, LeakReport | None]":
    """Return the matches in a file, and where it is a report, what that says of leaks."""
    from cli.report_files import read_json
    from driveflow.errors import InvalidInputError
    from validation.model.scored import evaluation_code
    from validation.scored_file import find_scored

    value = read_json(path, "JSON of an evaluation or a report")
    found = find_scored(value, str(path))
    if found.measure.code != evaluation_code():
        raise InvalidInputError(
            f"{path} was measured by another version of the evaluator ({found.measure.code[:12]}, this one is "
            f"{evaluation_code()[:12]}): evaluate again, then compare."
        )
    if found.measure.mode != "strict":
        raise InvalidInputError(f"{path} was measured in mode {found.measure.mode}; the gate judges by mode strict.")
    return found, _leak(value)


def _leak(value: Any) -> "LeakReport | None":  # noqa: ANN401 JSON
    from dataclasses import fields

    from validation.leak import LeakReport

    said = value.get("leak") if isinstance(value, dict) else None
    names = [item.name for item in fields(LeakReport) if item.name != "examples"]
    if not isinstance(said, dict) or not all(isinstance(said.get(name), int) for name in names):
        return None
    return LeakReport(**{name: said[name] for name in names}, examples=())


def _regressions(name: str, policy: Path, workspace: Path, profile: str) -> "RegressionSet":
    from cli.output import place_from
    from validation.regression import load_regressions

    beside = policy.parent / name
    if beside.is_file():
        return load_regressions(str(beside.resolve()), "")
    return load_regressions(name, place_from(workspace, profile).store)


def _text(verdict: "Verdict") -> str:
    against = f" against champion {_short(verdict.champion)}" if verdict.champion else ""
    head = f"{verdict.outcome}: challenger {_short(verdict.challenger) or 'without digest'}{against}"
    return "\n".join([head, verdict.reason, "", table([_row(rule) for rule in verdict.rules])])


def _row(rule: "RuleResult") -> dict[str, str | float | int | None]:
    from cli.reasons import shown_reason

    interval, counts = rule.interval, rule.counts
    return {
        "rule": rule.name,
        "outcome": rule.outcome,
        "value": rule.value,
        "limit": rule.limit,
        "95 % interval": f"{interval.low:+.3f} to {interval.high:+.3f}" if interval is not None else None,
        "drives": counts.drive_groups if counts is not None else None,
        "why": shown_reason(rule.reason, _REASON_CHARS),
    }


def _short(digest: str) -> str:
    """Return the beginning of a digest, or the last part of a path."""
    return Path(digest).name if "/" in digest else digest[:12]
