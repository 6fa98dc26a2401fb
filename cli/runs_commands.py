"""`driveflow runs`: what ran, step by step, and the logs of its steps."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.counts import headline
from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from driveflow.ledger.ledger import Ledger
    from driveflow.ledger.rows import RunRow, StepRow

app = typer.Typer(no_args_is_help=True)

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Beginning of a run's id; empty: the newest.")]
_SEARCHED = 10_000
_SHOWN = 5


@app.callback()
def runs() -> None:
    """List and show runs, and read the logs of their steps."""


@app.command("list")
def list_runs(
    flow: Annotated[str, typer.Option("--flow", help="Only runs of this flow.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="The newest so many.", min=1, max=_SEARCHED)] = 20,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List the newest runs, newest first.

    Example:
      driveflow runs list -n 5

    Exit codes: 0 done, 3 not found.
    """
    from cli.open_ledger import ledger_at

    rows = [_run(row) for row in ledger_at(workspace, profile)[1].runs(limit, flow)]
    emit(rows, output, table(rows) if rows else "Nothing has run yet.")


@app.command()
def show(
    run: RunName = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what kept each step from being re-used, against the last run.")
    ] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Show a run: its steps with times, counts, whether re-used, and what went wrong.

    Examples:
      driveflow runs show retrain-20260131
      driveflow runs show --explain

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.open_ledger import ledger_at
    from cli.runs_explain import explain_run, explain_text

    place, ledger = ledger_at(workspace, profile)
    found = _find(ledger, run)
    steps = ledger.steps(found.run_id)
    value = {**_run(found), "params": dict(found.params), "steps": [_step(step) for step in steps]}
    text = _text(found, steps)
    if explain:
        value["explain"] = explain_run(ledger, place.store, found)
        text = f"{text}\n\n{explain_text(value['explain'])}"
    emit(value, output, text)


@app.command()
def logs(
    run: RunName = "",
    step: Annotated[str, typer.Argument(help="Name of a step; empty: all.")] = "",
    tail: Annotated[int, typer.Option("--tail", "-n", help="Only the last so many lines of each.", min=0)] = 0,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Print what a step of a run on this machine said, or what all of them said.

    Example:
      driveflow runs logs retrain-20260131 train_model -n 50

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.open_ledger import ledger_at

    ledger = ledger_at(workspace, profile)[1]
    found = _find(ledger, run)
    files = _log_files(found, workspace, [row.step for row in ledger.steps(found.run_id)], step)
    texts = {name: _read(path, tail) for name, path in files.items()}
    whole = "\n".join(f"==> {name} <==\n{text}" for name, text in texts.items())
    said = texts[step] if step else whole
    emit({"run_id": found.run_id, "logs": texts}, output, said or f"The log of {step} is empty: it had nothing to say.")


def _find(ledger: "Ledger", name: str) -> "RunRow":
    from driveflow.errors import NotFoundError, UsageError

    known = ledger.runs(_SEARCHED)
    found = [row for row in known if row.run_id.startswith(name)]
    exact = [row for row in found if row.run_id == name]
    if not found:
        shown = ", ".join(row.run_id for row in known[:_SHOWN]) or "none"
        raise NotFoundError(f"There is no run {name!r}; newest: {shown} ({len(known)} in all).")
    if name and not exact and len(found) > 1:
        shown = ", ".join(row.run_id for row in found[:_SHOWN])
        raise UsageError(f"{len(found)} runs begin with {name!r}: {shown}; write more of it.")
    return (exact or found)[0]


def _run(row: "RunRow") -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "flow": row.flow,
        "pipeline": row.pipeline,
        "profile": row.profile,
        "state": row.state,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
    }


def _step(row: "StepRow") -> dict[str, Any]:
    return {
        "step": row.step,
        "state": row.state,
        "reused": row.reused,
        "started_at": row.started_at,
        "seconds": round(row.seconds, 3),
        "counts": dict(row.counts),
        "metrics": dict(row.metrics),
        "outputs": dict(row.outputs),
        "error": row.error or None,
    }


def _text(run: "RunRow", steps: "list[StepRow]") -> str:
    rows: list[dict[str, Any]] = [
        {
            "step": step.step,
            "state": step.state.lower(),
            "started": step.started_at[:19],
            "seconds": round(step.seconds, 2),
            "re-used": "yes" if step.reused else "",
            "counts": headline(step.counts),
        }
        for step in steps
    ]
    when = f"{run.started_at} to {run.finished_at or '-'}"
    head = f"run {run.run_id}: {run.pipeline} of {run.flow}, {run.state.lower()}, {when}"
    errors = [f"{step.step}: {step.error_kind}: {step.error}" for step in steps if step.error]
    return "\n".join([head, "", table(rows) if rows else "No step has begun.", *errors, *_made(steps)])


def _made(steps: "list[StepRow]") -> list[str]:
    """Return what came of the run: the verdict with its reason, and the snapshots."""
    from cli.run_result import snapshot_lines, snapshots_of

    outputs = {step.step: step.outputs for step in steps}
    judged = outputs.get("validate_model", {})
    verdict = [f"verdict: {judged['outcome']}. {judged.get('reason', '')}"] if "outcome" in judged else []
    return [*verdict, *snapshot_lines(snapshots_of(outputs))]


def _log_files(run: "RunRow", workspace: Path, steps: list[str], wanted: str) -> dict[str, Path]:
    """Return the log of each step in the order they began; a step that never began comes last."""
    from driveflow.errors import NotFoundError

    folder = Path(str(run.params.get("folder") or workspace / "runs" / run.run_id)) / "logs"
    there = {path.stem: path for path in sorted(folder.glob("*.log"))} if folder.is_dir() else {}
    if not there:
        raise NotFoundError(f"No log of run {run.run_id} lies in {folder}; a cluster keeps those of its runs.")
    if wanted and wanted not in there:
        raise NotFoundError(f"Run {run.run_id} has no log of a step {wanted!r}; it has {', '.join(there)}.")
    order = [name for name in steps if name in there] + [name for name in there if name not in steps]
    return {name: there[name] for name in ([wanted] if wanted else order)}


def _read(path: Path, tail: int) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-tail:] if tail else lines)
