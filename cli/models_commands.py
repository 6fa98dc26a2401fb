"""`driveflow models`: the versions of a model, where they come from, and who promoted them why."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.moments import span_of
from cli.never_compared import tell_never_compared
from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, as_text, emit, table
from cli.set_aside_command import set_aside
from cli.who import signed

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from driveflow.ledger.rows import ModelVersionRow
    from registry.records import Reign, VersionDetail
    from registry.registry import Registry

app = typer.Typer(no_args_is_help=True)

Model = Annotated[str, typer.Argument(help="Name of a model.", show_default=False)]
Version = Annotated[str, typer.Argument(help="A number, or the first 8 letters of a digest.", show_default=False)]
Why = Annotated[str, typer.Option("--why", help="The reason, kept in the history.", show_default=False)]
Who = Annotated[str, typer.Option("--who", help="Your name; empty: the one you are logged in by.")]
_DIGEST_LETTERS = 12


@app.callback()
def models() -> None:
    """List, show, promote, roll back, set aside and verify model versions."""


app.command("set-aside")(set_aside)


@app.command("list")
def list_versions(
    model: Annotated[str, typer.Argument(help="Name of a model; empty: all.", show_default=False)] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List the versions of a model, or of all.

    Example:
      driveflow models list city

    Exit codes: 0 done, 3 not found.
    """
    registry = _registry(workspace, profile)
    if model:
        registry.require_model(model)
    names = [model] if model else registry.models()
    rows = [_line(row) for name in names for row in registry.versions(name)]
    emit(rows, output, table([_short(row) for row in rows]) if rows else "No model has a version yet.")


@app.command()
def show(
    model: Model,
    version: Annotated[str, typer.Argument(help="A number or a digest; empty: the champion.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Show a version: its bytes, what it was trained on and measured on, its report and its history.

    Example:
      driveflow models show city 3

    Exit codes: 0 done, 3 not found.
    """
    registry = _registry(workspace, profile)
    detail = registry.show(model, version or _present(registry, model))
    value = _detail(detail)
    facts = {name: item for name, item in value.items() if name not in {"decisions", "history"}}
    text = f"{as_text(facts)}\n\n{table(value['decisions'])}\n\n{table(value['history'])}"
    emit(value, output, text)


@app.command()
def history(
    model: Model,
    at: Annotated[str, typer.Option("--at", help="Who was champion at a moment, or on a day (UTC): 2026-01-31.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Tell everything that happened to a model, or who was champion at a moment or on a day.

    Examples:
      driveflow models history city
      driveflow models history city --at 2026-01-31
      driveflow models history city --at 2026-01-31T12:00:00+01:00

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    registry = _registry(workspace, profile)
    events = registry.history(model)
    if not events:
        registry.require_model(model)
    if at:
        found = registry.champions(model, *span_of(at))
        lines = [f"{model}/{reign.version.version} ({reign.version.digest}) since {reign.since}" for reign in found]
        emit(_champion_then(found), output, "\n".join(lines) or f"{model} had no champion then.")
        return
    rows = [_event(asdict(event)) for event in events]
    emit(rows, output, table(rows))


@app.command()
def promote(  # noqa: PLR0913, PLR0917 one parameter an option
    model: Model,
    version: Version,
    why: Why,
    who: Who = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Make a candidate the champion; only with a PASS bound to its digest.

    Example:
      driveflow models promote city 4 --why "the report convinced me"

    Exit codes: 0 done, 1 its bytes are broken, 2 usage, 3 not found, 5 not passed.
    """
    from registry.records import Act

    registry, act = _registry(workspace, profile), Act(who=signed(who), why=why)
    tell_never_compared(registry, model, version)
    row = registry.promote(model, version, act)
    emit(_line(row), output, f"{model}/{row.version} is {row.state}.")


@app.command()
def rollback(  # noqa: PLR0913, PLR0917 one parameter an option
    model: Model,
    why: Why,
    to: Annotated[str, typer.Option("--to", help="A former champion; empty: the newest one under the present.")] = "",
    who: Who = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Make a former champion champion again.

    Example:
      driveflow models rollback city --why "it misses cyclists at night"

    Exit codes: 0 done, 1 its bytes are broken, 2 usage, 3 not found.
    """
    from registry.records import Act

    row = _registry(workspace, profile).rollback(model, Act(who=signed(who), why=why), to)
    emit(_line(row), output, f"{model}/{row.version} is {row.state} again.")


@app.command()
def retire(  # noqa: PLR0913, PLR0917 one parameter an option
    model: Model,
    version: Version,
    why: Why,
    who: Who = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Put a candidate away; its bytes and history stay, and a champion is refused.

    Example:
      driveflow models retire city 4 --why "superseded"

    Exit codes: 0 done, 2 it is the champion, 3 not found.
    """
    from registry.records import Act

    row = _registry(workspace, profile).retire(model, version, Act(who=signed(who), why=why))
    emit(_line(row), output, f"{model}/{row.version} is {row.state}.")


@app.command()
def verify(
    model: Model,
    version: Annotated[str, typer.Argument(help="A number or a digest; empty: all versions.")] = "",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Check every file of a version, or of all versions, against its digest.

    Example:
      driveflow models verify city

    Exit codes: 0 all sound, 1 a file is missing or changed, 3 not found.
    """
    registry = _registry(workspace, profile)
    registry.require_model(model)
    numbers = [version] if version else [row.version for row in registry.versions(model)]
    checks = [registry.verify(model, number) for number in numbers]
    files: list[Json] = [
        {"version": check.version, "file": file.name, "state": file.state, "detail": file.detail}
        for check in checks
        for file in check.files
    ]
    is_sound = all(check.is_sound for check in checks)
    emit({"model": model, "sound": is_sound, "files": files}, output, as_text(files))
    if not is_sound:
        raise typer.Exit(1)


@app.command()
def sweep(
    keep_days: Annotated[int, typer.Option("--keep-days", help="Younger models stay.", min=1, max=36_500)] = 30,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Remove the bytes of old models that never became a version; those of versions are never touched.

    Example:
      driveflow models sweep --keep-days 90 --dry-run

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.open_ledger import ledger_at
    from registry.garbage import sweep_models

    place, ledger = ledger_at(workspace, profile)
    found = sweep_models(ledger, place.store, datetime.now(UTC), keep_days, dry_run=dry_run)
    left = f"{len(found.of_versions)} of versions, {len(found.young)} young, {len(found.unknown)} unknown stay"
    value: Any = {**asdict(found), "dry_run": dry_run}
    emit(value, output, f"{len(found.removed)} models {'would go' if dry_run else 'are gone'}; {left}.")


def _registry(workspace: Path, profile: str) -> "Registry":
    from cli.open_ledger import ledger_at
    from registry.registry import Registry

    place, ledger = ledger_at(workspace, profile)
    return Registry(ledger, place.store)


def _present(registry: "Registry", model: str) -> int:
    """Return the champion's number, or that of the newest version where there is no champion."""
    registry.require_model(model)
    champion = registry.champion(model)
    return champion.version if champion else registry.versions(model)[-1].version


def _line(row: "ModelVersionRow") -> "dict[str, Json]":
    return {
        "model": row.model,
        "version": row.version,
        "state": row.state,
        "digest": row.digest,
        "model_uri": row.model_uri,
        "created_at": row.created_at,
    }


def _short(line: "Mapping[str, Json]") -> "dict[str, Json]":
    """Return what fits into a line of a terminal; `models show` has the rest."""
    told = {name: line[name] for name in ("model", "version", "state")}
    return {**told, "digest": str(line["digest"])[:_DIGEST_LETTERS], "created": str(line["created_at"])[:19]}


def _champion_then(found: "Sequence[Reign]") -> "dict[str, Json] | None":
    """Return the last of the champions of a span, with the numbers of those it followed in it."""
    if not found:
        return None
    followed: list[Json] = [reign.version.version for reign in found[:-1]]
    return {**_line(found[-1].version), "since": found[-1].since, "followed": followed}


def _detail(detail: "VersionDetail") -> dict[str, Any]:
    row, trained = detail.version, detail.trained
    decided = ("decided_at", "run_id", "verdict", "holdout_uri", "report_uri")
    return {
        **_line(row),
        "run_id": row.run_id,
        "snapshot_uri": row.snapshot_uri,
        "holdout_uri": row.verdict.get("holdout_uri"),
        "report_uri": row.report_uri,
        "labeled_frames": trained.labeled_frames if trained else None,
        "trained_at": trained.created_at if trained else None,
        "decisions": [{name: getattr(found, name) for name in decided} for found in detail.decisions],
        "history": [_event(asdict(event)) for event in detail.events],
    }


def _event(event: "Mapping[str, Json]") -> "dict[str, Json]":
    told = {name: event[name] for name in ("at", "kind", "version", "digest", "who", "why")}
    return {**told, "digest": str(told["digest"])[:_DIGEST_LETTERS]}
