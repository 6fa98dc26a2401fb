import json

import pytest

from tests.cli.calling import call
from tests.ingestion.test_withdraw import FRAME, OTHER, Workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    made = Workspace(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


def _withdraw(capsys, workspace, *arguments):
    return call(capsys, "data", "withdraw", *arguments, "-w", str(workspace.folder))


@pytest.mark.parametrize("name", [FRAME[:10], "loose/a.jpg", "packed/drive.zip!in/a.jpg"])
def test_a_frame_is_withdrawn_by_its_id_or_its_path(workspace, capsys, name):
    code, out, _ = _withdraw(capsys, workspace, name, "--reason", "law", "--who", "ann", "--yes", "-o", "json")

    (tombstone,) = json.loads(out)
    assert code == 0
    assert (tombstone["frame_id"], tombstone["reason"], tombstone["who"]) == (FRAME, "law", "ann")
    assert [trace["kind"] for trace in tombstone["remaining"]] == ["archive", "source"]


def test_it_says_in_words_what_is_left_and_which_models_saw_it(workspace, capsys):
    _, out, _ = _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law", "--yes")

    assert f"{FRAME} is withdrawn: law" in out
    assert f"still there: {(workspace.folder / 'loose' / 'a.jpg').as_uri()}" in out
    assert "seen by model: city version 1 (candidate): trained" in out


def test_a_damaged_part_of_what_was_measured_is_told_before_and_after(workspace, capsys):
    (part,) = (workspace.folder / "store" / "signals").glob("*/*.parquet")
    part.write_bytes(b"PAR1")

    _, _, before = _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law")
    assert part.exists()
    _, out, _ = _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law", "--yes")

    assert f"will be removed with all that was measured in it: {part.as_uri()}" in before
    assert f"damaged and removed, with all that was measured in it: {part.as_uri()}" in out
    assert not part.exists()


def test_without_yes_nothing_is_done_where_nobody_can_be_asked(workspace, capsys):
    before = workspace.files()

    code, _, err = _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law")

    assert code == 2
    assert "--yes" in err
    assert workspace.files() == before


def test_a_snapshot_can_be_named_to_look_in(workspace, capsys):
    packed = workspace.snapshots[1].uri
    code, _, err = _withdraw(capsys, workspace, "loose/a.jpg", "-s", packed, "--reason", "law", "--yes")
    found, out, _ = _withdraw(capsys, workspace, "in/b.jpg", "-s", packed, "--reason", "law", "--yes", "-o", "json")

    assert (code, "No frame" in err) == (3, True)
    assert (found, json.loads(out)[0]["frame_id"]) == (0, OTHER)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["nowhere.jpg", "--reason", "law"], 3), (["loose/a.jpg"], 2), ([], 2), ([" ", "--reason", "law"], 2)],
)
def test_a_frame_that_is_not_there_or_no_reason_is_told(workspace, capsys, arguments, code):
    assert _withdraw(capsys, workspace, *arguments, "--yes")[0] == code


def test_list_shows_every_tombstone(workspace, capsys):
    nothing = _withdraw(capsys, workspace, "--list")[1]
    _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law", "--who", "ann", "--yes")

    assert "Nothing was withdrawn." in nothing
    assert "ann: law" in _withdraw(capsys, workspace, "--list")[1]
    assert [item["frame_id"] for item in json.loads(_withdraw(capsys, workspace, "--list", "-o", "json")[1])] == [FRAME]


def test_show_says_that_a_snapshot_holds_withdrawn_frames(workspace, capsys):
    _withdraw(capsys, workspace, "loose/a.jpg", "--reason", "law", "--yes")
    where = ("data", "show", workspace.snapshots[0].uri, "-w", str(workspace.folder))

    assert "withdrawn: 1 of its frames; merges and training sets leave them out" in call(capsys, *where)[1]
    assert json.loads(call(capsys, *where, "-o", "json")[1])["withdrawn"] == 1


@pytest.mark.parametrize("by", ["owner", "user"])
def test_a_snapshot_of_another_store_is_used_without_what_either_store_withdrew(workspace, capsys, tmp_path, by):
    home, uri = tmp_path / "other", workspace.snapshots[0].uri
    withdrawing = workspace.folder if by == "owner" else home
    assert call(capsys, "data", "withdraw", FRAME, "--reason", "law", "-y", "-w", str(withdrawing))[0] == 0

    def told(*words):
        code, out, err = call(capsys, "data", *words, "-w", str(home), "-o", "json")
        assert code == 0, err
        return json.loads(out)

    assert told("show", uri)["withdrawn"] == 1
    assert told("verify", uri)["states"] == {"withdrawn": 1}
    assert told("export", uri, str(tmp_path / "out"), "--format", "coco")["frames"] == 1
    split = told("split", uri, "--as", "parts")
    assert (split["left_out"], split["splits"]["train"]["frames"]) == (1, 1)
