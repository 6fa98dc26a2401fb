import json

import pytest

from cli.output import place_from
from driveflow.ledger.ledger import open_ledger
from driveflow.ledger.rows import RunRow, StepRow
from tests.cli.calling import call


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A ledger with two runs, the later one failed in its second step; the first one has logs."""
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger(place_from(tmp_path / ".driveflow").ledger_url())
    for run_id, pipeline in (("curate-1", "curate"), ("retrain-2", "retrain")):
        ledger.begin_run(RunRow(run_id=run_id, flow="roads", pipeline=pipeline, profile="local"))
    for step in ("plan_run", "import_batches"):
        ledger.begin_step("curate-1", step)
        ledger.finish_step(
            "curate-1", step, StepRow(state="SUCCEEDED", reused=step != "plan_run", counts={"files_in": 3})
        )
    ledger.begin_step("retrain-2", "plan_run")
    ledger.finish_step("retrain-2", "plan_run", StepRow(state="FAILED", error_kind="NotFoundError", error="No batch."))
    ledger.finish_run("curate-1", "SUCCEEDED")
    ledger.finish_run("retrain-2", "FAILED")
    folder = tmp_path / ".driveflow" / "runs" / "curate-1" / "logs"
    folder.mkdir(parents=True)
    (folder / "plan_run.log").write_bytes(b"one\ntwo\nthree \xff\n")
    (folder / "import_batches.log").write_text("read\n")
    return ledger


def test_list_is_newest_first(ledger, capsys):
    code, out, _ = call(capsys, "runs", "list", "-o", "json")

    assert code == 0
    assert [(row["run_id"], row["state"]) for row in json.loads(out)] == [
        ("retrain-2", "FAILED"),
        ("curate-1", "SUCCEEDED"),
    ]


def test_list_of_another_flow_is_empty(ledger, capsys):
    assert call(capsys, "runs", "list", "--flow", "other", "-o", "json")[1] == "[]\n"


def test_show_tells_steps_with_counts_and_whether_they_were_re_used(ledger, capsys):
    value = json.loads(call(capsys, "runs", "show", "curate", "-o", "json")[1])

    assert [(step["step"], step["reused"], step["counts"]) for step in value["steps"]] == [
        ("plan_run", False, {"files_in": 3}),
        ("import_batches", True, {"files_in": 3}),
    ]


def test_show_without_a_name_is_the_newest_run_and_says_what_went_wrong(ledger, capsys):
    out = call(capsys, "runs", "show")[1]

    assert out.startswith("run retrain-2: retrain of roads, failed")
    assert "plan_run: NotFoundError: No batch." in out


def test_show_tells_the_verdict_with_its_reason_and_the_snapshots_that_other_commands_take(ledger, capsys):
    made = {
        "filter_frames": {"snapshot": f"file:///w/store/snapshots/{'4706' * 16}#8f"},
        "validate_model": {"outcome": "BLOCK", "reason": "AP50 is under the floor."},
    }
    ledger.begin_run(RunRow(run_id="flow-3", flow="roads", pipeline="flow", profile="local"))
    for step, outputs in made.items():
        ledger.begin_step("flow-3", step)
        ledger.finish_step("flow-3", step, StepRow(state="SUCCEEDED", outputs=outputs))

    lines = call(capsys, "runs", "show", "flow-3")[1].splitlines()

    assert lines[-2:] == ["verdict: BLOCK. AP50 is under the floor.", "snapshot: 4706470647064706 (filter_frames)"]


def test_logs_of_a_step(ledger, capsys):
    assert call(capsys, "runs", "logs", "curate-1", "plan_run")[1] == "one\ntwo\nthree �\n"
    assert call(capsys, "runs", "logs", "curate-1", "plan_run", "-n", "1")[1] == "three �\n"


def test_a_log_in_which_nothing_stands_is_told_as_such(ledger, tmp_path, capsys):
    (tmp_path / ".driveflow/runs/curate-1/logs/plan_run.log").write_bytes(b"")

    assert call(capsys, "runs", "logs", "curate-1", "plan_run")[1].startswith("The log of plan_run is empty")


def test_logs_of_all_steps_come_in_the_order_they_began(ledger, capsys):
    value = json.loads(call(capsys, "runs", "logs", "curate-1", "-o", "json")[1])

    assert list(value["logs"]) == ["plan_run", "import_batches"]
    assert call(capsys, "runs", "logs", "curate-1")[1].startswith("==> plan_run <==\none\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("show", "zz"), "There is no run 'zz'"),
        (("logs", "zz"), "There is no run 'zz'"),
        (("logs", "retrain-2"), "No log of run retrain-2"),
        (("logs", "curate-1", "train_model"), "has no log of a step 'train_model'; it has import_batches, plan_run"),
        (("list", "-w", "nowhere"), "There is no ledger at"),
    ],
)
def test_what_is_not_there_is_told_with_3(ledger, capsys, arguments, says):
    code, out, err = call(capsys, "runs", *arguments)

    assert (code, out) == (3, "")
    assert says in err


def test_the_beginning_of_several_ids_is_told_with_2(ledger, capsys):
    ledger.begin_run(RunRow(run_id="curate-12", flow="roads", pipeline="curate", profile="local"))

    code, _, err = call(capsys, "runs", "show", "cur")

    assert code == 2
    assert "2 runs begin with 'cur'" in err
    assert call(capsys, "runs", "show", "curate-1")[0] == 0


@pytest.mark.parametrize("command", ["list", "show", "logs"])
def test_every_help_has_an_example_and_its_exit_codes(capsys, command):
    code, out, _ = call(capsys, "runs", command, "--help")

    assert code == 0
    assert f"driveflow runs {command}" in out.partition("Example")[2]
    assert "Exit codes: 0" in out
