"""A second run does again what has changed, nothing else, and says which is which."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driveflow.storage.objects import local_path
from tests.end_to_end.command import driveflow, reused, run, steps
from tests.end_to_end.conftest import Drives, Undisturbed

pytestmark = pytest.mark.slow

_PURE = {
    "import_batches",
    "merge_batches",
    "fingerprint_frames",
    "filter_frames",
    "find_corner_cases",
    "build_training_set",
    "validate_data",
    "validate_model",
}
_CURATE = _PURE - {"build_training_set", "validate_data", "validate_model"}
# the first run made a champion, which they look at, and data to compare with
_JUDGES_BY_CHAMPION = {"find_corner_cases", "validate_data", "validate_model"}


_ODD = "python3 wörk 'q' \"d\" #1 100% {{$}} ;&"  # all that URIs, JSON, shells and KFP's placeholders trip over


@pytest.fixture(scope="module")
def curated(drives: Drives, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A workspace in which `curate` ran once; tests here leave it as whole as they found it."""
    workspace = tmp_path_factory.mktemp("curated") / _ODD
    return workspace, run(drives.flow, workspace, "--pipeline", "curate")


def test_an_unchanged_flow_reuses_every_pure_step_and_says_so(drives, undisturbed: Undisturbed):
    after_promotion = run(drives.flow, undisturbed.workspace)
    unchanged = run(drives.flow, undisturbed.workspace)
    table = driveflow("run", drives.flow, "--workspace", undisturbed.workspace).out

    assert reused(after_promotion) >= _PURE - _JUDGES_BY_CHAMPION
    assert reused(unchanged) == _PURE
    assert steps(unchanged)["train_model"]["counts"]["adopted"] == 1
    assert unchanged["snapshots"] == after_promotion["snapshots"] == undisturbed.result["snapshots"]
    assert {line.split()[0] for line in table.splitlines() if "  yes" in line} == _PURE


def test_a_workspace_may_have_any_name(curated):
    workspace, first = curated
    folder = workspace / "runs" / first["run_id"]

    assert {path.stem for path in (folder / "logs").iterdir()} == {step["step"] for step in first["steps"]}
    assert all(Path(page).is_relative_to(folder) and Path(page).stat().st_size for page in first["pages"].values())
    assert driveflow("filter", "verify", first["snapshots"]["filter_frames"], "-w", workspace).code == 0


@pytest.fixture(scope="module")
def limited(drives: Drives, curated) -> Any:
    """What a run said in the same workspace with one filter limit changed."""
    changed = drives.changed("limit", (r"(?m)\Z", "filters: {near_duplicates: {same_drive_max_bits: 12}}\n"))
    return run(changed, curated[0], "--pipeline", "curate")


def test_a_changed_filter_limit_runs_from_the_filter_on_and_measures_nothing(curated, limited):
    _, first = curated

    assert reused(limited) == {"import_batches", "merge_batches", "fingerprint_frames"}
    assert limited["counts"]["kept"] < first["counts"]["kept"]


def test_ac_o27_explain_names_the_parts_that_differ_from_the_last_run_of_the_flow(curated, limited):
    place = ("--workspace", curated[0])

    told = driveflow("runs", "show", limited["run_id"], "--explain", *place)
    value = driveflow("runs", "show", limited["run_id"], "--explain", *place, "-o", "json").json

    part = "settings.filters.near_duplicates.same_drive_max_bits"
    assert f"filter_frames: {part} was 4, is 12" in told.out.splitlines()
    explained = {entry["step"]: entry for entry in value["explain"]}
    assert explained["merge_batches"]["why"] == "re-used"
    assert explained["filter_frames"]["since"] == curated[1]["run_id"]
    assert explained["filter_frames"]["differs"] == [{"part": part, "was": 4, "is": 12}]
    assert [part["part"] for part in explained["find_corner_cases"]["differs"]] == ["inputs.snapshot"]


def test_changed_splits_measure_no_frame_again(drives: Drives, curated):
    changed = drives.changed("splits", (r"val_fraction: 0.1", "val_fraction: 0.5"))

    result = run(changed, curated[0], "--pipeline", "curate")

    assert reused(result) == {"import_batches"}
    assert _measured(result) == 0


def test_ac_o1_reused_outputs_that_are_gone_or_changed_are_made_again(drives: Drives, curated):
    workspace, first = curated
    snapshots = {name: workspace / "store" / "snapshots" / found for name, found in first["snapshots"].items()}
    part = snapshots["merge_batches"] / "boxes" / "part-00000.parquet"
    manifest = snapshots["filter_frames"] / "snapshot.json"
    table = _object_of(workspace, first["run_id"], "fingerprint_frames", "signals")
    before = {path: path.read_bytes() for path in (part, manifest, table)}
    part.write_bytes(before[part][:-1] + bytes([before[part][-1] ^ 1]))
    manifest.unlink()
    table.write_bytes(before[table][:-1] + bytes([before[table][-1] ^ 1]))

    result = run(drives.flow, workspace, "--pipeline", "curate")
    told = driveflow("runs", "show", "--explain", "--workspace", workspace).out

    assert reused(result) == {"import_batches", "find_corner_cases"}
    assert {path: path.read_bytes() for path in before} == before
    assert result["snapshots"] == first["snapshots"]
    assert _measured(result) == 0
    for step, lost in (("merge_batches", part), ("filter_frames", manifest.parent), ("fingerprint_frames", table)):
        assert re.search(rf"^{step}: made again: .*{re.escape(lost.name)}", told, re.MULTILINE), told


@pytest.fixture(scope="module")
def own(new_drives: Callable[[], Drives], tmp_path_factory: pytest.TempPathFactory) -> tuple[Drives, Path, Any]:
    """A sample that tests here may change, a workspace, and what its first run said."""
    drives, workspace = new_drives(), tmp_path_factory.mktemp("own") / "workspace"
    return drives, workspace, run(drives.flow, workspace, "--pipeline", "curate")


def test_ac_o2_other_content_under_the_same_name_size_and_time_is_noticed(own):
    drives, workspace, first = own
    picture = _swap_two_pictures(drives)

    second = run(drives.flow, workspace, "--pipeline", "curate")

    assert "import_batches" not in reused(second)
    assert second["snapshots"]["merge_batches"] != first["snapshots"]["merge_batches"], picture
    assert _measured(second) == 1


def test_a_changed_label_of_the_first_batch_reaches_the_merged_snapshot(own):
    drives, workspace, first = own
    labels = drives.folder / "batches" / "drives_a" / "annotations.json"
    content = json.loads(labels.read_text())
    content["annotations"].pop()
    labels.write_text(json.dumps(content))

    second = run(drives.flow, workspace, "--pipeline", "curate")

    assert steps(second)["merge_batches"]["counts"]["boxes"] == steps(first)["merge_batches"]["counts"]["boxes"] - 1
    assert _measured(second) == 0


def _measured(result: Any) -> int:
    """Return how many frames this run measured; a re-used step tells the counts of the run that made its result."""
    step = steps(result)["fingerprint_frames"]
    return 0 if step["reused"] else int(step["counts"]["measured"])


def _object_of(workspace: Path, run_id: str, step: str, output: str) -> Path:
    shown = driveflow("runs", "show", run_id, "--workspace", workspace, "-o", "json").json
    outputs = {row["step"]: row["outputs"] for row in shown["steps"]}
    found = local_path(outputs[step][output])
    assert found is not None
    return found


def _swap_two_pictures(drives: Drives) -> str:
    """Put another picture, padded to the same size, under a picture's name, and give it the old times."""
    folder = drives.folder / "batches" / "drives_c"
    pictures = sorted(folder.rglob("*.jpg"), key=lambda path: path.stat().st_size)
    small, large = pictures[-2], pictures[-1]
    times = large.stat()
    padded = small.read_bytes()
    padded += bytes(large.stat().st_size - len(padded))
    large.write_bytes(padded)
    os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert large.stat().st_size == times.st_size
    assert large.stat().st_mtime_ns == times.st_mtime_ns
    return large.name
