"""One small sample and one undisturbed run of its whole flow, for all end-to-end tests."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.command import driveflow, run

_FRAMES = 100
_SMALL = {
    r"epochs: \d+": "epochs: 2",
    r"image_size_px: \d+": "image_size_px: 64",
    r"at_least: [0-9.]+": "at_least: 0.0",
    r"min_frames: \d+": "min_frames: 4",
    r"min_drive_groups: \d+": "min_drive_groups: 2",
}


@dataclass(frozen=True, slots=True)
class Drives:
    """A rendered sample: its folder, its truth, and a flow that trains in seconds and passes any model."""

    folder: Path
    flow: Path

    @property
    def truth(self) -> Path:
        """Where the truth lies."""
        return self.folder / "truth"

    def changed(self, name: str, *changes: tuple[str, str]) -> Path:
        """Write the flow with `changes` (pattern, text) beside the first one, and return it."""
        text = self.flow.read_text("utf-8")
        for pattern, new in changes:
            text, count = re.subn(pattern, new, text)
            assert count, f"{pattern} is not in the flow"
        path = self.folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A workspace in which the whole flow ran once, and what the command said."""

    workspace: Path
    result: Any


@pytest.fixture(scope="session")
def new_drives(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Drives]:
    """Render the sample once more, for a test that changes it."""

    def make() -> Drives:
        folder = tmp_path_factory.mktemp("sample") / "drives"
        done = driveflow("sample", folder, "--frames", str(_FRAMES), "-o", "json")
        assert done.code == 0, done.err
        drives = Drives(folder, folder / "flow.yaml")
        drives.flow.write_text(drives.changed("small", *_SMALL.items()).read_text("utf-8"), encoding="utf-8")
        return drives

    return make


@pytest.fixture(scope="session")
def drives(new_drives: Callable[[], Drives]) -> Drives:
    """The sample; no test changes it."""
    return new_drives()


@pytest.fixture(scope="session")
def undisturbed(drives: Drives, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The whole flow, run once from nothing to a promoted model."""
    workspace = tmp_path_factory.mktemp("undisturbed") / "workspace"
    return Undisturbed(workspace, run(drives.flow, workspace, "--pipeline", "flow"))
