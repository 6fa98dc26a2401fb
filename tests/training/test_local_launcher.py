"""Workers are started again after a failure, and none is ever left over."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from driveflow.errors import InvalidInputError, TrainingFailedError
from training.local_launcher import LaunchPlan, launch

ROOT = Path(__file__).resolve().parents[2]


def _plan(folder, body, **changes):
    script = folder / "worker.py"
    script.write_text(
        f"import os, sys, time\nfrom pathlib import Path\nrank = int(os.environ['RANK'])\n{textwrap.dedent(body)}"
    )
    settings = {"workers": 2, "workers_per_node": 2, "max_seconds": 30, "grace_s": 0.3} | changes
    return LaunchPlan(
        command=(sys.executable, str(script)), environment=dict(os.environ), folder=folder, logs=folder, **settings
    )


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_until(claim, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not claim() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert claim()


def test_workers_know_who_they_are_as_torchrun_would_tell_them(tmp_path):
    names = "RANK LOCAL_RANK GROUP_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR"
    plan = _plan(
        tmp_path,
        f"Path(f'said-{{rank}}').write_text(' '.join(os.environ[name] for name in '{names}'.split()))",
        workers=4,
    )

    assert launch(plan, lambda: None) == 1

    said = [(tmp_path / f"said-{rank}").read_text() for rank in range(4)]
    assert said == ["0 0 0 4 2 127.0.0.1", "1 1 0 4 2 127.0.0.1", "2 0 1 4 2 127.0.0.1", "3 1 1 4 2 127.0.0.1"]


@pytest.mark.parametrize("how", ["sys.exit(1)", "os.kill(os.getpid(), 9)"])
def test_all_start_again_when_one_fails(tmp_path, how):
    plan = _plan(
        tmp_path,
        f"""
        with Path(f"starts-{{rank}}").open("a") as file: file.write("x")
        if rank == 1 and len(Path("starts-1").read_text()) == 1: {how}
        while not Path("starts-1").exists() or len(Path("starts-1").read_text()) < 2: time.sleep(0.01)
        """,
    )

    assert launch(plan, lambda: None) == 2
    assert [len((tmp_path / f"starts-{rank}").read_text()) for rank in (0, 1)] == [2, 2]


def test_a_worker_that_always_fails_is_told_with_the_end_of_its_log(tmp_path):
    plan = _plan(tmp_path, "if rank == 1: sys.exit('no more luck')\ntime.sleep(60)", restarts=1)

    with pytest.raises(TrainingFailedError, match=r"failed 2 times; .*worker 1 ended with exit code 1.*no more luck"):
        launch(plan, lambda: None)


def test_exit_code_two_is_not_tried_again(tmp_path):
    plan = _plan(tmp_path, "print('settings are wrong', flush=True)\nsys.exit(2)")

    with pytest.raises(
        InvalidInputError, match=r"Training cannot work: worker . ended with exit code 2.*settings are wrong"
    ):
        launch(plan, lambda: None)

    assert "--- start 2 ---" not in plan.log(0).read_text()


def test_a_command_that_is_not_there_is_told_at_once(tmp_path):
    plan = LaunchPlan(
        command=("no-such-trainer",),
        environment={},
        workers=1,
        workers_per_node=1,
        folder=tmp_path,
        logs=tmp_path,
        max_seconds=5,
    )

    with pytest.raises(InvalidInputError, match="'no-such-trainer' cannot be started"):
        launch(plan, lambda: None)


def test_ac_o21_workers_that_go_on_after_worker_0_get_a_grace_and_are_stopped(tmp_path):
    plan = _plan(tmp_path, "Path(f'pid-{rank}').write_text(str(os.getpid()))\nif rank: time.sleep(60)")

    started = time.monotonic()
    attempts = launch(plan, lambda: None)

    assert attempts == 1
    assert time.monotonic() - started < 20
    assert not (tmp_path / "pid-1").exists() or not _alive(int((tmp_path / "pid-1").read_text()))


def test_training_that_takes_too_long_is_stopped(tmp_path):
    plan = _plan(tmp_path, "time.sleep(60)", max_seconds=0.5)

    with pytest.raises(TrainingFailedError, match="was stopped after 0 s, its max_seconds"):
        launch(plan, lambda: None)


def test_no_worker_outlives_a_launcher_that_is_killed(tmp_path):
    (tmp_path / "worker.py").write_text(
        "import os, subprocess, sys, time\nfrom pathlib import Path\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "Path(f'pids-{os.environ[\"RANK\"]}').write_text(f'{os.getpid()} {child.pid}')\ntime.sleep(60)\n"
    )
    launcher = textwrap.dedent(
        f"""
        import os, sys
        from pathlib import Path
        from driveflow.keeper import kept
        from training.local_launcher import LaunchPlan, launch
        folder = Path({str(tmp_path)!r})
        command = tuple(kept([sys.executable, "worker.py"]))
        plan = LaunchPlan(command=command, environment=dict(os.environ), workers=2, workers_per_node=2, folder=folder,
                          logs=folder, max_seconds=60)
        launch(plan, lambda: None)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", launcher], env={**os.environ, "PYTHONPATH": str(ROOT)})
    files = [tmp_path / f"pids-{rank}" for rank in (0, 1)]
    _wait_until(lambda: all(file.exists() and len(file.read_text().split()) == 2 for file in files), 30)
    pids = [int(pid) for file in files for pid in file.read_text().split()]

    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    _wait_until(lambda: not any(_alive(pid) for pid in pids))
