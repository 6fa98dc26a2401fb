"""Nasty files as batches: the run ends, every file is accounted for, and nothing is written beside its workspace."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from driveflow.snapshots import Snapshot, open_snapshot
from tests.end_to_end.command import driveflow, run
from tests.shared_data import shared_data

pytestmark = pytest.mark.slow

_FLOW = """\
name: nasty
classes: [car]
batches:
  - {{name: made, path: "{made}", format: folder}}
  - {{name: pillow, path: "{pillow}", format: folder}}
"""


@dataclass(frozen=True, slots=True)
class _Imported:
    """A run over both nasty sets, the snapshot of each batch, and what lay around before and after."""

    result: Any
    batches: dict[str, Snapshot]
    filtered: Snapshot
    before: dict[str, tuple[int, int]]
    after: dict[str, tuple[int, int]]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> _Imported:
    """Run `curate` over the nasty sets."""
    made, pillow = shared_data("nasty_made"), shared_data("nasty_pillow")
    home = tmp_path_factory.mktemp("nasty")
    flow, workspace = home / "flow.yaml", home / "workspace"
    flow.write_text(_FLOW.format(made=made / "files", pillow=pillow), encoding="utf-8")
    watched = (home, made, pillow)
    before = _listing(*watched, but=workspace)
    result = run(flow, workspace, "--pipeline", "curate")
    after = _listing(*watched, but=workspace)
    shown = driveflow("runs", "show", "-w", workspace, "-o", "json").json
    outputs = {step["step"]: step["outputs"] for step in shown["steps"]}
    batches = json.loads(outputs["import_batches"]["batches"])
    return _Imported(
        result=result,
        batches={entry["name"]: open_snapshot(entry["snapshot"]) for entry in batches},
        filtered=open_snapshot(outputs["filter_frames"]["snapshot"]),
        before=before,
        after=after,
    )


def test_the_run_ends_and_all_that_came_in_left_as_kept_dropped_or_quarantined(imported: _Imported):
    counts = imported.result["counts"]

    assert imported.result["state"] == "SUCCEEDED"
    assert counts["in"] == counts["kept"] + sum(counts["dropped"].values()) + sum(counts["quarantined"].values())
    assert counts["quarantined"]
    assert imported.result["campaign"]


def test_every_verdict_of_the_made_cases_is_met(imported: _Imported):
    cases = json.loads((shared_data("nasty_made") / "cases.json").read_text("utf-8"))
    kept = set(imported.batches["made"].sources()["path"].to_pylist())
    held = {row["path"] for row in imported.batches["made"].quarantine().to_pylist()}
    decided = {
        case["file"]: "keep" if case["file"] in kept else "quarantine" if case["file"] in held else "vanished"
        for case in cases
    }

    wrong = {
        case["file"]: decided[case["file"]]
        for case in cases
        if case["verdict"] not in {decided[case["file"]], "either"}
    }
    assert wrong == {}


def test_what_was_decided_of_every_file_and_why_is_written_down(imported: _Imported):
    frames: set[str] = set()
    for batch in imported.batches.values():
        frames |= set(batch.frames()["frame_id"].to_pylist())
        assert [row for row in batch.quarantine().to_pylist() if not (row["reason"] and row["detail"])] == []
    decisions = {row["frame_id"]: row for row in imported.filtered.decisions().to_pylist()}

    assert set(decisions) == frames
    assert [row for row in decisions.values() if row["verdict"] == "dropped" and not row["reason"]] == []


def test_nothing_is_written_outside_the_workspace(imported: _Imported):
    assert imported.after == imported.before
    assert not Path("/abs").exists()  # where one of the hostile archives points


def _listing(*folders: Path, but: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of all that lies in `folders`, `but` left out, and of all that lies around them."""
    found = {}
    for folder in (*folders, *(folder.parent for folder in folders)):
        for home, names, files in os.walk(folder) if folder in folders else [next(os.walk(folder))]:
            names[:] = [name for name in names if Path(home, name) != but]
            for name in (*files, *(names if folder not in folders else ())):
                status = Path(home, name).lstat()
                found[str(Path(home, name))] = (status.st_size, status.st_mtime_ns) if name in files else (0, 0)
    return found
