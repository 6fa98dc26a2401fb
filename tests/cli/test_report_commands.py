import json
from pathlib import Path

import pytest

from cli.main import main
from driveflow.ledger.ledger import open_ledger
from driveflow.ledger.rows import DecisionRow, RunRow, StepRow
from driveflow.storage.objects import join, write_bytes
from tests.validation.reports import report_request
from validation.report_json import report_json

RULE = {
    "name": "floor AP50",
    "outcome": "BLOCK",
    "reason": "AP50 is 0.300, under the floor of 0.500.",
    "value": 0.3,
    "limit": 0.5,
}
PAGE = b"<!doctype html><title>BLOCK</title>"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace in which two runs were judged; their pages lie in its store under two kinds of name."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".driveflow"
    from cli.output import place_from

    place = place_from(folder, "local")
    ledger = open_ledger(place.ledger_url())
    for number, name in enumerate(("aa11.html", "bb22.page")):
        uri = join(place.store, "objects", name)
        write_bytes(uri, PAGE)
        run_id = f"run-{number}"
        ledger.begin_run(RunRow(run_id=run_id, flow="roads", pipeline="flow", profile="local"))
        detail = {"reason": RULE["reason"], "rules": [RULE]}
        ledger.record_decision(
            DecisionRow(
                run_id=run_id,
                digest="d" * 64,
                model="roads",
                verdict="BLOCK",
                snapshot_uri="s",
                holdout_uri="h",
                report_uri=uri,
                detail=detail,
            )
        )
    return folder


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_open_prints_the_path_of_the_page_of_a_run(workspace, capsys):
    code, out, _err = call(capsys, "report", "open", "run-0")

    assert code == 0
    assert Path(out.strip()).read_bytes() == PAGE
    assert out.strip().endswith("aa11.html")


def test_open_without_a_run_gives_the_newest_as_a_page_that_browsers_know(workspace, capsys):
    code, out, _err = call(capsys, "report", "open", "-o", "json")

    path = json.loads(out)["path"]
    assert code == 0
    assert path.endswith("bb22.html")
    assert Path(path).read_bytes() == PAGE


def test_open_takes_a_path_as_it_is(workspace, capsys, tmp_path):
    page = tmp_path / "some.html"
    page.write_bytes(PAGE)

    assert call(capsys, "report", "open", str(page))[1].strip() == str(page)


def test_show_prints_verdict_rules_and_reasons(workspace, capsys):
    code, out, _err = call(capsys, "report", "show", "run-1")

    assert code == 0
    assert out.startswith("BLOCK: roads")
    assert RULE["reason"] in out


def test_show_as_json_holds_the_decision_as_it_was_kept(workspace, capsys):
    value = json.loads(call(capsys, "report", "show", "run-1", "-o", "json")[1])

    assert (value["run_id"], value["verdict"]) == ("run-1", "BLOCK")
    assert value["detail"]["rules"] == [RULE]


def test_a_run_without_a_report_is_not_found(workspace, capsys):
    code, _out, err = call(capsys, "report", "show", "nothing")

    assert code == 3
    assert "No run whose id begins with 'nothing' has a validation report" in err


def test_the_beginning_of_several_runs_is_a_usage_error(workspace, capsys):
    code, _out, err = call(capsys, "report", "show", "run-")

    assert code == 2
    assert "2 runs begin with 'run-'" in err


def test_open_as_json_says_where_the_report_for_programs_lies(workspace, capsys):
    from cli.output import place_from

    place = place_from(workspace, "local")
    uri = join(place.store, "objects", "full.json")
    outputs = {"report_json": uri}
    open_ledger(place.ledger_url()).finish_step("run-0", "validate_model", StepRow(state="SUCCEEDED", outputs=outputs))

    assert json.loads(call(capsys, "report", "open", "run-0", "-o", "json")[1])["report_json"] == uri
    assert json.loads(call(capsys, "report", "open", "run-1", "-o", "json")[1])["report_json"] is None


def test_the_difference_of_runs_is_read_from_what_they_kept(workspace, capsys):
    from cli.output import place_from

    place = place_from(workspace, "local")
    uri = join(place.store, "objects", "full.json")
    write_bytes(uri, b'{"form_version": 0}')
    ledger = open_ledger(place.ledger_url())
    ledger.finish_step("run-0", "validate_model", StepRow(state="SUCCEEDED", outputs={"report_json": uri}))

    code, _out, err = call(capsys, "report", "diff", "run-0", "run-1")
    other = call(capsys, "report", "diff", "run-1", "run-0")

    assert code == 1
    assert "run-0 has form 0" in err
    assert other[0] == 3
    assert "run-1 kept no report.json" in other[2]


def test_a_report_is_taken_by_its_address_and_by_its_run(workspace, capsys):
    from cli.output import place_from

    place = place_from(workspace, "local")
    uri = join(place.store, "objects", "full.json")
    request = report_request()
    write_bytes(uri, json.dumps(report_json(request), allow_nan=False).encode())
    ledger = open_ledger(place.ledger_url())
    ledger.finish_step("run-0", "validate_model", StepRow(state="SUCCEEDED", outputs={"report_json": uri}))

    made = [call(capsys, "regressions", name, "--name", "may", "-o", "json") for name in (uri, "run-0")]
    shown = call(capsys, "report", "show", uri)

    assert [code for code, _, _ in made] == [0, 0]
    assert json.loads(made[0][1])["digest"] == json.loads(made[1][1])["digest"]
    assert shown[0] == 0
    assert request.verdict.outcome in shown[1]
    assert call(capsys, "report", "diff", uri, "run-0")[0] == 0
