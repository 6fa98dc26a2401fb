"""A run that is killed, again and again, and started again ends where one that nobody killed ends."""

import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from driveflow.ledger.ledger import open_ledger
from tests.end_to_end.command import run, steps
from tests.end_to_end.conftest import Drives, Undisturbed
from tests.end_to_end.watching import orphans_of, runs_in, start, wait_for_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

_KILLS = 10
_SEED = 20261129


@dataclass(frozen=True, slots=True)
class _Moment:
    """So many seconds after `step` began; "" stands for the start of the command."""

    step: str
    delay_s: float


def test_ac_o14_ten_kills_change_nothing_but_the_time(drives: Drives, undisturbed: Undisturbed, tmp_path: Path):
    workspace = tmp_path / "killed"
    killed: list[_Moment] = []
    moments = _moments(undisturbed)

    while len(killed) < _KILLS:
        moment = next(moments)
        if _kill_at(moment, drives.flow, workspace):
            killed.append(moment)
        assert orphans_of(workspace) == [], f"orphans after a kill at {moment}"
    result = run(drives.flow, workspace)

    assert result["snapshots"] == undisturbed.result["snapshots"], killed
    _is_done_once(workspace, undisturbed.workspace)
    assert _litter(workspace) == []
    assert orphans_of(workspace) == []


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
    before = runs_in(workspace)
    process = start(flow, workspace)
    if moment.step:
        wait_for_step(process, moment.step, workspace, before)
    time.sleep(moment.delay_s)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


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


def _litter(workspace: Path) -> list[str]:
    """Return what killed processes left: files half written, working folders of steps and of training."""
    temporary = workspace.rglob(".driveflow-tmp-*")
    folders = [*workspace.glob("runs/*/tmp"), *(path for path in workspace.glob("scratch/training/*") if path.is_dir())]
    return [str(path.relative_to(workspace)) for path in (*temporary, *folders)]
