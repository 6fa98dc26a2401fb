"""The commands that tell a frame's story and prove a snapshot whole."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from driveflow import tables as columns
from driveflow.snapshots import Beside, write_snapshot
from driveflow.tags import point_tag
from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots
from tests.cli.calling import call
from tests.ingestion.batches import rows
from tests.ingestion.test_withdraw import FRAME, OTHER, Workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """The workspace of `Workspace`, with both batches merged as `all`, and a row of quarantine beside the merge."""
    made = Workspace(tmp_path)
    parts = [
        NamedSnapshot(name, found.tables(), found.beside())
        for name, found in zip(("loose", "packed"), made.snapshots, strict=True)
    ]
    merged = merge_snapshots(parts, MergeRules())
    put_aside = {
        "batch": "loose",
        "path": "a.jpg",
        "reason": "label_odd",
        "detail": "a line",
        "byte_count": 1,
        "line": 3,
    }
    quarantine = pa.Table.from_pylist([put_aside], schema=columns.QUARANTINE)
    conflict = {"frame_id": FRAME, "kind": "attribute", "left": "{}", "right": "{}", "rule": "first", "winner": "left"}
    conflicts = pa.Table.from_pylist([conflict], schema=columns.CONFLICTS)
    beside = Beside(merged.beside.locations, merged.beside.decisions, quarantine, conflicts)
    made.merged = write_snapshot(made.store, merged.tables, beside, {"step": "merge_batches"})
    point_tag(made.store, "all", made.merged.uri, datetime(2026, 1, 1, tzinfo=UTC))
    monkeypatch.chdir(tmp_path)
    return made


def _data(capsys, workspace, *arguments):
    return call(capsys, "data", *arguments, "-w", str(workspace.folder))


@pytest.mark.parametrize("name", [FRAME[:9], "loose/a.jpg", "all:loose/a.jpg", FRAME])
def test_explain_tells_all_of_a_frame_over_every_snapshot_tag_and_model(workspace, capsys, name):
    code, out, _ = _data(capsys, workspace, "explain", name, "-o", "json")

    story = json.loads(out)
    assert code == 0
    assert story["frame_id"] == FRAME
    assert {f"{source['batch']}/{source['path']}" for source in story["sources"]} == {
        "loose/a.jpg",
        "packed/drive.zip!in/a.jpg",
    }
    assert [step["step"] for step in story["steps"]] == ["import_batch", "import_batch", "merge_batches"]
    assert story["tags"] == ["all"]
    assert [(row["reason"], row["line"]) for row in story["quarantine"]] == [("label_odd", 3)]
    assert [row["kind"] for row in story["conflicts"]] == ["attribute"]
    assert [(model["model"], model["how"]) for model in story["models"]] == [("city", "trained")]
    assert story["withdrawn"] is None


@pytest.fixture
def dropped(workspace):
    """The workspace, filtered: one frame was dropped for the other."""
    decided = {"frame_id": FRAME, "step": "filter_frames", "rule": "near_duplicates", "verdict": "dropped"}
    decided |= {"reason": "near_duplicate", "score": 2.0, "limit": 4.0, "twin": OTHER, "detail": "2 bits apart"}
    kept = {"frame_id": OTHER, "step": "filter_frames", "rule": "filters", "verdict": "kept", "reason": "kept"}
    decisions = pa.Table.from_pylist([decided, kept], schema=columns.DECISIONS)
    beside = Beside(workspace.merged.beside().locations, decisions)
    for written_at in ("2026-01-01", "2026-01-02"):
        write_snapshot(workspace.store, workspace.merged.tables(), beside, {"step": "import", "written_at": written_at})
    return workspace


def test_explain_names_the_file_of_a_twin_and_says_nothing_twice(dropped, capsys):
    _, words, _ = _data(capsys, dropped, "explain", FRAME)
    _, of_the_kept, _ = _data(capsys, dropped, "explain", OTHER)

    lines = words.splitlines()
    assert f"near_duplicate, 2 bits apart, twin {OTHER[:16]} loose/b.jpg" in words
    assert len([line for line in lines if line.endswith("holds it")]) == 3
    assert "kept, kept" not in of_the_kept


def test_the_page_of_a_dropped_frame_shows_its_twin_and_the_reason_above_all_else(dropped, capsys):
    page = dropped.folder / "frame.html"

    _data(capsys, dropped, "explain", FRAME, "--html", str(page))

    text = page.read_text()
    assert text.count("data:image/jpeg") == 2
    assert text.index("dropped, near_duplicate, 2 bits apart") < text.index("<section>")
    assert '<th scope="col"><button type="button"><bdi></bdi>' not in text


def test_explain_says_that_a_frame_was_withdrawn(workspace, capsys):
    _data(capsys, workspace, "withdraw", "loose/a.jpg", "--reason", "law", "--who", "ann", "--yes")

    _, told, _ = _data(capsys, workspace, "explain", "loose/a.jpg", "-o", "json")
    _, words, _ = _data(capsys, workspace, "explain", "loose/a.jpg")

    assert json.loads(told)["withdrawn"]["reason"] == "law"
    assert "by ann: law" in words


def test_explain_draws_a_page_with_the_picture(workspace, capsys):
    page = workspace.folder / "frame.html"

    code, _, err = _data(capsys, workspace, "explain", "loose/a.jpg", "--html", str(page))

    text = page.read_text()
    assert (code, "Wrote" in err) == (0, True)
    assert "data:image/jpeg" in text
    assert FRAME in text
    assert "label_odd" in text


def test_a_page_of_a_frame_that_was_withdrawn_says_that_there_is_no_picture(workspace, capsys):
    page = workspace.folder / "frame.html"
    _data(capsys, workspace, "withdraw", "loose/a.jpg", "--reason", "law", "--yes", "--delete-sources")

    _data(capsys, workspace, "explain", FRAME, "--html", str(page))

    assert "The frame was withdrawn: its picture is not shown." in page.read_text()


def test_a_frame_nobody_knows_is_not_found(workspace, capsys):
    assert _data(capsys, workspace, "explain", "0" * 64)[0] == 3


def test_ac_b2_verify_says_that_every_picture_of_a_merge_is_there(workspace, capsys):
    code, out, _ = _data(capsys, workspace, "verify", "all", "-o", "json")

    report = json.loads(out)
    assert code == 0
    assert (report["frames"], report["checked"], report["sound"], report["troubles"]) == (2, 2, True, [])


def test_a_merge_opens_alone_when_one_of_two_sources_is_gone_and_fails_when_both_are(workspace, capsys):
    (workspace.folder / "loose" / "b.jpg").unlink()
    alone = _data(capsys, workspace, "verify", "all")[0]
    workspace.shard().unlink()
    code, out, _ = _data(capsys, workspace, "verify", "all", "-o", "json")

    assert alone == 0
    assert code == 1
    assert [(row["frame_id"], row["state"]) for row in json.loads(out)["troubles"]] == [(OTHER, "missing")]


def test_verify_names_frames_whose_bytes_changed(workspace, capsys):
    loose = workspace.snapshots[0].uri
    (workspace.folder / "loose" / "b.jpg").write_bytes(b"another")

    code, out, _ = _data(capsys, workspace, "verify", loose)

    assert code == 1
    assert f"{OTHER[:16]} changed" in out


def test_verify_can_read_a_part_and_knows_withdrawn_frames(workspace, capsys):
    _data(capsys, workspace, "withdraw", "loose/a.jpg", "--reason", "law", "--yes", "--delete-sources")

    code, out, _ = _data(capsys, workspace, "verify", "all", "-o", "json")
    sample = json.loads(_data(capsys, workspace, "verify", "all", "--sample", "1", "-o", "json")[1])

    assert (code, json.loads(out)["states"]) == (0, {"withdrawn": 1})
    assert (sample["frames"], sample["checked"]) == (2, 1)


def test_verify_refuses_a_snapshot_whose_tables_changed(workspace, capsys):
    (part,) = (workspace.folder / "store" / "snapshots" / workspace.merged.snapshot_id / "frames").iterdir()
    part.write_bytes(part.read_bytes()[:-1])

    code, _, err = _data(capsys, workspace, "verify", "all")

    assert (code, "not what was written" in err) == (1, True)


def test_every_annotation_of_a_merge_has_its_picture(workspace):
    tables = workspace.merged.tables()

    assert {row[0] for row in rows(tables.boxes, "frame_id")} <= {row[0] for row in rows(tables.frames, "frame_id")}


def test_a_file_whose_name_is_no_utf8_is_looked_for_as_the_tables_spell_it(workspace, capsys):
    code, _, err = call(capsys, "data", "explain", "\udcff.jpg", "-w", str(workspace.folder))

    assert code == 3
    assert r"'\\xff.jpg'" in err
