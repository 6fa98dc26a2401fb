"""A run that is killed, again and again, and started again ends where one that nobody killed ends."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from driveflow.ledger.ledger import open_ledger
from tests.end_to_end.command import command, environment, run, steps
from tests.end_to_end.conftest import Drives, Undisturbed

pytestmark = pytest.mark.slow

_KILLS = 10
_SEED = 20261129
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class _Moment:
    """So many seconds after `step` began; "" stands for the start of the command."""

    step: str
    delay_s: float


def test_ten_kills_change_nothing_but_the_time(drives: Drives, undisturbed: Undisturbed, tmp_path: Path):
    workspace = tmp_path / "killed"
    killed: list[_Moment] = []
    moments = _moments(undisturbed)

    while len(killed) < _KILLS:
        moment = next(moments)
        if _kill_at(moment, drives.flow, workspace):
            killed.append(moment)
        assert _processes_of(workspace) == [], f"orphans after a kill at {moment}"
    result = run(drives.flow, workspace)

    assert result["snapshots"] == undisturbed.result["snapshots"], killed
    _is_done_once(workspace, undisturbed.workspace)
    assert _litter(workspace) == []
    assert _processes_of(workspace) == []


def _moments(undisturbed: Undisturbed) -> Iterator[_Moment]:
    """Yield moments spread over a run: each step has its turn, at a seeded part of the time it took undisturbed.

    Training, the longest, has two; should a kill come too late, the next round makes up for it.
    """
    dice = random.Random(_SEED)
    took = {name: step["seconds"] for name, step in steps(undisturbed.result).items()}
    turns = ["", "import_batches", "fingerprint_frames", "filter_frames", "hand_off_frames"]
    turns += ["build_training_set", "train_model", "train_model", "validate_model", "promote_model"]
    while True:
        for step in turns:
            yield _Moment(step, dice.random() * 0.8 * took.get(step, 1.0))


def _kill_at(moment: _Moment, flow: Path, workspace: Path) -> bool:
    """Start a run, kill its first process at `moment`, and tell whether it still ran then."""
    known = set(_runs(workspace))
    process = subprocess.Popen(
        command("run", flow, "--workspace", workspace),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline_s = time.monotonic() + _PATIENCE_S
    while moment.step and process.poll() is None and not _has_begun(moment.step, workspace, known):
        assert time.monotonic() < deadline_s, f"{moment.step} never began"
        time.sleep(0.01)
    time.sleep(moment.delay_s)
    process.kill()
    return process.wait() == -signal.SIGKILL


def _runs(workspace: Path) -> list[str]:
    folder = workspace / "runs"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def _has_begun(step: str, workspace: Path, known: set[str]) -> bool:
    return any(
        (workspace / "runs" / name / "logs" / f"{step}.log").exists() for name in _runs(workspace) if name not in known
    )


def _is_done_once(workspace: Path, other: Path) -> None:
    ledger = open_ledger(f"sqlite:///{workspace / 'ledger.db'}")
    events = [event.kind for event in ledger.model_events("sample")]
    versions = ledger.versions("sample")
    campaigns = ledger.campaigns(flow="sample")

    assert events.count("promoted") == 1, events
    assert [(version.version, version.state) for version in versions] == [(1, "champion")]
    assert [row.campaign_id for row in campaigns] == [path.name for path in (workspace / "store/campaigns").iterdir()]
    assert len(campaigns) == 1
    results = [path.read_bytes() for path in (workspace / "store/training").glob("*/result.json")]
    assert len(results) == len(list((workspace / "store/models").iterdir())) == 1
    assert [path.name for path in (workspace / "store/models").iterdir()] == [
        path.name for path in (other / "store/models").iterdir()
    ]
    assert {run.state for run in ledger.runs(100)} == {"FAILED", "SUCCEEDED"}


def _processes_of(workspace: Path) -> list[str]:
    """Return what still runs for `workspace` five seconds from now, by environment or command line."""
    for _ in range(50):
        found = _living(os.fsencode(workspace))
        if not found:
            return []
        time.sleep(0.1)
    return found


def _living(name: bytes) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            told = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended, or it is another user's
        if any(name in text for text in told):
            found.append(f"{folder.name}: {told[1].replace(bytes(1), b' ').decode(errors='replace')}")
    return found


def _litter(workspace: Path) -> list[str]:
    """Return what killed processes left: files half written, working folders of steps and of training."""
    temporary = workspace.rglob(".driveflow-tmp-*")
    folders = [*workspace.glob("runs/*/tmp"), *(path for path in workspace.glob("scratch/training/*") if path.is_dir())]
    return [str(path.relative_to(workspace)) for path in (*temporary, *folders)]
