"""Remove what killed writers left half-written in a local store."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driveflow.storage.local import TEMPORARY_PREFIX, machine, told, writer_name
from driveflow.storage.uris import local_path

_WRITERS = "writers"
_LONGEST_S = 24 * 3600.0  # of a write on another machine: what is older was left by one that was killed


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
    dead = [path for path in notes.iterdir() if not lives(path)]
    if dead:
        remove_half_written(folder)
    for path in dead:  # last, so that a sweep that is killed itself is done again
        path.unlink(missing_ok=True)
    note = notes / writer_name()
    with told("write", str(folder)):
        note.touch()
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def remove_half_written(folder: Path) -> None:
    """Remove the temporary files under `folder`; one that a living process is writing, here or elsewhere, stays."""
    for home, _, names in os.walk(folder):
        for name in names:
            if name.startswith(TEMPORARY_PREFIX) and not lives(Path(home, name)):
                Path(home, name).unlink(missing_ok=True)


def lives(path: Path) -> bool:
    """Tell whether the writer of a note or a temporary file lives, whose name begins with its id and its machine.

    Of one in another machine, or container, that cannot be told: it lives for a day from its last write.
    """
    writer, _, rest = path.name.removeprefix(TEMPORARY_PREFIX).partition("-")
    where, is_told, _ = rest.partition("-")
    if is_told and where != machine():
        with suppress(FileNotFoundError):
            return time.time() - path.stat().st_mtime < _LONGEST_S
        return True  # it has ended by itself
    try:
        os.kill(int(writer), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
