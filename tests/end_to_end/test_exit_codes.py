"""What goes wrong ends in one clear line and the exit code of its kind; with `-o json` the run is told all the same."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.command import Finished, driveflow, run
from tests.end_to_end.conftest import Drives, Undisturbed
from tests.servers import missing_server

pytestmark = pytest.mark.slow

_FLOW = """\
name: small
classes: [car]
batches:
  - {{name: one, path: {path}, format: {format}}}
"""
_SIZES_KIB = (64, 2048)  # no room for the ledger, for what the last step makes
_FULL = "no space"


def _flow(folder: Path, path: str = "one", kind: str = "folder") -> Path:
    flow = folder / "flow.yaml"
    flow.write_text(_FLOW.format(path=path, format=kind), encoding="utf-8")
    return flow


def _one_line(done: Finished, code: int) -> str:
    """Return the one line that a person reads, after checking that it is one and the exit code."""
    assert done.code == code, f"{done.code}\n{done.err}"
    assert len(done.words) == 1, done.err
    assert done.words[0].startswith("driveflow: ")
    assert "Traceback" not in done.out + done.err
    return done.words[0]


def test_a_typo_in_the_flow_file_names_the_line_and_the_nearest_key(tmp_path):
    flow = _flow(tmp_path)
    flow.write_text(flow.read_text().replace("format:", "fromat:"))

    line = _one_line(driveflow("run", flow, "-w", tmp_path / "workspace"), 2)

    assert "flow.yaml:4" in line
    assert 'unknown key "fromat"' in line
    assert '"format"' in line
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize("arguments", [("--pipeline", "fly"), ("--set", "sede=2"), ("--set", "epochs=many")])
def test_a_call_that_cannot_be_meant_is_a_usage_error(tmp_path, arguments):
    _one_line(driveflow("run", _flow(tmp_path), "-w", tmp_path / "workspace", *arguments), 2)


def test_a_flow_file_that_is_not_there_is_not_found(tmp_path):
    assert "nowhere.yaml" in _one_line(driveflow("run", tmp_path / "nowhere.yaml"), 3)


def test_a_missing_folder_is_named_and_not_found(tmp_path):
    line = _one_line(driveflow("run", _flow(tmp_path), "-w", tmp_path / "workspace"), 3)

    assert str(tmp_path / "one") in line


def test_an_empty_batch_fails_by_name_and_the_failed_run_tells_its_json_all_the_same(tmp_path):
    (tmp_path / "one").mkdir()

    done = driveflow("run", _flow(tmp_path), "-w", tmp_path / "workspace", "-o", "json")

    line = _one_line(done, 1)
    assert "one" in line
    assert "empty" in line.lower() or "nothing" in line.lower()
    assert done.json["state"] == "FAILED"
    assert done.json["error"] in line
    failed = [step for step in done.json["steps"] if step["state"] == "FAILED"]
    assert [step["error"] for step in failed] == [done.json["error"]]
    shown = driveflow("runs", "show", "-w", tmp_path / "workspace", "-o", "json").json
    assert shown["state"] == "FAILED"


def test_a_batch_without_one_usable_picture_fails_by_name(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "broken.jpg").write_bytes(b"no picture")

    assert "one" in _one_line(driveflow("run", _flow(tmp_path), "-w", tmp_path / "workspace"), 1)


def test_an_unmapped_class_fails_with_its_name_and_count(drives: Drives, tmp_path):
    path = drives.folder / "batches" / "drives_a"

    line = _one_line(driveflow("run", _flow(tmp_path, str(path), "coco"), "-w", tmp_path / "workspace"), 1)

    assert re.search(r"\bperson\b", line)
    assert re.search(r"\d", line)


def test_a_block_of_the_gate_is_exit_code_five_of_a_run_that_succeeded(drives: Drives, undisturbed: Undisturbed):
    strict = drives.changed("strict", (r"at_least: 0.0\}", "at_least: 0.99}"))

    done = driveflow("run", strict, "-w", undisturbed.workspace, "-o", "json")

    assert done.code == 5, done.err
    assert len(done.words) <= 1
    assert done.json["state"] == "SUCCEEDED"
    assert done.json["verdict"] == "BLOCK"
    assert "under the floor of 0.990" in Path(done.json["report"]).read_text("utf-8")


def test_data_over_a_limit_is_exit_code_five_of_a_run_that_trained_nothing(drives: Drives, undisturbed: Undisturbed):
    strict = drives.changed("sound", (r"(?m)\Z", "data_validation: {size_min_side_px: 999, size_block: 0.5}\n"))

    done = driveflow("run", strict, "-w", undisturbed.workspace, "-o", "json")

    assert done.code == 5, done.err
    assert (done.json["state"], done.json["data_verdict"], done.json["verdict"]) == ("SUCCEEDED", "BLOCK", None)
    assert [step["step"] for step in done.json["steps"]][-1] == "validate_data"
    assert any("so nothing is trained. boxes_size: " in note for note in done.json["notes"])
    assert "BLOCK" in Path(done.json["report"]).read_text("utf-8")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mount small file systems; where that is not allowed the test is skipped, in CI it fails."""
    mounted: list[Path] = []

    def mount(size_kib: int) -> Path:
        place = tmp_path / f"disk-{size_kib}"
        place.mkdir()
        if os.geteuid() != 0 or shutil.which("mount") is None:
            missing_server("a full disk needs the right to mount one: run the tests as root")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", place], capture_output=True, check=False
        )
        if done.returncode:
            missing_server(f"no file system can be mounted: {done.stderr.decode().strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("size_kib", _SIZES_KIB)
def test_a_full_disk_is_one_line_that_says_so(drives: Drives, small_disk, size_kib: int):
    workspace = small_disk(size_kib) / "workspace"

    done = driveflow("run", drives.flow, "-w", workspace, "--pipeline", "curate")

    line = _one_line(done, 1)
    assert re.search(_FULL, line, re.IGNORECASE), line


def test_a_run_goes_on_where_the_disk_was_full(drives: Drives, small_disk, undisturbed: Undisturbed):
    disk = small_disk(640)
    first = driveflow("run", drives.flow, "-w", disk / "workspace", "--pipeline", "curate", "-o", "json")
    subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)

    second = run(drives.flow, disk / "workspace", "--pipeline", "curate")

    assert re.search(_FULL, _one_line(first, 1), re.IGNORECASE), first.err
    assert re.search(_FULL, first.json["error"], re.IGNORECASE)
    ids = undisturbed.result["snapshots"]
    assert second["snapshots"] == {name: ids[name] for name in ("merge_batches", "filter_frames")}
