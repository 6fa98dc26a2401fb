"""What a killed run left is removed, what a living process writes is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driveflow.storage.local import TEMPORARY_PREFIX
from pipelines.sweep import sweep


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "runs" / "killed" / "tmp").mkdir(parents=True)
    (tmp_path / "store" / "objects").mkdir(parents=True)
    return tmp_path


def _half_written(workspace: Path, writer: int) -> Path:
    path = workspace / "store" / "objects" / f"{TEMPORARY_PREFIX}{writer}-0123456789abcdef"
    path.write_bytes(b"half")
    return path


def _gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_files_half_written_by_a_killed_process_go(workspace):
    left = _half_written(workspace, _gone())
    whole = left.with_name("whole")
    whole.write_bytes(b"whole")

    sweep(workspace, [workspace / "store"])

    assert not left.exists()
    assert whole.exists()
    assert not (workspace / "runs" / "killed" / "tmp").exists()


def test_a_file_that_a_living_process_writes_stays(workspace):
    mine = _half_written(workspace, os.getpid())

    sweep(workspace, [workspace / "store"])

    assert mine.exists()


def test_a_store_is_not_searched_where_no_run_was_killed(workspace):
    (workspace / "runs" / "killed" / "tmp").rmdir()
    left = _half_written(workspace, _gone())

    sweep(workspace, [workspace / "store"])

    assert left.exists()


def test_a_store_that_is_not_there_yet_is_fine(workspace):
    sweep(workspace, [workspace / "nowhere"])

    assert not (workspace / "runs" / "killed" / "tmp").exists()
