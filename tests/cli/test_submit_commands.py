import json

import pytest

from cli.main import main
from tests.fake_kfp import fake_kfp

FLOW = "name: roads\nclasses: [car]\nbatches: [data/a]\nschedule: {cron: 0 2 * * 1, pipeline: retrain}\n"
PROFILE = """\
profile: kfp
data_root: s3://recordings
store: s3://driveflow/store
ledger: env:DRIVEFLOW_LEDGER
image: registry.example.com/driveflow-python
secret_name: driveflow
secrets: [DRIVEFLOW_LEDGER]
kfp: {host: HOST, service_account: runner, pipeline_root: "s3://driveflow/kfp"}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A flow file with a profile of a fake server that still remembers."""
    monkeypatch.setattr("kfp.client.client.Client._LOCAL_KFP_CONTEXT", str(tmp_path / "context.json"))
    monkeypatch.delenv("KF_PIPELINES_UI_ENDPOINT", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "profiles").mkdir()
    with fake_kfp() as fake:
        (tmp_path / "profiles" / "kfp.yaml").write_text(PROFILE.replace("HOST", fake.url))
        yield fake


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def test_submit_says_run_version_and_parameters_as_json(place, capsys):
    code, out, err = call(capsys, "submit", "flow.yaml", "-p", "curate", "--set", "budget_frames=7", "-o", "json")

    value = json.loads(out)
    kept = place.runs[value["run_id"]]
    assert (code, err) == (0, "")
    assert value["state"] == "PENDING"
    assert value["parameters"] == {"data_root": "s3://recordings", "budget_frames": 7}
    assert kept["runtime_config"] == {"parameters": value["parameters"], "pipeline_root": "s3://driveflow/kfp"}
    assert kept["service_account"] == "runner"
    assert kept["display_name"].startswith("roads curate 20")
    assert [item["display_name"] for item in place.versions.values()] == ["roads-curate", value["version"]]


def test_submitting_the_same_flow_twice_runs_the_same_version(place, capsys):
    runs = [json.loads(call(capsys, "submit", "flow.yaml", "-p", "curate", "-o", "json")[1]) for _ in range(2)]

    assert runs[0]["version"] == runs[1]["version"]
    assert runs[0]["run_id"] != runs[1]["run_id"]
    assert len(place.versions) == 2


def test_submit_and_wait_tells_the_states_on_the_way(place, capsys):
    code, out, err = call(capsys, "submit", "flow.yaml", "-p", "retrain", "--wait")

    assert code == 0
    assert "ended: SUCCEEDED" in out
    assert [line.split()[-1] for line in err.splitlines()[1:]] == ["PENDING", "RUNNING", "SUCCEEDED"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (("RUNNING", "FAILED"), "ended as FAILED: train_model: out of memory"),
        (("RUNNING", "CANCELING", "CANCELED"), "ended as CANCELLED"),
    ],
)
def test_a_run_that_ends_badly_is_exit_1_and_still_json(place, capsys, script, says):
    place.script = script

    code, out, err = call(capsys, "submit", "flow.yaml", "-p", "retrain", "--wait", "-o", "json")

    assert code == 1
    assert json.loads(out)["state"] in {"FAILED", "CANCELLED"}
    assert says in err.splitlines()[-1]


def test_schedule_takes_five_fields_of_the_flow_and_replaces_itself(place, capsys):
    _, first, _ = call(capsys, "schedule", "flow.yaml", "-o", "json")
    code, second, _ = call(capsys, "schedule", "flow.yaml", "--cron", "30 1 * * sat", "-o", "json")

    (kept,) = place.recurring_runs.values()
    assert code == 0
    assert json.loads(first)["kfp_cron"] == "0 0 2 * * 1"
    assert json.loads(second)["replaced"] == [json.loads(first)["schedule_id"]]
    assert kept["trigger"]["cron_schedule"]["cron"] == "0 30 1 * * sat"
    assert kept["display_name"] == "roads-retrain"


def test_a_schedule_of_six_fields_is_refused_before_the_server_is_asked(place, capsys):
    code, _, err = call(capsys, "schedule", "flow.yaml", "--cron", "0 0 2 * * 1")

    assert code == 2
    assert err.startswith("driveflow: a schedule has 5 fields")
    assert place.requests == []


def test_cancel_is_seen_as_cancelled(place, capsys):
    place.script = ("RUNNING",)
    run_id = json.loads(call(capsys, "submit", "flow.yaml", "-p", "curate", "-o", "json")[1])["run_id"]

    code, out, _ = call(capsys, "cancel", run_id, "--wait", "-o", "json")

    assert code == 0
    assert json.loads(out)["state"] == "CANCELLED"
    assert call(capsys, "cancel", run_id)[1].strip().endswith("had already ended: CANCELLED")


def test_cancelling_an_unknown_run_is_exit_3(place, capsys):
    code, _, err = call(capsys, "cancel", "run-x")

    assert code == 3
    assert len(err.splitlines()) == 1


def test_the_local_profile_has_no_server(place, capsys):
    code, _, err = call(capsys, "submit", "flow.yaml", "--profile", "local")

    assert code == 2
    assert err == "driveflow: the local profile has no KFP server; --profile kfp would do\n"


def test_an_unknown_parameter_is_exit_2(place, capsys):
    code, _, err = call(capsys, "submit", "flow.yaml", "-p", "curate", "--set", "budget=7")

    assert code == 2
    assert "budget_frames" in err


def test_a_local_data_root_is_refused_as_in_a_profile(place, capsys, tmp_path):
    code, _, err = call(capsys, "submit", "flow.yaml", "-p", "curate", "--set", f"data_root={tmp_path}")

    assert code == 2
    assert f"data_root {tmp_path.as_uri()}: a local folder that no two pods share" in err
    assert not place.runs


def test_compile_writes_the_yaml_that_submit_uploads(place, capsys, tmp_path):
    assert call(capsys, "compile", "flow.yaml", "-p", "curate", "-o", "curate.yaml")[0] == 0
    printed = call(capsys, "compile", "flow.yaml", "-p", "curate")[1]
    value = json.loads(call(capsys, "compile", "flow.yaml", "-p", "curate", "-o", "json")[1])
    version = json.loads(call(capsys, "submit", "flow.yaml", "-p", "curate", "-o", "json")[1])["version"]

    assert (tmp_path / "curate.yaml").read_text() == value["package"]
    assert printed.strip() == value["package"].strip()
    assert value["digest"].startswith(version)


def test_a_file_that_compile_cannot_write_is_named(place, capsys):
    code, _, err = call(capsys, "compile", "flow.yaml", "-p", "curate", "-o", ".")

    assert code == 1
    assert err == "driveflow: . cannot be written: Is a directory; name another file by --output.\n"
