"""Keep a training job's checkpoints in the store, so that another machine can go on with it."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from driveflow.errors import DriveflowError, NotFoundError
from driveflow.storage.objects import delete, fetch_file, join, list_objects, put_file

_BEGUN: Final = ".restoring"  # there while not all of the store's files lie here


class CheckpointMirror:
    """Copies visible files of the local `folder` to `uri` as they appear; owned by the process that trains."""

    def __init__(self, folder: Path, uri: str) -> None:
        self._folder = folder
        self._uri = uri
        self._saved: dict[Path, tuple[int, int]] = {}

    def restore(self) -> None:
        """Fetch what the store has, where nothing lies here but what a restore that was broken off left."""
        begun = self._folder / _BEGUN
        if self._visible() and not begun.exists():
            return
        with suppress(NotFoundError):
            items = list(list_objects(self._uri))
            begun.touch()
            for item in items:
                path = self._folder / item.path
                path.parent.mkdir(parents=True, exist_ok=True)
                fetch_file(item.uri, path)
        begun.unlink(missing_ok=True)

    def save(self) -> None:
        """Copy what changed, in the order it was written; a store that fails now is tried again the next time."""
        for path, state in self._visible():
            if self._saved.get(path) == state:
                continue
            with suppress(DriveflowError, OSError):
                put_file(path, join(self._uri, path.relative_to(self._folder).as_posix()))
                self._saved[path] = state

    def forget(self) -> None:
        """Remove the copies once the job is done."""
        with suppress(DriveflowError):
            for item in list(list_objects(self._uri)):
                delete(item.uri)

    def _visible(self) -> list[tuple[Path, tuple[int, int]]]:
        """Return files without a leading dot, with time and size, oldest first."""
        found = []
        for path in self._folder.rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(self._folder).parts)
            with suppress(FileNotFoundError):
                if not hidden and path.is_file():
                    info = path.stat()
                    found.append((path, (info.st_mtime_ns, info.st_size)))
        return sorted(found, key=lambda item: (item[1], item[0]))
