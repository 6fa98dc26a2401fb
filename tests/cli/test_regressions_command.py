import json

import pytest

from driveflow.flow.sections import GateSection
from tests.cli.calling import call
from tests.validation.drives import Drives, measure
from tests.validation.reports import report_request
from validation.gate import JudgeRequest, judge
from validation.regression import load_regressions
from validation.report_json import report_json


@pytest.fixture(scope="module")
def shown():
    request = report_request()
    return request, json.dumps(report_json(request), allow_nan=False)


@pytest.fixture
def report(shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(shown[1])
    return shown[0]


def rule_of(model, wanted):
    verdict = judge(JudgeRequest(model, None, GateSection(), leak=None, regressions=(wanted,)))
    return next(rule for rule in verdict.rules if rule.name == "regression set may")


def test_what_a_report_says_is_newly_fixed_becomes_a_set_that_its_model_finds_and_its_champion_does_not(report, capsys):
    code, out, _ = call(capsys, "regressions", "report.json", "--name", "may", "-o", "json")

    made = json.loads(out)
    wanted = load_regressions(made["digest"], made["uri"].partition("/objects/")[0])
    assert code == 0
    assert made["objects"] == len(wanted.objects) > 0
    assert rule_of(report.challenger, wanted).outcome == "PASS"
    assert rule_of(report.champion, wanted).outcome == "BLOCK"


def test_one_class_may_be_asked_for_and_the_file_written_beside(report, capsys):
    code, _, _ = call(
        capsys, "regressions", "report.json", "--name", "may", "--of", "broken", "--class", "bus", "--to", "lost.json"
    )

    wanted = load_regressions("lost.json", "")
    assert code == 0
    assert {one.class_name for one in wanted.objects} == {"bus"}
    assert rule_of(report.challenger, wanted).outcome == "BLOCK"


def test_a_set_of_another_holdout_needs_data(report, capsys):
    call(capsys, "regressions", "report.json", "--name", "may", "--to", "may.json")

    rule = rule_of(measure(Drives(groups=5, classes=("tram",)), 0.8, 3), load_regressions("may.json", ""))

    assert rule.outcome == "NEEDS DATA"
    assert "not in this hold-out" in rule.reason


@pytest.mark.parametrize(
    ("words", "code"),
    [(("nobody.json",), 3), (("report.json", "--class", "tank"), 1), (("other.json",), 1)],
)
def test_a_report_that_is_none_or_shows_nothing_has_its_own_exit_code(report, tmp_path, capsys, words, code):
    (tmp_path / "other.json").write_text("{}")

    assert call(capsys, "regressions", *words, "--name", "may")[0] == code
