"""Remove what a killed run left behind: files half written and working folders."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from driveflow.storage.local import TEMPORARY_PREFIX


def sweep(run_folders: Iterable[Path], stores: Iterable[Path]) -> None:
    """Remove the working folders of runs that are over, and the half-written files in `stores` whose writers are gone.

    A file that a living process of this machine is writing stays: its name begins with its writer's process id.
    """
    for folder in run_folders:
        shutil.rmtree(folder / "tmp", ignore_errors=True)
    for store in stores:
        for home, _, names in os.walk(store):
            for name in names:
                if name.startswith(TEMPORARY_PREFIX) and not _lives(name):
                    Path(home, name).unlink(missing_ok=True)


def _lives(name: str) -> bool:
    writer = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
    try:
        os.kill(int(writer), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
