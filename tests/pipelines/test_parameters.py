"""Run parameters as a person types them."""

import pytest

from driveflow.errors import NotFoundError, UsageError
from pipelines.parameters import look_for_data, with_changes

KNOWN = {"flow": "{}", "seed": -1, "force": False}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["seed"], "takes name=value, got 'seed'"),
        (["sed=1"], "Did you mean 'seed'"),
        (["seed=one"], "seed takes a whole number, got 'one'"),
        (["seed=1e3"], "seed takes a whole number, got '1e3'"),
        (["seed=9007199254740993"], "seed takes 9007199254740992 at most"),
        (["force=maybe"], "force takes true or false, got 'maybe'"),
        (["seed=1", "seed=2"], "names 'seed' twice"),
    ],
)
def test_what_is_no_parameter_is_refused_with_what_would_do(changes, says):
    with pytest.raises(UsageError, match=says):
        with_changes(KNOWN, changes)


def test_a_parameter_has_the_type_it_had():
    assert with_changes(KNOWN, ["seed=2", "force=YES", "flow=a=b"]) == {"flow": "a=b", "seed": 2, "force": True}


@pytest.mark.parametrize(("name", "value"), [("seed", -2), ("epochs", 0), ("budget_frames", -7)])
def test_what_the_first_step_would_refuse_is_refused_before_a_run_or_a_schedule_is_made(name, value):
    with pytest.raises(UsageError, match=f"{name} takes . or more, or -1 for what the flow file says; got {value}"):
        with_changes({name: -1}, [f"{name}={value}"])

    assert with_changes({name: 3}, [f"{name}=-1"]) == {name: -1}


@pytest.mark.parametrize("written", ["{}", "{}/", "file://{}", "deliveries"])
def test_a_data_root_is_a_folder_or_an_address(tmp_path, monkeypatch, written):
    folder = tmp_path / "deliveries"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    known = {"data_root": "file:///elsewhere"}

    changed = with_changes(known, [f"data_root={written.format(folder)}"])

    assert changed == {"data_root": folder.as_uri()}
    look_for_data(changed, known)


def test_an_address_of_s3_is_taken_as_it_is():
    changed = with_changes({"data_root": ""}, ["data_root=s3://fleet/may"])

    assert changed == {"data_root": "s3://fleet/may"}
    look_for_data(changed, {"data_root": ""})


@pytest.mark.parametrize("written", ["", "http://fleet/may", "s3://"])
def test_what_is_no_data_root_is_refused_before_a_run_is_made(written):
    with pytest.raises(UsageError, match=r"file:///|names no bucket"):
        with_changes({"data_root": ""}, [f"data_root={written}"])


def test_a_data_root_that_is_not_there_is_not_found_before_a_run_is_made(tmp_path):
    gone = {"data_root": (tmp_path / "gone").as_uri()}

    with pytest.raises(NotFoundError, match=r"There is no folder .*/gone, which --set data_root names"):
        look_for_data(with_changes({"data_root": ""}, [f"data_root={tmp_path}/gone"]), {"data_root": ""})

    look_for_data(gone, gone)  # the profile's own: a flow of absolute batches never looks there
