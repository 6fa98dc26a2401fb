"""A run that is stopped, loses a process, or meets another run ends in a clear line and leaves nothing running."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import Finished, driveflow, run
from tests.end_to_end.conftest import Drives
from tests.end_to_end.watching import orphans_of, processes_of, runs_in, start, wait_for_step, wait_until

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a run ended that something was done to."""

    finished: Finished
    shown: Any  # what `driveflow runs show` says of it


def _end(process: "subprocess.Popen[str]", workspace: Path) -> _Ended:
    out, err = process.communicate(timeout=60)
    assert orphans_of(workspace) == []
    shown = driveflow("runs", "show", "--workspace", workspace, "-o", "json").json
    return _Ended(Finished(process.returncode, out, err), shown)


def _clear_line(ended: _Ended) -> str:
    assert len(ended.finished.words) == 1, ended.finished.err
    assert ended.finished.json["error"]
    return ended.finished.words[0]


def test_ac_o29_a_run_that_is_told_to_stop_in_any_way_is_cancelled_and_can_be_started_again(drives: Drives, tmp_path):
    workspace = tmp_path / "workspace"

    for sign in (signal.SIGINT, signal.SIGTERM):
        before = runs_in(workspace)
        process = start(drives.flow, workspace, "--pipeline", "curate", "-o", "json")
        wait_for_step(process, "import_batches", workspace, before)
        process.send_signal(sign)
        ended = _end(process, workspace)

        assert ended.finished.code == 130
        assert "the run was stopped" in _clear_line(ended)
        assert ended.shown["state"] == ended.finished.json["state"] == "CANCELLED"
        assert {step["state"] for step in ended.shown["steps"]} <= {"SUCCEEDED", "CANCELLED"}
    assert run(drives.flow, workspace, "--pipeline", "curate")["state"] == "SUCCEEDED"


@pytest.mark.parametrize("victim", ["runner", "step"])
def test_ac_o8_a_run_that_loses_a_process_fails_with_the_step_it_was_at(drives: Drives, tmp_path, victim):
    workspace = tmp_path / "workspace"
    process = start(drives.flow, workspace, "--pipeline", "curate", "-o", "json")
    wait_for_step(process, "import_batches", workspace, set())
    wait_until(lambda: len(_others(workspace, process.pid)) > 1, "the step has no process of its own")

    os.kill(_others(workspace, process.pid)[0 if victim == "runner" else -1], signal.SIGKILL)
    ended = _end(process, workspace)

    assert ended.finished.code == 1
    assert "import_batches" in _clear_line(ended)
    assert ended.shown["state"] == "FAILED"
    assert {step["step"] for step in ended.shown["steps"] if step["state"] != "SUCCEEDED"} <= {"import_batches"}
    assert "RUNNING" not in {step["state"] for step in ended.shown["steps"]}


def test_ac_o26_a_workspace_admits_one_run_at_a_time(drives: Drives, tmp_path):
    workspace = tmp_path / "workspace"
    first = start(drives.flow, workspace, "--pipeline", "curate", "-o", "json")
    wait_until(lambda: len(runs_in(workspace)) == 1, "the first run never began")
    second = start(drives.flow, workspace, "--pipeline", "curate", "-o", "json")

    ended = [Finished(*_outcome(process)) for process in (first, second)]

    assert [one.code for one in ended] == [0, 0], [one.err for one in ended]
    shown = driveflow("runs", "list", "--workspace", workspace, "-o", "json").json
    later, earlier = shown
    assert {later["state"], earlier["state"]} == {"SUCCEEDED"}
    assert later["started_at"] >= earlier["finished_at"]
    assert ended[0].json["campaign"] == ended[1].json["campaign"]


def _others(workspace: Path, parent: int) -> list[int]:
    """Return the processes of a run in the order they were started, the command itself left out."""
    found = {pid: Path(f"/proc/{pid}/stat") for pid in processes_of(workspace) if pid != parent}
    ticks = {pid: int(stat.read_text().rpartition(")")[2].split()[19]) for pid, stat in found.items() if stat.exists()}
    return sorted(ticks, key=lambda pid: (ticks[pid], pid))


def _outcome(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err
