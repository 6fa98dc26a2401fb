"""Run the workers of a training job on this machine, start them again from their checkpoint, leave none behind."""

import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from driveflow.errors import InvalidInputError, TrainingFailedError
from driveflow.processes import spawn, stop_group
from training.contract import HOPELESS_EXIT_CODE, WorkerRank, rank_environment

_POLL_S: Final = 0.05
_WATCH_EVERY_S: Final = 0.5
_LOG_LINES: Final = 8
_LOG_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What to run: `command` once for each worker, in `folder`; each has a log `worker-<rank>.log` in `logs`.

    The whole must end within `max_seconds`, starts over included. Once worker 0 is done the others have `grace_s`
    seconds to end by themselves.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    workers: int
    workers_per_node: int
    folder: Path
    logs: Path
    max_seconds: float
    restarts: int = 3
    grace_s: float = 60.0

    def log(self, rank: int) -> Path:
        """Return where worker `rank` writes."""
        return self.logs / f"worker-{rank}.log"


@dataclass(frozen=True, slots=True)
class _Failure:
    rank: int
    exit_code: int

    def told(self) -> str:
        how = f"exit code {self.exit_code}" if self.exit_code >= 0 else f"signal {-self.exit_code}"
        return f"worker {self.rank} ended with {how}"


def launch(plan: LaunchPlan, watch: Callable[[], None]) -> int:
    """Run the workers until worker 0 is done, and return how often they had to be started.

    When one fails, all are stopped and started again; they go on from their checkpoint. `watch` is called twice a
    second. Call from the main thread; no worker outlives this process, however it ends.

    Raises:
        InvalidInputError: the command cannot be started, or a worker says that trying again cannot help.
        TrainingFailedError: the workers failed once more than `restarts` allows, or time is up; with the last lines of
            the log.
    """
    deadline_s = time.monotonic() + plan.max_seconds
    for attempt in range(1, plan.restarts + 2):
        failure = _run_once(plan, attempt, deadline_s, watch)
        watch()
        if failure is None:
            return attempt
        if failure.exit_code == HOPELESS_EXIT_CODE:
            raise InvalidInputError(f"Training cannot work: {failure.told()}. {_last_lines(plan, failure.rank)}")
    raise TrainingFailedError(
        f"Training failed {plan.restarts + 1} times; the last time {failure.told() if failure else ''}. "
        f"{_last_lines(plan, failure.rank if failure else 0)}"
    )


def _run_once(plan: LaunchPlan, attempt: int, deadline_s: float, watch: Callable[[], None]) -> _Failure | None:
    processes: list[subprocess.Popen[bytes]] = []
    port = _free_port()
    try:
        for rank in range(plan.workers):
            processes.append(_start(plan, WorkerRank(rank, plan.workers), port, attempt))
        return _wait(plan, processes, deadline_s, watch)
    finally:
        for process in processes:
            process.terminate()  # all at once, so that stopping them one by one is quick
        for process in processes:
            stop_group(process)


def _start(plan: LaunchPlan, worker: WorkerRank, port: int, attempt: int) -> subprocess.Popen[bytes]:
    environment = {**plan.environment, **rank_environment(worker, plan.workers_per_node, port)}
    with plan.log(worker.rank).open("ab") as log:
        if attempt > 1:
            log.write(f"--- start {attempt} ---\n".encode())
            log.flush()
        try:
            return spawn(plan.command, env=environment, cwd=plan.folder, stdout=log)
        except OSError as error:
            raise InvalidInputError(f"The training command {plan.command[0]!r} cannot be started: {error}") from error


def _wait(
    plan: LaunchPlan, processes: Sequence[subprocess.Popen[bytes]], deadline_s: float, watch: Callable[[], None]
) -> _Failure | None:
    """Return None once worker 0 ended well and the others ended or had their grace; else what failed first."""
    watched_s = 0.0
    while processes[0].poll() is None:
        codes = [(rank, process.poll()) for rank, process in enumerate(processes)]
        failed = [_Failure(rank, code) for rank, code in codes if code]
        if failed:
            return failed[0]
        now_s = time.monotonic()
        if now_s > deadline_s:
            told = f"Training was stopped after {plan.max_seconds:.0f} s, its max_seconds."
            raise TrainingFailedError(f"{told} {_last_lines(plan, 0)}")
        if now_s - watched_s > _WATCH_EVERY_S:
            watched_s = now_s
            watch()
        time.sleep(_POLL_S)
    if processes[0].returncode:
        return _first_cause(processes)
    _give_grace(processes[1:], plan.grace_s)
    return None


def _first_cause(processes: Sequence[subprocess.Popen[bytes]]) -> _Failure:
    """Return the worker to blame: one that was killed, or gave up, before the others lost touch with it."""
    time.sleep(_POLL_S)
    failed = [_Failure(rank, process.poll() or 0) for rank, process in enumerate(processes) if process.poll()]
    return min(failed, key=lambda failure: (failure.exit_code != HOPELESS_EXIT_CODE, failure.exit_code >= 0))


def _give_grace(processes: Sequence[subprocess.Popen[bytes]], grace_s: float) -> None:
    deadline_s = time.monotonic() + grace_s
    while any(process.poll() is None for process in processes) and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)


def _free_port() -> int:
    """Return a port that is free now; should another program take it first, the workers fail and are started again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _last_lines(plan: LaunchPlan, rank: int) -> str:
    path = plan.log(rank)
    text = path.read_bytes()[-_LOG_BYTES:].decode(errors="replace") if path.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"Its log ({path}) ends: " + " | ".join(lines[-_LOG_LINES:]) if lines else f"Its log ({path}) is empty."
