"""Remove what killed writers left half-written in a local store."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driveflow.storage.local import TEMPORARY_PREFIX, told
from driveflow.storage.uris import local_path

_WRITERS = "writers"


@contextmanager
def noted_writer(store: str) -> Iterator[None]:
    """Note in the store that this process writes there; where a noted writer was killed, remove its half-written files.

    Any number of processes may write at the same time. On S3 nothing is half-written, and nothing is noted.

    Raises:
        StorageError: nothing can be written there.
    """
    folder = local_path(store)
    if folder is None:
        yield
        return
    notes = folder / _WRITERS
    with told("write", str(folder)):
        notes.mkdir(parents=True, exist_ok=True)
    dead = [path for path in notes.iterdir() if not lives(path.name)]
    if dead:
        remove_half_written(folder)
    for path in dead:  # last, so that a sweep that is killed itself is done again
        path.unlink(missing_ok=True)
    note = notes / f"{os.getpid()}-{secrets.token_hex(4)}"
    with told("write", str(folder)):
        note.touch()
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def remove_half_written(folder: Path) -> None:
    """Remove the temporary files under `folder`; one that a living process of this machine is writing stays."""
    for home, _, names in os.walk(folder):
        for name in names:
            if name.startswith(TEMPORARY_PREFIX) and not lives(name.removeprefix(TEMPORARY_PREFIX)):
                Path(home, name).unlink(missing_ok=True)


def lives(name: str) -> bool:
    """Tell whether the process whose id `name` begins with ("123-...") lives on this machine."""
    try:
        os.kill(int(name.partition("-")[0]), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
