"""The folder of a laptop's runs: one run at a time, each with a folder of its own."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from driveflow.errors import DriveflowError, UsageError

_LOCK_WAIT_S = 20.0


def new_run_id(pipeline: str) -> str:
    """Return a run id that sorts by time, e.g. curate-20261129-184155-123456."""
    return f"{pipeline}-{datetime.now(UTC).strftime('%Y%m%d-%H%M%S-%f')}"


@contextmanager
def locked(workspace: Path, wait_s: float = _LOCK_WAIT_S) -> Iterator[int]:
    """Hold the workspace's lock, and yield its file descriptor for the processes of the run to inherit.

    The lock is free again when the last process that inherited it is gone, so a killed run and the next cannot overlap.
    """
    descriptor = _open_lock(workspace)
    try:
        _acquire(descriptor, workspace, wait_s)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _open_lock(workspace: Path) -> int:
    with made_in(workspace):
        workspace.mkdir(parents=True, exist_ok=True)
        return os.open(workspace / "run.lock", os.O_RDWR | os.O_CREAT, 0o644)


@contextmanager
def made_in(workspace: Path) -> Iterator[None]:
    """Say of a workspace that something cannot be made in it, with the path that is in the way."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        why = f"{error.strerror}: {error.filename}"
        raise UsageError(f"No run can use the workspace {workspace} ({why}); name another by --workspace.") from error


def _acquire(descriptor: int, workspace: Path, wait_s: float) -> None:
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                holder = os.pread(descriptor, 32, 0).decode().strip() or "unknown"
                message = f"Another run uses the workspace {workspace} (process {holder}). Wait for it, or stop it."
                raise DriveflowError(message) from None
            time.sleep(0.1)
        else:
            return
