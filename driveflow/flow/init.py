"""A new folder for a flow: a commented flow file and two profiles."""

import errno
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.problems import slug
from driveflow.storage.uris import require_local

_FILES = {"flow.yaml": "new_flow.yaml", "profiles/local.yaml": "new_local.yaml", "profiles/kfp.yaml": "new_kfp.yaml"}


def new_texts(name: str) -> dict[str, str]:
    """Return the files of a new flow called `name`: relative path -> text."""
    sources = files("driveflow.flow")
    return {path: sources.joinpath(source).read_text("utf-8").replace("NAME", name) for path, source in _FILES.items()}


def write_new_flow(folder: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write the files of a new flow into `folder`, named after it; return their paths.

    Raises:
        InvalidInputError: one of them is there and `force` is not given; nothing is written then.
        UsageError: the folder cannot be made.
    """
    texts = {folder / path: text for path, text in new_texts(slug(folder.absolute().name)).items()}
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        named = ", ".join(map(str, there))
        raise InvalidInputError(f"{named} would be overwritten; --force does it, and --profiles writes profiles alone")
    return _write(texts)


def write_profiles(folder: Path) -> tuple[Path, ...]:
    """Write the profiles that a flow in `folder` lacks and return their paths; what is there stays as it is.

    Raises:
        UsageError: the folder cannot be made.
    """
    texts = {folder / path: text for path, text in new_texts(slug(folder.absolute().name)).items()}
    lacking = {path: text for path, text in texts.items() if path.parent != folder and not path.exists()}
    return _write(lacking)


def _write(texts: Mapping[Path, str]) -> tuple[Path, ...]:
    for path, text in texts.items():
        require_local(path, "The file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(f"'{path.parent}' is no folder") from error
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise UsageError(f"'{path.parent}' cannot be made: {error.strerror}; name another folder") from error
        path.write_text(text, encoding="utf-8")
    return tuple(texts)
