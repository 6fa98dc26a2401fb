"""Run the real `driveflow` command as a process of its own, as a person would."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVEFLOW = Path(sys.executable).with_name("driveflow")
_PROGRESS = re.compile(r"  (done|failed)  +\w+ +[0-9.]+ s|  \.\.\. .*| {10}\S.*")
_FOREIGN = ("DRIVEFLOW_", "AWS_")


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left: its exit code and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return what it said with `-o json`."""
        assert self.out, f"nothing came on stdout; stderr: {self.err}"
        return json.loads(self.out)

    @property
    def words(self) -> list[str]:
        """Return the lines of stderr that are neither the progress of steps nor their notes."""
        return [line for line in self.err.splitlines() if line.strip() and not _PROGRESS.fullmatch(line)]


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of `driveflow`."""
    return [str(DRIVEFLOW), *map(str, arguments)]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment without what this test run set up for driveflow, and `more`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | dict(more or {})


def driveflow(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Finished:
    """Run a driveflow command to its end."""
    done = subprocess.run(
        command(*arguments), env=environment(env), cwd=cwd, capture_output=True, text=True, check=False, timeout=540
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def run(flow: Path, workspace: Path, *arguments: str, code: int = 0) -> Any:
    """Run a pipeline of `flow` and return its JSON; fail where it ends with another exit code than `code`."""
    done = driveflow("run", flow, "--workspace", workspace, *arguments, "-o", "json")
    assert done.code == code, f"exit code {done.code}\n{done.err}\n{done.out[-3000:]}"
    return done.json


def steps(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the steps of a run by name."""
    return {step["step"]: step for step in result["steps"]}


def reused(result: Mapping[str, Any]) -> set[str]:
    """Return the names of the steps that were re-used."""
    return {step["step"] for step in result["steps"] if step["reused"]}
