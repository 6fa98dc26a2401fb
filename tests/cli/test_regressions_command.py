import json
from pathlib import Path

import jsonschema
import pytest

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import GateSection
from tests.cli.calling import call
from tests.validation.drives import NO_LEAK, Drives, evaluate_drives, measure
from tests.validation.reports import report_request
from validation.gate import JudgeRequest, judge
from validation.model.compare import Draws
from validation.regression import (
    RegressionObject,
    RegressionSet,
    load_regressions,
    read_regressions,
    regressions_schema,
    write_regressions,
)
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


@pytest.fixture(scope="module")
def mending():
    """A champion with ghosts, duplicates and wrong classes, and a challenger without one."""
    drives = Drives(groups=6, frames=2)
    right = [(*row, 0.9) for row in drives.truth()]
    wrong = []
    for place, (frame, name, (x1, y1, x2, y2), _score) in enumerate(right):
        others = {"bus": "car", "car": "bus"}
        wrong.append((frame, others[name] if place % 5 == 0 else name, (x1, y1, x2, y2), 0.9))
        if place % 5 == 1:
            wrong.append((frame, name, (x1 + 2, y1, x2 + 2, y2), 0.9))
        if place % 5 == 2:
            wrong.append((frame, name, (x1 + 300, y1, x2 + 300, y2), 0.95))
    challenger, champion = (evaluate_drives(drives, found, name) for found, name in ((right, "new"), (wrong, "old")))
    verdict = judge(JudgeRequest(challenger, champion, GateSection(), NO_LEAK, Draws(resamples=60)))
    request = report_request(challenger=challenger, champion=champion, verdict=verdict)
    return request, json.dumps(report_json(request), allow_nan=False)


@pytest.fixture
def mended(mending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_text(mending[1])
    return mending[0]


def judged(model, name):
    return rule_of(model, load_regressions(name, ""))


@pytest.mark.parametrize("what", ["false", "class", "all"])
def test_what_was_mended_is_held_against_who_gets_it_wrong_again(mended, capsys, what):
    code, out, _ = call(
        capsys, "regressions", "report.json", "--name", "may", "--what", what, "--to", "may.json", "-o", "json"
    )

    made = json.loads(out)
    assert code == 0
    assert (made["false_alarms"] > 0) == (what in {"false", "all"})
    assert (made["wrong_classes"] > 0) == (what in {"class", "all"})
    assert made["objects"] == 0  # whatever was missed was taken for another class
    jsonschema.validate(json.loads(Path("may.json").read_text()), json.loads(regressions_schema()))
    assert judged(mended.challenger, "may.json").outcome == "PASS"
    assert judged(mended.champion, "may.json").value == 0.0


def test_false_alarms_may_be_asked_for_by_kind_score_class_and_frame(mended, capsys):
    kinds = {}
    for mistake in ("Bkg", "Dupe", "Cls", "Loc", "Both"):
        words = ("--name", "may", "--what", "false", "--mistake", mistake, "--to", f"{mistake}.json")
        if call(capsys, "regressions", "report.json", *words)[0] == 0:
            kinds[mistake] = load_regressions(f"{mistake}.json", "").false_alarms
    call(capsys, "regressions", "report.json", "--name", "may", "--what", "false", "--to", "every.json")
    every = load_regressions("every.json", "").false_alarms
    one = every[0]
    words = ("--name", "may", "--what", "false", "--class", one.class_name, "--frame", one.frame_id, "--to", "one.json")
    call(capsys, "regressions", "report.json", *words)

    assert {"Bkg", "Dupe", "Cls"} <= set(kinds)
    assert sorted(alarm for alarms in kinds.values() for alarm in alarms) == sorted(every)
    assert all({alarm.mistake for alarm in alarms} == {mistake} for mistake, alarms in kinds.items())
    assert {(two.frame_id, two.class_name) for two in load_regressions("one.json", "").false_alarms} == {
        (one.frame_id, one.class_name)
    }
    assert call(capsys, "regressions", "report.json", "--name", "x", "--what", "false", "--min-score", "1.0")[0] == 1


def test_what_the_set_holds_does_not_depend_on_how_many_frames_the_page_shows(shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = report_request(worst_frames=1)
    (tmp_path / "few.json").write_text(json.dumps(report_json(few)))
    (tmp_path / "many.json").write_text(shown[1])

    digests = [
        json.loads(call(capsys, "regressions", f"{name}.json", "--name", "m", "--what", "all", "-o", "json")[1])[
            "digest"
        ]
        for name in ("few", "many")
    ]

    assert digests[0] == digests[1]


def test_a_set_of_objects_alone_has_the_bytes_that_it_always_had():
    one = RegressionObject("f1", "car", (0.0, 0.0, 5.0, 5.0))

    assert write_regressions(RegressionSet("may", "why", (one, one))) == (
        b'{"kind":"driveflow-regressions","name":"may","note":"why","objects":'
        b'[{"box":[0.0,0.0,5.0,5.0],"class_name":"car","frame_id":"f1"}]}'
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "no regression set"),
        ('{"kind": "other", "name": "a"}', "its kind is 'other'"),
        ('{"kind": "driveflow-regressions", "name": "a", "objects": []}', "nothing that must stay right"),
        ('{"kind": "driveflow-regressions", "name": "a", "objects": {}}', "objects is no list"),
        (
            '{"kind": "driveflow-regressions", "name": "a", "false_alarms": [{"frame_id": "f", "class_name": "c"}]}',
            "entry 0 of false_alarms",
        ),
        (
            '{"kind": "driveflow-regressions", "name": "a", "wrong_classes": '
            '[{"frame_id": "f", "class_name": "c", "box": [0, 0, 1, 1]}]}',
            "entry 0 of wrong_classes",
        ),
        (
            '{"kind": "driveflow-regressions", "name": "a", "objects": '
            '[{"frame_id": "f", "class_name": "c", "box": [5, 0, 1, 1]}]}',
            "entry 0 of objects",
        ),
        (
            '{"kind": "driveflow-regressions", "name": "a", "objects": '
            f'[{{"frame_id": "f", "class_name": "c", "box": [0, 0, {"9" * 400}, 1]}}]}}',
            "entry 0 of objects",
        ),
        (
            '{"kind": "driveflow-regressions", "name": "a", "false_alarms": '
            '[{"frame_id": "f", "class_name": "c", "box": [0, 0, 1, 1], "objects": 1e999}]}',
            "entry 0 of false_alarms",
        ),
        (
            '{"kind": "driveflow-regressions", "name": "a", "objects": '
            r'[{"frame_id": "\ud800", "class_name": "c", "box": [0, 0, 1, 1]}]}',
            "entry 0 of objects",
        ),
    ],
)
def test_a_file_that_is_no_set_is_refused_with_the_entry(text, words):
    with pytest.raises(InvalidInputError, match=words):
        read_regressions(text.encode(), "a.json")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nobody.json",), 3),
        (("report.json", "--class", "tank"), 1),
        (("other.json",), 1),
        (("list.json",), 1),
        ((".",), 1),
        (("report.json", "--of", "neither"), 2),
        (("report.json", "--what", "everything"), 2),
        (("report.json", "--min-score", "2"), 2),
    ],
)
def test_a_report_that_is_none_or_shows_nothing_has_its_own_exit_code(report, tmp_path, capsys, words, code):
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "list.json").write_text("[]")

    found, _, said = call(capsys, "regressions", *words, "--name", "may")

    assert found == code
    assert code == 2 or len(said.strip().splitlines()) == 1
