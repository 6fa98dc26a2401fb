"""`driveflow data quarantine`: what could not be used, and another try."""

from typing import Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Most, Output, ProfileHere, Workspace, emit

app = typer.Typer(no_args_is_help=True)


@app.callback()
def quarantine() -> None:
    """See what could not be used and why, and try it again."""


@app.command("list")
def list_quarantine(
    snapshot: AnySnapshot,
    reason: Annotated[str, typer.Option(help="Only what was put aside for this reason.")] = "",
    limit: Most = 100,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List the files, lines and boxes that a snapshot could not use, each with its reason.

    Examples:
      driveflow data quarantine list may
      driveflow data quarantine list may --reason truncated -o json

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.data.tell_import import joined, nothing_called, quarantine_text
    from cli.snapshot_argument import find_snapshot
    from ingestion.source_report import quarantine_of

    found = find_snapshot(snapshot, workspace, profile)
    held = quarantine_of(found, reason, limit)
    text = joined(*quarantine_text(held, limit))
    if reason and not held["total"]:
        known = quarantine_of(found, most=0)["reasons"]
        text = nothing_called("Nothing was quarantined for", reason, "reasons", known)
    emit({"snapshot": found.snapshot_id, **held}, output, text)


@app.command("retry")
def retry_quarantine(
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The tag of an import.", show_default=False)],
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Import the batch of a tag again, as it was imported, and say which of the files put aside are usable now.

    Example:
      driveflow data quarantine retry may

    Exit codes: 0 done, 1 nothing usable or unknown classes, 2 usage, 3 not found.
    """
    from cli.data.run_import import retry_import
    from cli.data.tell_import import import_text

    report = retry_import(tag, workspace, profile)
    now = report["retried"]
    assert isinstance(now, dict)
    told = f"usable now {now['usable']['total']}, still put aside {now['still_quarantined']}"
    emit(report, output, f"{told}, newly put aside {now['newly_quarantined']}\n{import_text(report)}")
