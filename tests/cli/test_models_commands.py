import json
from dataclasses import replace

import pytest

from cli.output import place_from
from driveflow.ledger.ledger import open_ledger
from registry.registry import Registry
from tests.cli.calling import call
from tests.registry.made import (
    ACT,
    HOLDOUT,
    MODEL,
    file_of,
    judged,
    new_model,
    promoted,
    recorded,
    registered,
    states,
    trained,
)


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """The registry of the workspace .driveflow in the current folder."""
    monkeypatch.chdir(tmp_path)
    place = place_from(tmp_path / ".driveflow")
    return Registry(open_ledger(place.ledger_url()), place.store)


def test_list_tells_every_version(registry, capsys):
    promoted(registry, "a")
    registered(registry, "b")

    code, out, _ = call(capsys, "models", "list", "-o", "json")

    assert code == 0
    assert [(row["model"], row["version"], row["state"]) for row in json.loads(out)] == [
        (MODEL, 1, "champion"),
        (MODEL, 2, "candidate"),
    ]


def test_list_for_a_person_fits_into_a_line_of_a_terminal(registry, capsys):
    version = promoted(registry, "a")

    lines = call(capsys, "models", "list")[1].splitlines()

    assert version.digest[:12] in lines[1]
    assert max(map(len, lines)) <= 80


def test_a_model_of_which_none_has_passed_is_told_from_one_that_there_is_not(registry, capsys):
    recorded(registry, "a", "BLOCK")

    _, _, known = call(capsys, "models", "show", MODEL)
    _, _, unknown = call(capsys, "models", "show", "town")

    assert f"Model '{MODEL}' has no version yet" in known
    assert f"`driveflow models history {MODEL}`" in known
    assert "There is no model 'town'; known: none." in unknown


def test_list_of_an_empty_registry_is_empty(registry, capsys):
    assert call(capsys, "models", "list", "-o", "json")[:2] == (0, "[]\n")
    assert call(capsys, "models", "list")[1] == "No model has a version yet.\n"


def test_show_tells_lineage_of_the_champion_where_no_version_is_named(registry, capsys):
    version = promoted(registry, "a")
    registered(registry, "b")

    code, out, _ = call(capsys, "models", "show", MODEL, "-o", "json")

    value = json.loads(out)
    assert code == 0
    assert (value["version"], value["digest"], value["run_id"]) == (1, version.digest, "run-1")
    assert value["snapshot_uri"] == "file:///store/snapshots/training"
    assert value["holdout_uri"] == "file:///store/snapshots/holdout"
    assert [event["kind"] for event in value["history"]] == ["recorded", "registered", "promoted"]


def test_show_as_text_names_report_and_reason(registry, capsys):
    version = promoted(registry, "a")

    out = call(capsys, "models", "show", MODEL, "1")[1]

    assert f"report_uri: file:///reports/{version.digest}.html" in out
    assert "it is better" in out


@pytest.mark.parametrize(
    ("champion", "told"),
    [("", "by floors alone: it was never compared with version 1"), ("b" * 64, "judged beside champion bbb")],
)
def test_who_promotes_is_told_that_the_champion_was_never_compared_with(registry, capsys, champion, told):
    first = promoted(registry, "a")
    for name, beside in (("b", champion), ("c", first.digest)):
        folder = trained(registry, name)
        said = replace(judged(folder.digest), detail={"reason": "measured", "champion": beside})
        registry.record_trained(new_model(folder), said)
        registry.register(folder.digest, HOLDOUT, ACT)

    words = []
    for version in ("3", "2"):
        words.append(call(capsys, "models", "promote", MODEL, version, "--why", "seen")[2])
        registry.rollback(MODEL, ACT, 1)

    assert words[0] == ""
    assert told in words[1]


def test_promote_rollback_and_history_tell_who_and_why(registry, capsys):
    promoted(registry, "a")
    registered(registry, "b")

    up = call(capsys, "models", "promote", MODEL, "2", "--why", "the report convinced me", "--who", "ann")
    back = call(capsys, "models", "rollback", MODEL, "--why", "it misses bicycles", "--who", "bob")

    rows = json.loads(call(capsys, "models", "history", MODEL, "-o", "json")[1])
    assert up[:2] == (0, "city/2 is champion.\n")
    assert back[:2] == (0, "city/1 is champion again.\n")
    assert [(row["kind"], row["version"], row["who"], row["why"]) for row in rows][-2:] == [
        ("demoted", 2, "bob", "it misses bicycles"),
        ("rolled_back", 1, "bob", "it misses bicycles"),
    ]


def test_ac_e2_history_answers_who_was_champion_at_a_moment(registry, capsys):
    promoted(registry, "a")

    past = call(capsys, "models", "history", MODEL, "--at", "2020-01-01")
    future = call(capsys, "models", "history", MODEL, "--at", "2999-01-01T00:00:00+01:00", "-o", "json")
    wrong = call(capsys, "models", "history", MODEL, "--at", "yesterday")

    assert past[:2] == (0, "city had no champion then.\n")
    assert json.loads(future[1])["version"] == 1
    assert wrong[0] == 2


def test_ac_e2_a_day_is_asked_for_as_a_whole_and_tells_all_its_champions(registry, capsys):
    versions = [promoted(registry, name) for name in "ab"]
    day = versions[1].created_at[:10]

    text = call(capsys, "models", "history", MODEL, "--at", day)[1]
    value = json.loads(call(capsys, "models", "history", MODEL, "--at", day, "-o", "json")[1])

    assert [line.partition(" since ")[0] for line in text.splitlines()] == [
        f"{MODEL}/{row.version} ({row.digest})" for row in versions
    ]
    assert (value["version"], value["followed"]) == (2, [1])
    assert value["since"] == registry.history(MODEL)[-1].at


def test_a_user_without_a_name_is_told_to_give_one(registry, capsys, monkeypatch):
    registered(registry, "a")
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_000)  # as in a container whose user has no name

    code, _, err = call(capsys, "models", "promote", MODEL, "1", "--why", "x")

    assert (code, err) == (
        2,
        "driveflow: Nobody is logged in by a name here (user id 4000000000); --who NAME would do.\n",
    )


def test_a_model_that_did_not_pass_is_refused_with_5(registry, capsys):
    digest = recorded(registry, "a", "BLOCK")

    code, out, err = call(capsys, "models", "promote", MODEL, digest[:12], "--why", "please")

    assert (code, out) == (5, "")
    assert "The gate says BLOCK" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "town"),
        ("show", MODEL, "9"),
        ("list", "town"),
        ("history", "town"),
        ("history", "town", "--at", "2026-01-31"),
        ("promote", MODEL, "9", "--why", "x"),
        ("rollback", MODEL, "--why", "x"),
        ("verify", "town"),
        ("verify", MODEL, "9"),
        ("retire", MODEL, "9", "--why", "x"),
    ],
)
def test_what_is_not_there_is_told_with_3(registry, capsys, arguments):
    promoted(registry, "a")

    code, out, err = call(capsys, "models", *arguments)

    assert (code, out) == (3, "")
    assert err.count("\n") == 1


def test_without_a_workspace_the_line_says_so_and_none_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    code, _, err = call(capsys, "models", "list")

    assert code == 3
    assert "There is no ledger at" in err
    assert list(tmp_path.iterdir()) == []


def test_ac_e1_verify_ends_with_1_where_a_byte_changed_and_names_the_file(registry, capsys):
    version = promoted(registry, "a")
    sound = call(capsys, "models", "verify", MODEL)
    file_of(version).write_bytes(b"b")

    code, out, _ = call(capsys, "models", "verify", MODEL, "1", "-o", "json")

    assert sound[0] == 0
    assert code == 1
    value = json.loads(out)
    assert value["sound"] is False
    assert [row["file"] for row in value["files"] if row["state"] != "sound"] == ["weights.safetensors"]


def test_ac_e4_retiring_the_champion_is_refused(registry, capsys):
    promoted(registry, "a")
    registered(registry, "b")

    refused = call(capsys, "models", "retire", MODEL, "1", "--why", "old")
    done = call(capsys, "models", "retire", MODEL, "2", "--why", "old")

    assert refused[0] == 2
    assert "promote another one first" in refused[2]
    assert done[0] == 0
    assert states(registry) == {1: "champion", 2: "retired"}


def test_a_dry_sweep_removes_nothing(registry, capsys):
    recorded(registry, "a", "BLOCK")

    value = json.loads(call(capsys, "models", "sweep", "--dry-run", "-o", "json")[1])

    assert (value["removed"], len(value["young"])) == ([], 1)


@pytest.mark.parametrize("command", ["list", "show", "history", "promote", "rollback", "retire", "verify", "sweep"])
def test_every_help_has_an_example_and_its_exit_codes(capsys, command):
    code, out, _ = call(capsys, "models", command, "--help")

    assert code == 0
    assert f"driveflow models {command}" in out.partition("Example")[2]
    assert "Exit codes: 0" in out
