"""gate, validate-data, regressions, report diff and set-aside say what is wrong in one line, with its exit code."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from cli.output import place_from
from driveflow.ledger.ledger import open_ledger
from registry.registry import Registry
from tests.cli.calling import call
from tests.registry.made import MODEL, promoted, registered
from tests.validation.reports import report_request
from validation.evaluation_json import evaluation_json
from validation.report_json import report_json


@pytest.fixture(scope="module")
def texts():
    """Files as a person has them in a folder, and as they should not be."""
    request = report_request()
    report = report_json(request)
    whole = json.dumps(report)
    measure = {**report["verdict"]["measure"], "holdout": "f" * 64}
    huge = {"frame_id": "a", "objects": [{"corners": [10**400] * 4, "class_name": "bus", "score": None}]}
    return {
        "report.json": whole,
        "first.json": json.dumps(report_json(report_request(first=True))),
        "new.json": json.dumps(evaluation_json(request.challenger, 1.0)),
        "champion.json": json.dumps(evaluation_json(request.champion, 1.0)),
        "other.json": json.dumps(evaluation_json(report_request(classes=("bus", "van")).champion, 1.0)),
        "moved.json": json.dumps({**report, "verdict": {**report["verdict"], "measure": measure}}),
        "old.json": json.dumps({**report, "form_version": 1}),
        "words.json": json.dumps({**report, "challenger": {**report["challenger"], "AP": "high"}}),
        "hollow.json": json.dumps({"form_version": report["form_version"], "verdict": {}, "changes": {}}),
        "huge.json": json.dumps({**report, "changes": {**report["changes"], "fixed_frames": [huge]}}),
        "letters.json": json.dumps({**report, "verdict": "PASS"}),
        "cut.json": whole[:1000],
        "list.json": "[]",
        "deep.json": "[" * 100_000,
        "null.json": "null",
        "policy.yaml": "metric: AP50\nmax_drop: 0.1\n",
        "flow.yaml": "name: x\nclasses: [bus]\nbatches: [a]\n",
        "empty.yaml": "",
        "syntax.yaml": ": [\n",
        "metric.yaml": "metric: AP51\n",
        "tram.yaml": "floors: [{metric: AP50, class_name: tram, at_least: 0.5}]\n",
        "fog.yaml": "slices: [{name: fog, required: true}]\n",
        "absent.yaml": "regressions: [absent.json]\n",
        "folder.yaml": "regressions: [folder.json]\n",
        "deep.yaml": "regressions: [deep.json]\n",
        "wrong.yaml": "regressions: [new.json]\n",
        "digest.yaml": f"regressions: ['{'0' * 64}']\n",
    }


@pytest.fixture
def folder(texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.json").mkdir()
    return tmp_path


def told(capsys, *words):
    """The exit code, and the one line on stderr."""
    code, _, said = call(capsys, *words)
    assert "Traceback" not in said
    return code, said


def gate(champion="champion.json", policy="policy.yaml", challenger="new.json"):
    return ("gate", "--challenger", challenger, "--champion", champion, "--policy", policy)


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (gate(challenger="deep.json"), 1, "deep.json is no JSON of an evaluation or a report: maximum recursion"),
        (gate(policy="deep.yaml"), 1, "deep.json is no regression set"),
        (("report", "diff", "deep.json", "report.json"), 1, "deep.json is no report.json of a validation"),
        (("regressions", "deep.json", "--name", "x"), 1, "deep.json is no report of a run"),
        (gate(policy="nothing.yaml"), 3, "There is no file 'nothing.yaml'"),
        (gate(policy="empty.yaml"), 2, "empty.yaml is empty"),
        (gate(policy="syntax.yaml"), 2, "syntax.yaml:1: no YAML"),
        (gate(policy="metric.yaml"), 2, "metric.yaml:1: metric: must be AP or AP50 or AP75 or AR100, got 'AP51'"),
        (gate(policy="tram.yaml"), 2, "tram"),
        (gate(policy="fog.yaml"), 2, "names the slice 'fog'; the hold-out has"),
        (gate(policy="absent.yaml"), 3, "There is no regression set 'absent.json'"),
        (gate(policy="wrong.yaml"), 1, "new.json is no regression set"),
        (gate(policy="digest.yaml"), 3, "There is no regression set 000000000000 in file://"),
        (gate("nothing.json"), 3, "nothing.json: there is no such file"),
        (gate("cut.json"), 1, "cut.json is no JSON of an evaluation or a report"),
        (gate("list.json"), 1, "list.json holds no matches"),
        (gate("null.json"), 1, "null.json holds no matches"),
        (gate("hollow.json"), 1, "hollow.json holds no matches"),
        (gate("other.json"), 1, "and frames, drive groups, classes, labels or slices differ"),
        (("regressions", "nothing.json", "--name", "x"), 3, "nothing.json: there is no such file"),
        (("regressions", "cut.json", "--name", "x"), 1, "cut.json is no report of a run"),
        (("regressions", "folder.json", "--name", "x"), 1, "folder.json is no report of a run (report.json): Is a dir"),
        (("regressions", "new.json", "--name", "x"), 1, "it tells no changes against a champion"),
        (("regressions", "list.json", "--name", "x"), 1, "it tells no changes against a champion"),
        (("regressions", "hollow.json", "--name", "x"), 1, "hollow.json is no whole report of a run"),
        (
            ("regressions", "huge.json", "--name", "x"),
            1,
            "huge.json is no whole report of a run (report.json): Overflow",
        ),
        (("report", "show", "hollow.json"), 1, "hollow.json is no whole report.json of a validation: it does not say"),
        (("report", "show", "letters.json"), 1, "it does not say 'outcome'"),
        (("regressions", "first.json", "--name", "x"), 1, "first.json judges a model without a champion"),
        (("regressions", "report.json", "--name", " "), 2, "--name is what the gate calls the set"),
        (("regressions", "report.json", "--name", "x", "--class", "tram"), 1, "shows no object of class tram"),
        (
            ("regressions", "report.json", "--name", "x", "--mistake", "Bkg"),
            2,
            "choose among false alarms; say --what fals",
        ),
        (
            ("regressions", "report.json", "--name", "x", "--min-score", "0.5"),
            2,
            "--mistake and --min-score choose among",
        ),
        (gate(policy="folder.yaml"), 3, "There is no regression set 'folder.json': a folder is none"),
        (("report", "diff", "report.json", "nothing.json"), 3, "nothing.json: there is no such file"),
        (("report", "diff", "report.json", "folder.json"), 3, "folder.json: there is no such file"),
        (("report", "diff", "report.json", "run-9"), 3, "There is no ledger at"),
        (("report", "show", "nothing.json"), 3, "nothing.json: there is no such file"),
        (("report", "open", "some/page.html"), 3, "some/page.html: there is no such file"),
        (("report", "diff", "report.json", "cut.json"), 1, "cut.json is no report.json of a validation"),
        (("report", "diff", "report.json", "new.json"), 1, "new.json is no report.json of a validation"),
        (("report", "diff", "report.json", "old.json"), 1, "old.json has form 1"),
        (("report", "diff", "report.json", "hollow.json"), 1, "is no whole report.json of a validation"),
        (("report", "diff", "report.json", "words.json"), 1, "AP is 'high', which is no number"),
        (("report", "diff", "report.json", "moved.json"), 1, "stand on different hold-outs"),
        (("validate-data", "nothing"), 3, "has a tag or an id that begins with 'nothing'"),
        (("validate-data", "file:///nowhere"), 3, "There is no snapshot at file:///nowhere"),
        (("validate-data", "s3://"), 2, "names no bucket"),
        (("validate-data", "x", "--policy", "syntax.yaml"), 2, "syntax.yaml:1: no YAML"),
        (("validate-data", "x", "--policy", "metric.yaml"), 2, 'metric.yaml:1: metric: unknown key "metric"'),
        (("models", "set-aside", "city", "--why", "x", "--until", "2026-12-24"), 3, "There is no ledger at"),
        (("models", "set-aside", "city", "--why", " ", "--until", "2026-12-24"), 2, "a name and a reason would do"),
        (("models", "set-aside", "city", "--why", "x", "--until", "soon"), 2, "'soon' is no moment"),
        (("models", "set-aside", "city", "--why", "x", "--until", "0001-01-01T00:00+10:00"), 2, "is no moment"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_said_in_one_line_with_its_exit_code(folder, capsys, words, code, line):
    left, said = told(capsys, *words)

    assert left == code
    assert line in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("gate", "--challenger", "new.json"),
        gate("folder.json"),
        ("regressions", "report.json"),
        ("regressions", "report.json", "--name", "x", "--to", "folder.json"),
        ("report", "diff", "report.json"),
        ("validate-data",),
        ("validate-data", "x", "-o", "xml"),
        ("models", "set-aside", "city", "--why", "x"),
        ("models", "sweep", "--keep-days", "999999999"),
    ],
    ids=" ".join,
)
def test_a_call_without_what_it_needs_is_exit_code_two(folder, capsys, words):
    assert told(capsys, *words)[0] == 2


def test_a_flow_without_a_gate_judges_as_its_runs_do(folder, capsys):
    code, out, _ = call(capsys, *gate("new.json", policy="flow.yaml"), "-o", "json")

    assert code == 0
    assert json.loads(out)["nothing_new"]
    assert call(capsys, "gate", "--challenger", "new.json", "--policy", "flow.yaml")[0] == 5


@pytest.fixture
def registry(folder):
    place = place_from(folder / ".driveflow")
    return Registry(open_ledger(place.ledger_url()), place.store)


def _until(days):
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def test_a_champion_is_set_aside_with_an_end_within_ninety_days(registry, capsys):
    promoted(registry, "a")

    for days, code in ((-1, 2), (91, 2), (30, 0)):
        left, said = told(capsys, "models", "set-aside", MODEL, "--why", "gone", "--until", _until(days))
        assert left == code
        assert (code == 0) == (said == "")
        assert code == 0 or "a moment within the next 90 days" in said


def test_without_a_champion_there_is_nothing_to_set_aside(registry, capsys):
    registered(registry, "a")

    for model in (MODEL, "nobody"):
        code, said = told(capsys, "models", "set-aside", model, "--why", "gone", "--until", _until(3))
        assert code == 3
        assert f"{model} has no champion that could be set aside" in said
