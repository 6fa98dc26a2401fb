"""Start processes that never outlive whoever started them."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

_PR_SET_PDEATHSIG = 1
RUNNER_VARIABLE = "DRIVEFLOW_RUNNER_PID"


def _die_with(parent: int) -> Callable[[], None] | None:
    """Return what a child runs before exec: ask Linux to kill it when `parent` dies."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent died before we could ask
            os._exit(128 + signal.SIGKILL)

    return ask


def peak_memory_bytes() -> int:
    """Return the most memory that this process has held at one time."""
    unit = 1 if sys.platform == "darwin" else 1024  # the system counts kibibytes, macOS bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def die_with_runner() -> None:
    """Tie this process to its parent and to the local runner that the environment names; end it where that is gone.

    KFP starts a step through a shell, which does not pass the tie on, so the step asks for it itself.
    """
    runner = os.environ.get(RUNNER_VARIABLE, "")
    if not runner or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not Path(f"/proc/{runner}").exists() or os.getppid() == 1:
        os._exit(128 + signal.SIGKILL)


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies; call it first thing in a worker of a process pool."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def tie_to_parent(parent: int) -> None:
    """Ask Linux to kill this process when `parent` dies, and end it at once where that has happened already."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout: int | IO[bytes] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own; it is killed when the calling process dies, however it dies.

    Standard error goes where standard output goes. Call from the main thread: Linux watches the calling thread.
    """
    return subprocess.Popen(
        list(argv),
        env=dict(os.environ if env is None else env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT if stdout is not None else None,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
        preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 only prctl and getppid run there
    )


class Process(Protocol):
    """What `stop_group` needs of a process: the leader of a group that can be waited for."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; subprocess.TimeoutExpired where it takes longer."""


def stop_group(process: Process, *, grace_s: float = 2.0) -> None:
    """Stop `process` and all it started: SIGTERM, `grace_s` seconds, then SIGKILL."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what is left of its group once the leader is gone
    except ProcessLookupError:
        pass
    process.wait()
