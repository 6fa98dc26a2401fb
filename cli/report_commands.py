"""`driveflow report`: find, print and compare validation reports."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from driveflow.canonical import Json

app = typer.Typer(no_args_is_help=True)
_REASON_CHARS = 100


@app.callback()
def report() -> None:
    """Find, print and compare validation reports."""


@app.command("open")
def open_report(
    run: Annotated[str, typer.Argument(help="Run id or the beginning of one, or a report's path; empty: newest.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    browser: Annotated[bool, typer.Option("--browser", help="Also open it in a browser.")] = False,
    output: Output = "text",
) -> None:
    """Print the path of a validation report as a page that any browser opens.

    Example:
      driveflow report open --browser

    Exit codes: 0 there it is, 2 usage, 3 not found.
    """
    from cli.report_files import kept_json, page_of

    is_path = bool(run) and Path(run).is_file()
    path = Path(run) if is_path else page_of(run, workspace, profile)
    kept = "" if is_path else kept_json(run, workspace, profile)
    emit({"path": str(path.resolve()), "report_json": kept or None}, output, str(path.resolve()))
    if browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="Run id or the beginning of one, or a report.json; empty: newest.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Print what the gate decided: the verdict, and every rule with its numbers and reason.

    Example:
      driveflow report show -o json

    Exit codes: 0 whatever the verdict, 2 usage, 3 not found.
    """
    from cli.report_files import decision_of, report_of
    from driveflow.storage.uris import is_address

    if run and (Path(run).is_file() or is_address(Path(run))):
        verdict = _judged(report_of(run, workspace, profile), run)
        title = f"{verdict['outcome']}: {verdict['model']} {str(verdict['challenger'])[:12]}"
        emit(verdict, output, _text(title, verdict, run))
        return
    decision = decision_of(run, workspace, profile)
    value: dict[str, Json] = {
        "run_id": decision.run_id,
        "model": decision.model,
        "digest": decision.digest,
        "verdict": decision.verdict,
        "holdout": decision.holdout_uri,
        "training": decision.snapshot_uri,
        "report": decision.report_uri,
        "decided_at": decision.decided_at,
        "detail": dict(decision.detail),
    }
    title = f"{decision.verdict}: {decision.model} {decision.digest[:12]}, run {decision.run_id}"
    emit(value, output, _text(title, decision.detail, decision.report_uri))


@app.command()
def diff(
    first: Annotated[str, typer.Argument(help="A run id or the beginning of one, or a report.json.", metavar="A")],
    second: Annotated[str, typer.Argument(help="What it is compared with.", metavar="B")],
    across_holdouts: Annotated[
        bool, typer.Option("--across-holdouts", help="Compare although the hold-outs differ, and say so.")
    ] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Print what changed from report A to report B: verdict, numbers, rules, classes and slices.

    Example:
      driveflow report diff 2026-11-29 2026-11-30 -o json

    Exit codes: 0 whatever changed, 1 different hold-outs, 2 usage, 3 not found.
    """
    from cli.report_files import report_of
    from cli.report_words import diff_text
    from validation.report_diff import diff_reports

    reports = [report_of(name, workspace, profile) for name in (first, second)]
    found = diff_reports(reports[0], reports[1], across_holdouts=across_holdouts)
    emit(found.as_json(), output, diff_text(found))


def _judged(report: "Mapping[str, Json]", run: str) -> "dict[str, Json]":
    """Return the verdict of a report.json, with the model that it is about.

    Raises:
        InvalidInputError: the report lacks one of them.
    """
    from collections.abc import Mapping

    from driveflow.errors import InvalidInputError

    verdict = report.get("verdict")
    said = {"model": report.get("model"), **(verdict if isinstance(verdict, Mapping) else {})}
    lacks = [name for name in ("outcome", "model", "challenger") if said.get(name) is None]
    if lacks:
        raise InvalidInputError(f"{run} is no whole report.json of a validation: it does not say {lacks[0]!r}.")
    return said


def _text(title: str, verdict: "Mapping[str, Json]", report: str) -> str:
    rules = verdict.get("rules", [])
    rows = [_rule(rule) for rule in rules] if isinstance(rules, list) else []
    reason = verdict.get("reason")
    lines = [title, *([str(reason)] if reason else [])]
    lines += ["", table(rows)] if rows else []
    return "\n".join([*lines, "", f"report: {report}"])


def _rule(rule: "Json") -> "dict[str, Json]":
    from collections.abc import Mapping

    from cli.reasons import shown_reason

    if not isinstance(rule, Mapping):
        return {}
    return {
        "rule": rule.get("name"),
        "outcome": rule.get("outcome"),
        "value": rule.get("value"),
        "limit": rule.get("limit"),
        "why": shown_reason(str(rule.get("reason", "")), _REASON_CHARS),
    }
