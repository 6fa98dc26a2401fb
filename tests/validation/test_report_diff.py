"""Two reports are told apart: verdict, numbers, rules, classes and slices; and never across hold-outs unknowingly."""

import copy
import json
from pathlib import Path

import pytest

from cli.main import main
from driveflow.errors import InvalidInputError
from tests.validation.reports import report_request
from validation.report_diff import check_report, diff_reports
from validation.report_json import report_json


@pytest.fixture(scope="module")
def report():
    return json.loads(json.dumps(report_json(report_request())))


@pytest.fixture
def later(report):
    """The same report with a verdict, a rule, a class and a slice that changed."""
    changed = copy.deepcopy(report)
    changed["verdict"]["outcome"], changed["verdict"]["reason"] = "BLOCK", "Night is worse."
    rule = next(item for item in changed["verdict"]["rules"] if item["name"] == "floor AP50")
    rule["outcome"], rule["reason"] = "BLOCK", "AP50 is under the floor."
    changed["verdict"]["rules"].append({**rule, "name": "regression set a", "reason": "One is missed."})
    for part in (changed["challenger"], changed["challenger"]["per_class"][1], changed["challenger"]["per_slice"][0]):
        part["AP50"] -= 0.25
    return changed


def test_a_report_beside_itself_has_no_change(report):
    found = diff_reports(report, report)

    assert found.outcomes[0] == found.outcomes[1]
    assert found.rules == found.flags == ()
    assert {item.change for item in (*found.numbers, *found.per_class, *found.per_slice)} <= {0.0, None}


def test_verdict_rules_numbers_classes_and_slices_that_changed_are_told(report, later):
    found = diff_reports(report, later)

    assert found.outcomes == (report["verdict"]["outcome"], "BLOCK")
    assert [(item.name, item.second) for item in found.rules] == [
        ("floor AP50", "BLOCK"),
        ("regression set a", "BLOCK"),
    ]
    assert found.rules[1].first == ""
    assert next(item.change for item in found.numbers if item.metric == "AP50") == pytest.approx(-0.25)
    assert (found.per_class[0].name, found.per_class[0].change) == ("car", pytest.approx(-0.25))
    assert (found.per_slice[0].name, found.per_slice[0].change) == ("night", pytest.approx(-0.25))


def test_different_hold_outs_are_refused_and_where_allowed_flagged(report, later):
    later["verdict"]["measure"]["holdout"] = later["verdict"]["holdout_id"] = "other"

    with pytest.raises(InvalidInputError, match="different hold-outs"):
        diff_reports(report, later)
    found = diff_reports(report, later, across_holdouts=True)

    assert not found.same_holdout
    assert "The hold-outs differ" in found.flags[0]


@pytest.mark.parametrize("key", ["mode", "code"])
def test_another_mode_or_evaluator_is_flagged(report, later, key):
    later["verdict"]["measure"][key] = "another"

    assert any("another" in flag for flag in diff_reports(report, later).flags)


def test_another_least_score_is_flagged_where_both_reports_say_theirs(report, later):
    later["challenger"]["min_score"] = 0.3
    assert any("a score of 0.0 and of 0.3 or more" in flag for flag in diff_reports(report, later).flags)

    del later["challenger"]["min_score"]
    assert diff_reports(report, later).flags == ()


def test_a_class_of_one_report_only_is_listed_last_without_a_change(report, later):
    later["challenger"]["per_class"][0]["class_name"] = "tram"

    names = [(item.name, item.change is None) for item in diff_reports(report, later).per_class]

    assert names == [("car", False), ("bus", True), ("tram", True)]


@pytest.mark.parametrize("value", [[], {}, {"form_version": 1}])
def test_what_is_no_report_of_this_form_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"no report\.json|has form 1"):
        check_report(value, "a.json")


def _call(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(words)
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_the_command_tells_it_in_words_and_as_json(report, later, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for path, value in zip(paths, (report, later), strict=True):
        Path(path).write_text(json.dumps(value), encoding="utf-8")

    code, words, _err = _call(capsys, "report", "diff", *paths)
    as_json = json.loads(_call(capsys, "report", "diff", *paths, "-o", "json")[1])
    shown = _call(capsys, "report", "show", paths[1])[1]

    assert code == 0
    assert "→ BLOCK" in words.splitlines()[0]
    assert "regression set a" in words
    assert "-0.250" in words
    assert as_json["verdict_changed"]
    assert as_json["second"]["reason"] == "Night is worse."
    assert shown.startswith("BLOCK: road-users")


def test_the_command_refuses_what_it_cannot_compare(report, later, tmp_path, capsys):
    later["verdict"]["measure"]["holdout"] = "other"
    (tmp_path / "a.json").write_text(json.dumps(report))
    (tmp_path / "b.json").write_text(json.dumps(later))
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]

    assert _call(capsys, "report", "diff", *paths)[0] == 1
    assert _call(capsys, "report", "diff", *paths, "--across-holdouts")[0] == 0
    assert _call(capsys, "report", "diff", paths[0], "no-such-run", "-w", str(tmp_path / "ws"))[0] == 3
    (tmp_path / "c.json").write_text("{")
    assert _call(capsys, "report", "diff", paths[0], str(tmp_path / "c.json"))[0] == 1
