"""`driveflow report`: find and print validation reports."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from driveflow.ledger.rows import DecisionRow

app = typer.Typer(no_args_is_help=True)
_SHOWN = 5
_REASON_CHARS = 100


@app.callback()
def report() -> None:
    """Find and print validation reports."""


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
    path = Path(run) if run and Path(run).is_file() else _page_of(run, workspace, profile)
    emit({"path": str(path.resolve())}, output, str(path.resolve()))
    if browser:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="Run id or the beginning of one; empty: the newest.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Print what the gate decided in a run: the verdict, and every rule with its numbers and reason.

    Example:
      driveflow report show -o json

    Exit codes: 0 whatever the verdict, 2 usage, 3 not found.
    """
    decision = _decision(run, workspace, profile)
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
    emit(value, output, _text(decision))


def _decision(run: str, workspace: Path, profile: str) -> "DecisionRow":
    from cli.open_ledger import ledger_at
    from driveflow.errors import NotFoundError, UsageError

    decisions = ledger_at(workspace, profile)[1].decisions()
    found = [row for row in decisions if row.run_id.startswith(run)]
    if not found:
        named = f" whose id begins with {run!r}" if run else ""
        raise NotFoundError(f"No run{named} has a validation report yet; `driveflow run flow.yaml` makes one.")
    runs = sorted({row.run_id for row in found})
    if run and len(runs) > 1 and run not in runs:
        raise UsageError(f"{len(runs)} runs begin with {run!r}: {', '.join(runs[:_SHOWN])}; write more of it.")
    exact = [row for row in found if row.run_id == run]
    return (exact or found)[-1]


def _page_of(run: str, workspace: Path, profile: str) -> Path:
    """Return the local page of a run's report: where it lies already, or a copy that a browser knows for a page."""
    from driveflow.storage.objects import fetch_file, local_path

    uri = _decision(run, workspace, profile).report_uri
    path = local_path(uri)
    if path is not None and path.suffix == ".html" and path.is_file():
        return path
    copy = workspace / "reports" / f"{uri.rpartition('/')[2].partition('.')[0]}.html"
    copy.parent.mkdir(parents=True, exist_ok=True)
    fetch_file(uri, copy)
    return copy


def _text(decision: "DecisionRow") -> str:
    rules = decision.detail.get("rules", [])
    rows = [_rule(rule) for rule in rules] if isinstance(rules, list) else []
    lines = [f"{decision.verdict}: {decision.model} {decision.digest[:12]}, run {decision.run_id}"]
    reason = decision.detail.get("reason")
    lines += [str(reason)] if reason else []
    lines += ["", table(rows)] if rows else []
    return "\n".join([*lines, "", f"report: {decision.report_uri}"])


def _rule(rule: "Json") -> "dict[str, Json]":
    from collections.abc import Mapping

    if not isinstance(rule, Mapping):
        return {}
    reason = str(rule.get("reason", ""))
    return {
        "rule": rule.get("name"),
        "outcome": rule.get("outcome"),
        "value": rule.get("value"),
        "limit": rule.get("limit"),
        "why": reason if len(reason) <= _REASON_CHARS else reason[: _REASON_CHARS - 1] + "…",
    }
