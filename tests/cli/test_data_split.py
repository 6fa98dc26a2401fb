import json

import pytest

from driveflow.snapshots import write_snapshot
from tests.cli.calling import call
from tests.ingestion.batches import bring_in, coco, picture, write


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A workspace with a snapshot of twelve stills, each a drive of its own."""
    names = [f"{letter}.jpg" for letter in "abcdefghijkl"]
    labels = coco(list(enumerate(names)), [(n, n, 1 + n % 2, (5, 5, 20, 20)) for n in range(12)])
    files = {name: picture(number) for number, name in enumerate(names)}
    batch = bring_in(write(tmp_path / "may", {"labels.json": labels, **files}), drives="stills")
    write_snapshot((tmp_path / "w" / "store").as_uri(), batch.tables, batch.beside, {"step": "import_batch"})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "w"


def _snapshot_id(place):
    (folder,) = (place / "store" / "snapshots").iterdir()
    return folder.name


def test_split_makes_a_tagged_snapshot_and_counts_classes_and_leaks(place, capsys):
    source = _snapshot_id(place)
    asked = ("--balance", "--measure", "--val-fraction", "0.3", "--holdout-fraction", "0.3")
    code, out, _ = call(capsys, "data", "split", source, "--as", "cut", *asked, "-w", str(place), "-o", "json")

    report = json.loads(out)
    assert code == 0
    assert sum(part["frames"] for part in report["splits"].values()) == 12
    assert all(part["boxes"]["car"] and part["boxes"]["truck"] for part in report["splits"].values())
    assert report["leaks"]["clean"]
    assert [border["unmeasured"] for border in report["leaks"]["borders"]] == [0, 0]
    shown = json.loads(call(capsys, "data", "show", "cut", "--leaks", "-w", str(place), "-o", "json")[1])
    assert shown["leaks"] == report["leaks"]


def test_splitting_again_keeps_the_hold_out_and_says_so_when_a_share_is_asked_for(place, capsys):
    call(capsys, "data", "split", _snapshot_id(place), "--as", "cut", "--holdout-fraction", "0.5", "-w", str(place))
    again = ("data", "split", "cut", "--as", "cut2", "-w", str(place), "-o", "json")

    code, _, err = call(capsys, *again, "--holdout-fraction", "0.2")
    kept = json.loads(call(capsys, *again, "--seed", "7")[1])["splits"]["holdout"]
    before = json.loads(call(capsys, "data", "show", "cut", "-w", str(place), "-o", "json")[1])["splits"]["holdout"]

    assert (code, "stay so" in err) == (2, True)
    assert kept["frames"] == before


def test_split_in_words_is_a_table_and_the_leaks(place, capsys):
    _, out, _ = call(capsys, "data", "split", _snapshot_id(place), "--as", "cut", "--by", "place", "-w", str(place))

    assert "split" in out
    assert "12 files have no known place or day" in out
    assert "frames) and holdout" in out or "frames) and val" in out


def test_leaks_against_another_snapshot_are_told(place, capsys):
    source = _snapshot_id(place)
    call(capsys, "data", "split", source, "--as", "cut", "-w", str(place))

    against = ("--leaks", "--against", source, "-w", str(place), "-o", "json")
    leaks = json.loads(call(capsys, "data", "show", "cut", *against)[1])["leaks"]

    assert not leaks["clean"]
    assert leaks["borders"][-1]["other"] == source[:16]
    assert leaks["borders"][-1]["bytes"]["count"] == leaks["borders"][-1]["train_frames"]


def test_a_place_as_large_as_the_world_is_refused(place, capsys):
    asked = ("--by", "place", "--place-cell-m", "inf")

    code, _, err = call(capsys, "data", "split", _snapshot_id(place), "--as", "cut", *asked, "-w", str(place))

    assert code == 2
    assert "--place-cell-m" in err


@pytest.mark.parametrize("words", [("data", "quarantine", "list"), ("filter", "dropped")])
def test_more_rows_than_can_be_written_out_are_refused(place, capsys, words):
    code, _, err = call(capsys, *words, _snapshot_id(place), "--limit", "9223372036854775808", "-w", str(place))

    assert code == 2
    assert "--limit" in err
