"""Remove what killed runs left behind: files half written and working folders."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from driveflow.storage.sweep import remove_half_written

WORKING_FOLDER = "tmp"
"""Of a run, in its folder: there while it runs, so that whoever holds the workspace's lock knows a killed run by it."""


def sweep(workspace: Path, stores: Iterable[Path]) -> None:
    """Remove the working folders of killed runs and the half-written files in `stores`; call with the lock held.

    A file that a living process of this machine is writing stays: its name begins with its writer's process id.
    """
    left = list(workspace.glob(f"runs/*/{WORKING_FOLDER}"))
    if not left:
        return
    for store in stores:
        remove_half_written(store)
    for folder in left:  # last, so that a sweep that is killed itself is done again
        shutil.rmtree(folder, ignore_errors=True)
