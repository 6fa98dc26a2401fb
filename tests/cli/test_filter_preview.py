import json
import re
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.driveflow.images.made import encode, scene

FLOW = """
name: city
classes: [car]
splits: {val_fraction: 0}
batches:
  - {name: one, path: one, drive: one}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    for at in range(4):
        (tmp_path / "one" / f"{at}.jpg").write_bytes(encode(scene(at, 320, 180)))
    (tmp_path / "one" / "broken.jpg").write_bytes(b"no picture")
    (tmp_path / "flow.yaml").write_text(FLOW)
    return tmp_path / "flow.yaml"


def test_a_preview_of_raw_batches_writes_signals_and_nothing_else(flow, tmp_path, capsys):
    page, space = tmp_path / "preview.html", tmp_path / "space"

    code, out, _ = call(
        capsys, "filter", "preview", str(flow), "-w", str(space), "--html", str(page), "--cost-per-frame", "2"
    )

    assert code == 0
    assert "training frames: 4" in out
    told = re.search(r"near_duplicates.same_drive_max_bits, 4 now; .*:\nbits.*\n((?: *\d.*\n?)*)", out)
    assert told is not None
    assert [line.split()[0] for line in told[1].splitlines()] == ["0", "4", "6"]
    assert "blur.max_robust_z: 4" in out
    assert page.read_text().startswith("<!doctype html>")
    assert [path.name for path in (space / "store").iterdir()] == ["signals"]
    assert not (space / "ledger.db").exists()


def test_what_was_measured_is_not_measured_again(flow, tmp_path, capsys):
    arguments = ("filter", "preview", str(flow), "-w", str(tmp_path / "space"), "-o", "json")
    _, first, _ = call(capsys, *arguments)
    _, second, _ = call(capsys, *arguments)

    assert (json.loads(first)["measured"], json.loads(first)["measured_before"]) == (4, 0)
    assert (json.loads(second)["measured"], json.loads(second)["measured_before"]) == (0, 4)


def test_a_sample_is_drawn_by_its_seed(flow, tmp_path, capsys):
    arguments = ("filter", "preview", str(flow), "-w", str(tmp_path / "space"), "--sample", "3", "-o", "json")

    told = json.loads(call(capsys, *arguments)[1])

    assert told["frames"] == {"training": 4, "looked_at": 3}
    assert told == json.loads(call(capsys, *arguments)[1]) | {"measured": 3, "measured_before": 0}


def test_a_snapshot_is_looked_at_instead_of_the_batches(flow, tmp_path, capsys):
    space = ("-w", str(tmp_path / "space"))
    call(capsys, "data", "import", str(tmp_path / "one"), "--as", "may", *space)
    before = sorted(str(path) for path in (tmp_path / "space" / "store" / "snapshots").rglob("*"))

    code, out, _ = call(capsys, "filter", "preview", str(flow), "--snapshot", "may", *space, "-o", "json")

    assert code == 0
    assert json.loads(out)["frames"]["looked_at"] == 4
    assert sorted(str(path) for path in (tmp_path / "space" / "store" / "snapshots").rglob("*")) == before


def test_what_was_withdrawn_where_a_snapshot_lies_is_not_looked_at_from_elsewhere(flow, tmp_path, capsys):
    home, other = ("-w", str(tmp_path / "space")), ("-w", str(tmp_path / "other"))
    made = json.loads(call(capsys, "data", "import", str(tmp_path / "one"), "--as", "may", *home, "-o", "json")[1])
    call(capsys, "data", "withdraw", "0.jpg", "--reason", "law", "-y", *home)

    code, out, _ = call(capsys, "filter", "preview", str(flow), "--snapshot", made["uri"], *other, "-o", "json")

    assert code == 0
    assert json.loads(out)["by_reason"]["unreadable"] == 1


@pytest.mark.parametrize(
    ("text", "options", "code"), [(None, [], 3), ("name: [", [], 2), (FLOW, ["--snapshot", "no"], 3)]
)
def test_what_cannot_be_looked_at_ends_with_its_exit_code(flow, tmp_path, capsys, text, options, code):
    flow.unlink() if text is None else flow.write_text(text)

    assert call(capsys, "filter", "preview", str(flow), "-w", str(tmp_path / "space"), *options)[0] == code


def test_a_flow_without_training_frames_is_told_that_filters_drop_no_other(flow, tmp_path, capsys):
    flow.write_text(FLOW.replace("drive: one}", "drive: one, split: holdout}"))

    code, out, _ = call(capsys, "filter", "preview", str(flow), "-w", str(tmp_path / "space"))

    assert code == 0
    assert out.endswith("No frame is of train, and filters drop no other.\n")


def test_a_floor_that_no_frame_has_a_time_for_is_named(flow, tmp_path, capsys):
    flow.write_text(FLOW + "filters: {near_duplicates: {min_gap_s: 0.5}}\n")

    _, out, err = call(capsys, "filter", "preview", str(flow), "-w", str(tmp_path / "space"), "-o", "json")

    (note,) = json.loads(out)["notes"]
    assert "no time is known of 4 of 4 training frames" in note
    assert f"note: {note}" in err


def test_a_cost_that_no_number_holds_is_refused(flow, tmp_path, capsys):
    arguments = ("--cost-per-frame", "1e400", "-o", "json", "-w", str(tmp_path / "space"))

    code, _, err = call(capsys, "filter", "preview", str(flow), *arguments)

    assert code == 2
    assert "--cost-per-frame" in err
