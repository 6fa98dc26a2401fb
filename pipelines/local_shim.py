"""Harden KFP's local runner: a log for each step, no orphans, parameters as given, no silent conditions.

It replaces six private names of kfp 2.17, each covered by a test: keep `kfp<2.18`.
"""

import contextlib
import json
import logging
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from driveflow.canonical import Json
from driveflow.processes import RUNNER_VARIABLE, spawn, stop_group
from pipelines.forked_step import ForkedStep, can_fork, fork_step

Emit: TypeAlias = Callable[[dict[str, Json]], None]

_EXECUTOR = "kfp.dsl.executor_main"
_PROGRESS = "driveflow-progress "
_FAILURE = "driveflow-step-failed "
_NOTE = "driveflow-note: "
_STOPPED = 130


class StepProcesses:
    """The steps that run now; owned by the runner, which stops them all when it is told to."""

    def __init__(self, logs: Path, emit: Emit, lock_fd: int) -> None:
        self._logs = logs
        self._emit = emit
        self._lock_fd = lock_fd
        self._live: set[subprocess.Popen[bytes] | ForkedStep] = set()
        self._guard = threading.RLock()  # the signal handler may interrupt its holder
        self._stopping = False

    def run(self, full_command: list[str], env_vars: Mapping[str, str] | None = None) -> int:
        """Run one step to its end, log its lines, and return its exit code; takes the place of KFP's function."""
        if self._stopping:
            return _STOPPED
        step = _step_name(full_command)
        self._emit({"event": "step_started", "step": step, "at": time.time()})
        started = time.monotonic()
        code = self._run(step, full_command, {**os.environ, **(env_vars or {})})
        self._emit({"event": "step_finished", "step": step, "code": code, "seconds": time.monotonic() - started})
        return code

    def stop(self, *_: int | FrameType | None) -> None:
        """Stop every step and start no other; a signal handler."""
        self._stopping = True
        with self._guard:
            live = list(self._live)
        for process in live:
            stop_group(process)
        raise KeyboardInterrupt

    def _run(self, step: str, full_command: Sequence[str], env: dict[str, str]) -> int:
        env |= {"PYTHONUNBUFFERED": "1", RUNNER_VARIABLE: str(os.getpid())}
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{step}.log").open("ab", buffering=0) as log:
            process = self._start(full_command, env)
            with self._guard:
                self._live.add(process)
            for line in process.stdout or ():
                if not self._is_event(step, line):
                    with contextlib.suppress(OSError):  # a full disk must not hide what the step says of it
                        log.write(line)
            code = process.wait()
            with self._guard:
                self._live.discard(process)
        return code

    def _start(self, full_command: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes] | ForkedStep":
        if can_fork(full_command):
            return fork_step(full_command, env)
        return spawn(full_command, env=env, stdout=subprocess.PIPE, pass_fds=(self._lock_fd,))

    def _is_event(self, step: str, line: bytes) -> bool:
        text = line.decode(errors="replace")
        for mark, event in ((_PROGRESS, "progress"), (_FAILURE, "step_failed")):
            if text.startswith(mark):
                self._emit({**json.loads(text.removeprefix(mark)), "event": event, "step": step})
                return event == "progress"
        if text.startswith(_NOTE):
            self._emit({"event": "note", "step": step, "note": text.removeprefix(_NOTE).strip()})
        return False


def install(processes: StepProcesses) -> None:
    """Put the hardened parts in the place of KFP's; call once, in the process that runs the pipeline."""
    from kfp.local import logging_utils
    from kfp.local import subprocess_task_handler as handler
    from kfp.local.orchestrator import enhanced_dag_orchestrator as orchestrator

    handler.run_local_subprocess = processes.run
    handler.replace_python_executable = replace_interpreter
    logging_utils.indented_print = _nothing
    logging_utils.local_logger_context = _nothing
    evaluate = orchestrator.ConditionEvaluator.evaluate_condition
    orchestrator.ConditionEvaluator.evaluate_condition = staticmethod(_strict(evaluate))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, processes.stop)


def replace_interpreter(full_command: list[str], new_executable: str) -> list[str]:
    """Return `full_command` with the interpreter replaced in the shell line alone, never in parameters or paths."""
    return [
        part.replace("python3", new_executable) if _EXECUTOR in part and "program_path" in part and index < 3 else part
        for index, part in enumerate(full_command)
    ]


def _step_name(full_command: Sequence[str]) -> str:
    """Return the name of the task's folder without the number that KFP adds to a second task of one component."""
    for part in full_command:
        if '"outputFile"' in part:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                output = json.loads(part)["outputs"]["outputFile"]
                return re.sub(r"-\d+$", "", Path(output).parent.name).replace("-", "_")
    return "step"


@contextlib.contextmanager
def _nothing(*_: object, **__: object) -> Iterator[None]:
    yield


def _strict(evaluate: Callable[..., bool]) -> Callable[..., bool]:
    """Return `evaluate` that raises where KFP only warns and then skips both branches."""

    def strict(condition: str, io_store: Any) -> bool:  # noqa: ANN401 KFP's store
        heard = _Heard()
        logging.getLogger().addHandler(heard)
        try:
            outcome = evaluate(condition, io_store)
        finally:
            logging.getLogger().removeHandler(heard)
        if heard.messages:
            raise RuntimeError(f"A condition cannot be decided: {condition}: {heard.messages[0]}")
        return bool(outcome)

    return strict


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "ondition evaluation failed" in text or "ould not resolve" in text:
            self.messages.append(text)
