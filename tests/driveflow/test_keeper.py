"""A kept command ends as it ends, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driveflow.keeper import kept


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_until(claim, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not claim() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert claim()


@pytest.mark.parametrize(
    ("code", "expected"), [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_the_exit_code_is_the_command_s(code, expected):
    assert subprocess.run(kept([sys.executable, "-c", code]), check=False).returncode == expected


def test_a_command_that_is_not_there_is_told():
    done = subprocess.run(kept(["no-such-command"]), check=False, capture_output=True, text=True)

    assert done.returncode == 127
    assert "no-such-command cannot be started" in done.stderr


def test_what_moved_to_a_session_of_its_own_ends_with_the_command(tmp_path):
    script = f"setsid sleep 60 & echo $! > {tmp_path}/pid"

    assert subprocess.run(kept(["sh", "-c", script]), check=False).returncode == 0

    assert not _alive(int((tmp_path / "pid").read_text()))


def test_a_keeper_that_is_stopped_ends_everything(tmp_path):
    script = f"setsid sleep 60 & echo $! > {tmp_path}/pid; sleep 60"
    process = subprocess.Popen(kept(["sh", "-c", script]))
    _wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())

    os.kill(process.pid, signal.SIGTERM)
    process.wait(20)

    assert not _alive(int((tmp_path / "pid").read_text()))
