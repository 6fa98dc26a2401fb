"""`driveflow models set-aside`: judge without a champion that cannot run any more, for a while."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from cli.moments import moment_of
from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit
from cli.who import signed


def set_aside(  # noqa: PLR0913, PLR0917 one parameter an option
    model: Annotated[str, typer.Argument(help="Name of a model.", show_default=False)],
    why: Annotated[str, typer.Option("--why", help="The reason, kept in the history.", show_default=False)],
    until: Annotated[str, typer.Option("--until", help="When it counts again, e.g. 2026-01-31.", show_default=False)],
    who: Annotated[str, typer.Option("--who", help="Your name; empty: the one you are logged in by.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Judge without the champion for a while, by floors alone: for one that cannot run any more.

    Who, why and until when are kept in the history and said in every verdict meanwhile; it ends by itself.

    Example:
      driveflow models set-aside city --why "its trainer is gone" --until 2026-01-31

    Exit codes: 0 done, 2 usage, 3 there is no champion.
    """
    from cli.open_ledger import ledger_at
    from registry.records import Act
    from registry.set_aside import set_champion_aside

    act, end = Act(who=signed(who), why=why), moment_of(until, "--until")
    ledger = ledger_at(workspace, profile)[1]
    found = set_champion_aside(ledger, model, act, end, datetime.now(UTC))
    emit(asdict(found), output, f"{model}/{found.version} is set aside until {found.until}.")
