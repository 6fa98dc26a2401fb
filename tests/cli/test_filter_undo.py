import json
from pathlib import Path

import pytest

from driveflow.by_hand import kept_by_hand, not_duplicates, said_by_hand
from tests.cli.calling import call
from tests.cli.test_filter_commands import written

DROPPED, TWIN = "a" * 64, "b" * 64


@pytest.fixture
def space(tmp_path: Path) -> tuple[str, ...]:
    written((tmp_path / "store").as_uri())
    return ("--workspace", str(tmp_path), "--who", "ada")


def store(tmp_path):
    return (tmp_path / "store").as_uri()


def test_an_undone_drop_is_a_frame_that_is_kept_by_hand(space, tmp_path, capsys):
    code, out, _ = call(capsys, "filter", "undo", "aaaa", "--why", "the only tram", *space)

    assert code == 0
    assert out.startswith(f"{'a' * 16} stays from the next run on; it was dropped: near_duplicate, 3 bits from")
    assert kept_by_hand(said_by_hand(store(tmp_path))) == {DROPPED}


def test_an_undone_drop_can_be_taken_back_and_both_are_told(space, tmp_path, capsys):
    call(capsys, "filter", "undo", "aaaa", *space)
    code, out, _ = call(capsys, "filter", "undo", "aaaa", "--take-back", *space, "-o", "json")

    assert code == 0
    assert json.loads(out)[0]["dropped"]["twin"] == TWIN
    assert [row.yes for row in said_by_hand(store(tmp_path))] == [True, False]
    assert kept_by_hand(said_by_hand(store(tmp_path))) == frozenset()


def test_undoing_changes_no_snapshot(space, tmp_path, capsys):
    before = {path: path.read_bytes() for path in (tmp_path / "store" / "snapshots").rglob("*") if path.is_file()}

    call(capsys, "filter", "undo", "aaaa", *space)

    after = {path: path.read_bytes() for path in (tmp_path / "store" / "snapshots").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("undo", "bbbb"), 2, "No filter dropped bbbb"),
        (("undo", "dddd"), 2, "No filter dropped dddd"),
        (("undo", "nowhere.jpg"), 3, "No frame"),
        (("undo", "aaaa", "--snapshot", "nowhere"), 3, "nowhere"),
        (("undo", "aaaa", "--take-back"), 2, "nothing to take back: no drop of aaaa"),
        (("not-duplicate", "aaaa", "bbbb", "--take-back"), 2, "aaaaaaaaaaaaaaaa and bbbbbbbbbbbbbbbb were not marked"),
        (("not-duplicate", "aaaa", "aaaa"), 2, "name the same frame"),
        (("not-duplicate", "aaaa", "nowhere.jpg"), 3, "No frame"),
    ],
)
def test_what_cannot_be_undone_or_marked_ends_with_its_exit_code(space, tmp_path, capsys, arguments, code, words):
    left, _, err = call(capsys, "filter", *arguments, *space)

    assert left == code
    assert words in err
    assert said_by_hand(store(tmp_path)) == []


def test_two_frames_are_marked_as_no_duplicates_and_the_mark_is_taken_back(space, tmp_path, capsys):
    code, out, _ = call(capsys, "filter", "not-duplicate", "aaaa", "bbbb", *space)
    marked = not_duplicates(said_by_hand(store(tmp_path)))
    call(capsys, "filter", "not-duplicate", "bbbb", "aaaa", "--take-back", *space)

    assert code == 0
    assert out == f"{'a' * 16} and {'b' * 16} are no twins from the next run on\n"
    assert marked == {(DROPPED, TWIN)}
    assert not_duplicates(said_by_hand(store(tmp_path))) == frozenset()


def test_explain_tells_what_people_said_of_a_frame(space, tmp_path, capsys):
    call(capsys, "filter", "undo", "aaaa", "--why", "the only tram", *space)
    call(capsys, "filter", "not-duplicate", "aaaa", "bbbb", *space)

    _, out, _ = call(capsys, "data", "explain", "bbbb", "--workspace", str(tmp_path), "-o", "json")
    _, lines, _ = call(capsys, "data", "explain", "aaaa", "--workspace", str(tmp_path))

    assert [row | {"at": ""} for row in json.loads(out)["by_hand"]] == [
        {"at": "", "who": "ada", "said": "no duplicates", "with": DROPPED, "why": ""}
    ]
    assert "by hand:" in lines
    assert "its drop was undone" in lines
    assert "the only tram" in lines
