"""Start a step by forking the runner, which has imported what every step needs: half a second saved each time.

The forked process runs the same function source under KFP's own executor as the step's shell line would. It is tied to
the runner directly, with no shell between, so it never outlives it.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

from driveflow.processes import tie_to_parent

_EXECUTOR = "kfp.dsl.executor_main"
_POLL_S = 0.005


class ForkedStep:
    """A forked step with the face of a Popen that the runner uses; owned by the runner."""

    def __init__(self, pid: int, stdout: BinaryIO) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, negative for a signal; subprocess.TimeoutExpired where it takes longer."""
        deadline_s = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, 0 if deadline_s is None else os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif deadline_s is not None and time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired("step", timeout or 0.0)
            else:
                time.sleep(_POLL_S)
        return self.returncode


def can_fork(full_command: Sequence[str]) -> bool:
    """Tell whether this is a lightweight component that installs nothing, on a system that ties children to parents."""
    return (
        sys.platform.startswith("linux")
        and len(full_command) > 4
        and list(full_command[:2]) == ["sh", "-ec"]
        and _EXECUTOR in full_command[2]
        and "pip install" not in full_command[2]
    )


def warm_up() -> None:
    """Import what every step imports, and nothing that starts threads: those do not survive a fork."""
    import kfp.dsl.executor_main  # noqa: F401
    import sqlalchemy  # noqa: F401

    import components.runtime  # noqa: F401


def fork_step(full_command: Sequence[str], env: Mapping[str, str]) -> ForkedStep:
    """Start the step of `full_command` in a session of its own; its output comes through the returned pipe."""
    reading, writing = os.pipe()
    runner = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become_step(full_command, env, writing, runner)
    os.close(writing)
    return ForkedStep(pid, os.fdopen(reading, "rb"))


def _become_step(full_command: Sequence[str], env: Mapping[str, str], output: int, runner: int) -> NoReturn:
    code = 1
    try:
        tie_to_parent(runner)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update({**env, "_KFP_RUNTIME": "true"})
        _redirect(output)
        _execute(full_command[3], full_command[4:])
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 whatever it was, it is told and ends the step
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(output: int) -> None:
    quiet = os.open(os.devnull, os.O_RDONLY)
    os.dup2(quiet, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)


def _execute(source: str, arguments: Sequence[str]) -> None:
    from kfp.dsl.executor_main import executor_main

    module = Path(tempfile.mkdtemp()) / "ephemeral_component.py"
    module.write_text(source, encoding="utf-8")
    sys.argv = [_EXECUTOR, "--component_module_path", str(module), *arguments]
    executor_main()
