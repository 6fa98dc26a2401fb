import json

import pytest

from driveflow.snapshots import open_snapshot, write_snapshot
from driveflow.withdrawn import Tombstone, write_tombstone
from tests.cli.calling import call
from tests.ingestion.batches import bring_in, coco, picture, write

BOXES = [(n, n, 1 + n % 2, (5, 5, 20, 20)) for n in range(12)]


def snapshot(folder, boxes):
    names = [f"{letter}.jpg" for letter in "abcdefghijkl"]
    files = {name: picture(number) for number, name in enumerate(names)}
    batch = bring_in(
        write(folder, {"labels.json": coco(list(enumerate(names)), boxes), **files}),
        drives="stills",
        attributes={"time_of_day": "night"},
    )
    written = write_snapshot((folder.parent / "w" / "store").as_uri(), batch.tables, batch.beside, {"step": "import"})
    return written.snapshot_id


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A workspace with a snapshot of twelve stills that are said to be taken by night, and a box that reaches out."""
    monkeypatch.chdir(tmp_path)
    return snapshot(tmp_path / "may", [*BOXES[:-1], (11, 11, 1, (5, 5, 500, 20))]), tmp_path / "w"


def test_a_snapshot_is_judged_with_a_reason_and_every_check(place, capsys):
    found, workspace = place

    code, out, _ = call(capsys, "validate-data", found, "-w", str(workspace), "-o", "json")

    report = json.loads(out)
    checks = {check["name"]: check for check in report["checks"]}
    assert (code, report["verdict"], report["snapshot"]) == (0, "NEEDS REVIEW", found)
    assert checks["boxes_outside"]["found"] == 1
    assert checks["pictures"]["n"] == 12
    assert checks["tags"]["found"] == 12, "pictures of noise are too bright for a night"


def test_a_policy_decides_and_a_block_is_exit_code_five(place, capsys):
    found, workspace = place
    policy = workspace.parent / "policy.yaml"
    policy.write_text("data_validation: {outside_block: 0.05, min_n: 1}\n")

    code, out, _ = call(capsys, "validate-data", found, "--policy", str(policy), "-w", str(workspace))

    assert code == 5
    assert out.startswith("BLOCK: ")
    assert "boxes_outside" in out


def test_a_policy_with_a_typo_is_refused_with_its_line(place, capsys):
    found, workspace = place
    policy = workspace.parent / "policy.yaml"
    policy.write_text("outside_blok: 0.05\n")

    code, _, err = call(capsys, "validate-data", found, "--policy", str(policy), "-w", str(workspace))

    assert code == 2
    assert "policy.yaml:1" in err


def test_the_page_has_the_suspects_drawn_and_two_snapshots_are_compared(place, capsys):
    found, workspace = place
    other = snapshot(workspace.parent / "june", BOXES[:6])
    words = ("--against", found, "--no-measure", "-w", str(workspace), "-o", "html")

    code, out, _ = call(capsys, "validate-data", other, *words)

    assert code == 0
    assert out.startswith("<!doctype html>")
    assert found[:16] in out


def test_what_is_not_there_is_not_found(place, capsys):
    _, workspace = place

    assert call(capsys, "validate-data", "nothing", "-w", str(workspace))[0] == 3


def test_ac_d21_an_evaluation_against_a_snapshot_holds_its_tags_against_the_pictures(place, capsys):
    found, workspace = place
    call(capsys, "validate-data", found, "-w", str(workspace))  # measures the pictures
    names = [f"{letter}.jpg" for letter in "abcdefghijkl"]
    labels = coco(list(enumerate(names)), BOXES)
    boxes = [{**one, "score": 0.9} for one in labels["annotations"]]
    said = workspace.parent / "said.json"
    said.write_text(json.dumps({**labels, "annotations": boxes}))
    words = ("--truth", found, "--predictions", str(said), "-w", str(workspace), "-o", "json")

    code, out, err = call(capsys, "evaluate", *words)

    assert code == 0, err
    counted = {one["kind"]: one["count"] for one in json.loads(out)["corrections"]}
    assert counted["time_of_day_doubted"] == 12, "pictures of noise are too bright for a night"


@pytest.mark.parametrize("mode", ["strict", "coco"])
def test_frames_that_were_withdrawn_are_neither_judged_nor_measured_and_told(place, capsys, mode):
    found, workspace = place
    store = (workspace / "store").as_uri()
    gone = open_snapshot(f"{store}/snapshots/{found}").sources().to_pylist()[3]
    write_tombstone(store, Tombstone(frame_id=gone["frame_id"], reason="law", who="ann", at="2026-11-30T00:00:00Z"))
    labels = coco([(number, f"{letter}.jpg") for number, letter in enumerate("abcdefghijkl")], BOXES)
    said = workspace.parent / "said.json"
    said.write_text(json.dumps({**labels, "annotations": [{**one, "score": 0.9} for one in labels["annotations"]]}))

    _, out, _ = call(capsys, "validate-data", found, "-w", str(workspace), "-o", "json")
    report = json.loads(out)
    where = ("--truth", found, "--predictions", str(said), "-w", str(workspace), "--mode", mode)
    _, out, _ = call(capsys, "evaluate", *where, "-o", "json")
    measured = json.loads(out)

    assert report["counts"] == {"frames": 11, "sources": 11, "boxes": 11}
    assert {check["outcome"] for check in report["checks"] if check["name"] == "pictures"} == {"PASS"}
    assert (measured["n_objects"], measured["n_detections"]) == (11, 11)
    told = {one["kind"]: one for one in measured["corrections"]}["frame_withdrawn"]
    assert (told["count"], told["examples"]) == (1, [gone["frame_id"]])
