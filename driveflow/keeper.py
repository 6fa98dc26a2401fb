"""Run a command of which nothing may be left over, see `kept`; imports nothing of ours, so that it starts at once.

A process that dies with its parent takes its own children only with it where they ask for that, which a shell or a
foreign program does not. The keeper is told when its parent dies, adopts whatever its command leaves behind, and ends
all of it, also what moved to a session of its own.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_GRACE_S: Final = 2.0
_CANNOT_START: Final = 127


def kept(command: list[str]) -> list[str]:
    """Return the command line that runs `command` under a keeper."""
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), *command]


def main(argv: list[str]) -> int:
    """Run `argv` to its end and return its exit code, 128 + n where signal n ended it."""
    parent = os.getppid()
    signal.signal(signal.SIGTERM, _end)
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            return 128 + signal.SIGTERM
    try:
        code = subprocess.Popen(argv).wait()
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {error}\n")
        return _CANNOT_START
    _end_children(0.0)
    return code if code >= 0 else 128 - code


def _end(_signal: int, _frame: object) -> NoReturn:
    _end_children(_GRACE_S)
    os._exit(128 + signal.SIGTERM)


def _end_children(grace_s: float) -> None:
    """End every descendant: SIGTERM, `grace_s` seconds, then SIGKILL until none is left."""
    if grace_s:
        _signal_all(signal.SIGTERM)
    deadline_s = time.monotonic() + grace_s
    while _descendants():
        if time.monotonic() >= deadline_s:
            _signal_all(signal.SIGKILL)
        _reap()
        time.sleep(0.01)


def _signal_all(sign: signal.Signals) -> None:
    for pid in _descendants():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, sign)


def _reap() -> None:
    """Take the exit codes of children that ended; those that `wait` watches may be among them, which is fine here."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants() -> list[int]:
    """Return every living process that this one, or a child of it, started."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(folder.name)] = int(parent)
    found, wave = [], {os.getpid()}
    while wave:
        wave = {pid for pid, parent in parents.items() if parent in wave}
        found += sorted(wave)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
