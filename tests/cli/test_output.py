import json
import os

import pytest

from cli.open_ledger import ledger_of
from cli.output import as_text, emit, place_from, table
from driveflow.ledger.ledger import open_ledger


def test_records_become_a_table_with_numbers_on_the_right():
    rows = [{"step": "import", "frames": 7}, {"step": "merge_all", "frames": 1200}]

    assert table(rows).splitlines() == ["step       frames", "import          7", "merge_all    1200"]


def test_a_missing_cell_stays_empty():
    assert table([{"a": 1, "b": "x"}, {"a": 2}]).splitlines()[-1].split() == ["2"]


def test_a_record_becomes_lines():
    assert as_text({"run": "r1", "ok": True, "loss": 0.123456}) == "run: r1\nok: yes\nloss: 0.1235"


def test_json_is_what_a_program_reads(capsys):
    emit({"class": "Fußgänger", "n": [1, 2]}, "json")

    assert json.loads(capsys.readouterr().out) == {"class": "Fußgänger", "n": [1, 2]}


def test_nan_never_leaves_as_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        emit({"ap": float("nan")}, "json")


def test_a_command_finds_the_store_of_its_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere")
    monkeypatch.chdir(tmp_path)
    profile = tmp_path / "team.yaml"
    profile.write_text("profile: local\nstore: s3://b/store\ns3: {endpoint: http://s3:9000}\n")

    place = place_from(tmp_path / "work", str(profile))

    assert (place.store, os.environ["AWS_ENDPOINT_URL"]) == ("s3://b/store", "http://s3:9000")
    assert place.ledger == f"sqlite:///{tmp_path}/work/ledger.db"


def test_the_text_given_wins(capsys):
    emit({"run": "r1"}, "text", "Run r1 is done.")

    assert capsys.readouterr().out == "Run r1 is done.\n"


def test_names_give_no_commands_to_a_terminal_and_stay_in_their_row():
    hostile = "car\x1b[2J\nbus\u202e"

    told = table([{"class": hostile, "AP": 0.5}])

    assert told.splitlines()[1:] == [r"car\x1b[2J\nbus\u202e  0.5"]
    assert as_text({"class": hostile, "note": "one\ntwo"}) == "class: car\\x1b[2J\nbus\\u202e\nnote: one\ntwo"


def test_the_ledger_lies_in_the_workspace_whatever_characters_its_path_has(tmp_path):
    place = place_from(tmp_path / "a?b=1 50%20 #ü")

    assert ledger_of(place) is None
    open_ledger(place.ledger_url())
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("ledger.db")] == ["a?b=1 50%20 #ü/ledger.db"]
    assert ledger_of(place) is not None
