"""Find the shared test data that may lie beside the checkout."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parent.parent.parent / "shared"


def shared_folder() -> Path:
    """Return the folder beside the checkout that holds shared data, or `$DRIVEFLOW_SHARED`."""
    return Path(os.environ.get("DRIVEFLOW_SHARED", str(_BESIDE)))


def shared_data(name: str) -> Path:
    """Return the data set `name`; skip the test where it is not there, fail it in CI."""
    folder = shared_folder() / "data" / name
    if folder.exists():
        return folder
    message = f"shared data set {name!r} is not beside the checkout"
    if os.environ.get("CI") and shared_folder().exists():
        pytest.fail(message)
    pytest.skip(message)
