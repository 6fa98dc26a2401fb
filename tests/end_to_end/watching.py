"""Watch a run from outside: which step it is at, and which processes it has."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.command import command, environment

_PATIENCE_S = 180.0


def start(flow: Path, workspace: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start a run in the background."""
    return subprocess.Popen(
        command("run", flow, "--workspace", workspace, *arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def runs_in(workspace: Path) -> set[str]:
    """Return the ids of the runs that a workspace has folders of."""
    folder = workspace / "runs"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def wait_for_step(process: "subprocess.Popen[str]", step: str, workspace: Path, before: set[str]) -> None:
    """Return once a run that is not among `before` has begun `step`, or once `process` has ended."""

    def begun() -> bool:
        logs = (workspace / "runs" / name / "logs" / f"{step}.log" for name in runs_in(workspace) - before)
        return process.poll() is not None or any(log.exists() for log in logs)

    wait_until(begun, f"{step} never began")


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    """Return once `holds`; fail where that takes too long."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, otherwise
        time.sleep(0.01)


def orphans_of(workspace: Path) -> list[str]:
    """Return what still runs for `workspace` ten seconds from now, by environment or command line."""
    found = processes_of(workspace)
    for _ in range(100):
        if not found:
            return []
        time.sleep(0.1)
        found = processes_of(workspace)
    return [f"{pid}: {argv}" for pid, argv in found.items()]


def processes_of(workspace: Path) -> dict[int, str]:
    """Return the processes that run for `workspace`, with their command lines."""
    name, found = os.fsencode(workspace), {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            told = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended, or it is another user's
        if any(name in text for text in told):
            found[int(folder.name)] = told[1].replace(bytes(1), b" ").decode(errors="replace")
    return found
