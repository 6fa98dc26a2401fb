import socket
import threading
import time
from contextlib import contextmanager

import pytest

from driveflow.errors import InvalidInputError, NotFoundError, ServiceUnavailableError, UsageError
from driveflow.flow.profile import KfpSection
from pipelines.kfp_client import KfpServer
from pipelines.kfp_connection import connect
from tests.fake_kfp import fake_kfp

PACKAGE = """\
pipelineInfo: {name: roads-retrain}
root:
  dag: {tasks: {}}
  inputDefinitions:
    parameters:
      data_root: {parameterType: STRING}
      flow: {parameterType: STRING, defaultValue: "{}"}
      seed: {parameterType: NUMBER_INTEGER, defaultValue: -1, isOptional: true}
schemaVersion: 2.1.0
---
platforms: {}
"""
PARAMETERS = {"data_root": "s3://b/root", "seed": 2}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Keep kfp away from the user's own settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("kfp.client.client.Client._LOCAL_KFP_CONTEXT", str(tmp_path / "context.json"))
    for name in ("KF_PIPELINES_ENDPOINT", "KF_PIPELINES_UI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@contextmanager
def reached(**settings):
    with fake_kfp(**settings) as fake:
        yield fake, KfpServer(KfpSection(host=fake.url))


def test_a_run_is_of_a_version_named_by_its_digest_with_readable_parameters():
    with reached() as (fake, server):
        published = server.publish("roads-retrain", PACKAGE)

        run = server.start(published, "roads retrain 2026-11-29", PARAMETERS)

    kept = fake.runs[run.run_id]
    assert fake.versions[published.version_id]["display_name"] == published.version
    assert len(published.version) == 32
    assert kept["pipeline_version_reference"]["pipeline_version_id"] == published.version_id
    assert kept["runtime_config"]["parameters"] == PARAMETERS
    assert run.url == f"{fake.url}/#/runs/details/{run.run_id}"
    assert [item["display_name"] for item in fake.experiments.values()] == ["driveflow"]


def test_the_same_yaml_is_uploaded_once_and_other_yaml_is_another_version_of_the_pipeline():
    with reached() as (fake, server):
        first = server.publish("roads-retrain", PACKAGE)
        again = server.publish("roads-retrain", PACKAGE)
        other = server.publish("roads-retrain", PACKAGE + "# changed\n")

    assert (first.version_id, first.is_new) == (again.version_id, True)
    assert not again.is_new
    assert (other.pipeline_id, other.is_new) == (first.pipeline_id, True)
    assert other.version_id != first.version_id
    assert len(fake.pipelines) == 1


@pytest.mark.parametrize("listing", ["/pipelines", "/versions"])
def test_somebody_who_uploads_at_the_same_time_is_no_error(listing):
    with reached() as (fake, server):
        theirs = server.publish("roads-retrain", PACKAGE)
        fake.faults.append((listing, 200, {}))  # the list was read before they came

        ours = server.publish("roads-retrain", PACKAGE)

    assert ours.version_id == theirs.version_id
    assert len(fake.pipelines) == 1


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (("PENDING", "RUNNING", "SUCCEEDED"), "SUCCEEDED"),
        (("PENDING", "RUNNING", "FAILED"), "FAILED"),
        (("RUNNING", "SKIPPED"), "SKIPPED"),
        (("RUNNING", "CANCELING", "CANCELED"), "CANCELLED"),
        (("RUNTIME_STATE_UNSPECIFIED", "PAUSED", "RUNNING", "SUCCEEDED"), "SUCCEEDED"),
    ],
)
def test_waiting_ends_with_every_way_a_run_can_end(script, state):
    seen = []
    with reached(script=script) as (_, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        ended = server.wait(run.run_id, lambda run: seen.append(run.state), timeout_s=30)

    assert ended.state == state
    assert seen[-1] == state
    assert len(seen) == len(set(seen))


def test_a_failed_run_names_its_failed_task():
    with reached(script=("FAILED",)) as (_, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        assert server.run(run.run_id).failed == ("train_model: out of memory",)


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "CANCELED"])
def test_ac_o8_what_a_node_of_the_graph_says_does_not_decide_how_a_run_ended(state):
    nodes = [{"display_name": "for-loop-1", "state": "RUNNING"}, {"display_name": "exit-handler-1", "state": "PENDING"}]
    with reached(script=("RUNNING", state)) as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)
        fake.runs[run.run_id]["run_details"] = {"task_details": nodes}

        ended = server.wait(run.run_id, lambda run: None, timeout_s=30)

    assert ended.state == state.replace("CANCELED", "CANCELLED")


def test_waiting_survives_a_server_that_is_away_for_a_moment():
    with reached() as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)
        fake.faults += [("", 503, "busy")] * 3

        assert server.wait(run.run_id, lambda _: None, timeout_s=30).state == "SUCCEEDED"


def test_waiting_gives_up_on_a_server_that_stays_away():
    with reached() as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)
        fake.faults += [("", 503, "busy")] * 50

        with pytest.raises(ServiceUnavailableError, match="failed: busy"):
            server.wait(run.run_id, lambda _: None, timeout_s=30)


def test_waiting_has_an_end():
    with reached(script=("RUNNING",)) as (_, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        with pytest.raises(ServiceUnavailableError, match=r"has not ended after 0\.3 s: RUNNING"):
            server.wait(run.run_id, lambda _: None, timeout_s=0.3)


def test_a_cancelled_run_is_seen_as_cancelled():
    with reached(script=("RUNNING",)) as (_, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        assert server.cancel(run.run_id).state == "CANCELLING"
        assert server.wait(run.run_id, lambda _: None, timeout_s=30).state == "CANCELLED"


def test_a_run_that_has_ended_is_not_cancelled():
    with reached(script=("SUCCEEDED",)) as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        assert server.cancel(run.run_id).state == "SUCCEEDED"
    assert not [request for request in fake.requests if "terminate" in request]


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "CANCELED"])
def test_a_run_that_ends_while_it_is_cancelled_is_left_as_it_ended(state):
    with reached(script=("RUNNING", state)) as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

        assert server.cancel(run.run_id).has_ended  # it ran when it was looked at, and the server refused to stop it
    assert [request for request in fake.requests if "terminate" in request]


def test_a_server_that_refuses_to_stop_a_run_that_goes_on_is_told():
    with reached(script=("RUNNING",)) as (fake, server):
        run = server.start(server.publish("p", PACKAGE), "r", PARAMETERS)
        fake.faults.append((":terminate", 403, {"message": "not yours"}))

        with pytest.raises(InvalidInputError, match="does not allow this"):
            server.cancel(run.run_id)


def test_ac_o3_a_schedule_has_six_fields_one_run_at_a_time_no_catch_up_and_a_pinned_version():
    with reached() as (fake, server):
        published = server.publish("p", PACKAGE)

        made = server.schedule(published, "roads-retrain", "0 2 * * 1", PARAMETERS)

        kept = fake.recurring_runs[made.schedule_id]
        assert kept["trigger"]["cron_schedule"]["cron"] == "0 0 2 * * 1"
        assert (kept["max_concurrency"], kept["no_catchup"], kept["mode"]) == (1, True, "ENABLE")
        assert kept["pipeline_version_reference"]["pipeline_version_id"] == published.version_id
        assert fake.fire(made.schedule_id)["runtime_config"]["parameters"] == PARAMETERS


def test_scheduling_again_replaces_every_schedule_of_that_name_and_no_other():
    with reached() as (fake, server):
        published = server.publish("p", PACKAGE)
        other = server.schedule(published, "roads-curate", "0 3 * * *", PARAMETERS)
        first = server.schedule(published, "roads-retrain", "0 2 * * 1", PARAMETERS)
        source = fake.recurring_runs[first.schedule_id]
        for number in range(3):  # left by calls that did not come to their end
            fake.recurring_runs[f"old-{number}"] = {**source, "recurring_run_id": f"old-{number}"}

        made = server.schedule(published, "roads-retrain", "30 1 * * sat", PARAMETERS)

    assert set(made.replaced) == {first.schedule_id, "old-0", "old-1", "old-2"}
    assert set(fake.recurring_runs) == {other.schedule_id, made.schedule_id}


def test_a_schedule_that_is_refused_leaves_the_old_one():
    with reached() as (fake, server):
        published = server.publish("p", PACKAGE)
        first = server.schedule(published, "roads", "0 2 * * 1", PARAMETERS)

        with pytest.raises(UsageError, match="day of week"):
            server.schedule(published, "roads", "0 2 * * 7", PARAMETERS)
        with pytest.raises(InvalidInputError, match="parameter sede is not in the pipeline"):
            server.schedule(published, "roads", "0 2 * * 2", {**PARAMETERS, "sede": 1})

    assert set(fake.recurring_runs) == {first.schedule_id}


def test_a_parameter_the_pipeline_does_not_know_is_refused_in_the_servers_words():
    with (
        reached() as (_, server),
        pytest.raises(InvalidInputError, match="refuses: parameter seed must be NUMBER_INTEGER"),
    ):
        server.start(server.publish("p", PACKAGE), "r", {**PARAMETERS, "seed": "two"})


@pytest.mark.parametrize("run_id", ["", " ", "../pipelines", "a/b", "run?x=1"])
def test_what_cannot_be_the_id_of_a_run_is_asked_of_no_server(run_id):
    with reached() as (fake, server), pytest.raises(NotFoundError, match="is no id of a run"):
        server.cancel(run_id)
    assert not [request for request in fake.requests if "/runs" in request]


def test_an_unknown_run_is_not_found():
    with (
        reached() as (fake, server),
        pytest.raises(NotFoundError, match="does not know it: Run run-x not found") as caught,
    ):
        server.run("run-x")
    assert caught.value.exit_code == 3
    assert fake.url in str(caught.value)


def test_a_server_that_is_not_there_is_one_line_at_once(capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_s = time.monotonic()

    with pytest.raises(ServiceUnavailableError) as caught:
        connect(KfpSection(host=f"http://127.0.0.1:{port}"))

    assert (
        str(caught.value) == f"the KFP server http://127.0.0.1:{port} cannot be reached: [Errno 111] Connection refused"
    )
    assert time.monotonic() - start_s < 5
    assert capfd.readouterr() == ("", "")


def test_a_server_that_never_answers_is_given_up():
    with fake_kfp(stall_s=3.0) as fake, pytest.raises(ServiceUnavailableError, match=r"read timeout=0\.2"):
        connect(KfpSection(host=fake.url), read_timeout_s=0.2)


@pytest.mark.parametrize(
    ("token", "status", "says"), [("", 401, "wants a login; kfp: {token: env:NAME}"), ("no", 403, "allow")]
)
def test_a_login_that_is_missing_or_wrong_is_one_line(monkeypatch, token, status, says):
    monkeypatch.setenv("TOKEN_OF_TEST", token or "unused")

    with fake_kfp(token="right") as fake, pytest.raises(InvalidInputError) as caught:
        connect(KfpSection(host=fake.url, token="env:TOKEN_OF_TEST" if token else ""))

    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(fake.requests) == 1


def test_the_token_is_read_from_the_variable(monkeypatch):
    monkeypatch.setenv("TOKEN_OF_TEST", "right")

    with fake_kfp(token="right") as fake:
        assert KfpServer(KfpSection(host=fake.url, token="env:TOKEN_OF_TEST")).publish("p", PACKAGE).is_new


def test_a_token_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("TOKEN_OF_TEST", raising=False)

    with pytest.raises(UsageError, match="names the variable TOKEN_OF_TEST, which is not set"):
        connect(KfpSection(host="http://localhost", token="env:TOKEN_OF_TEST"))


def test_a_login_page_is_not_taken_for_a_server():
    with fake_kfp() as fake:
        fake.faults.append(("", 200, "<html>please log in</html>"))

        with pytest.raises(InvalidInputError, match="answers with text/html: a login page, or no KFP server"):
            connect(KfpSection(host=fake.url))


def test_a_server_for_many_users_wants_a_namespace_and_then_keeps_to_it(home):
    with fake_kfp(multi_user=True) as fake:
        with pytest.raises(UsageError, match=r"has many users; kfp: \{namespace:"):
            connect(KfpSection(host=fake.url))
        ours, theirs = (KfpServer(KfpSection(host=fake.url, namespace=team)) for team in ("team-a", "team-b"))
        first, second = ours.publish("p", PACKAGE), theirs.publish("p", PACKAGE)

    assert first.pipeline_id != second.pipeline_id
    assert not (home / "context.json").exists()


def test_no_server_at_all_is_said():
    with pytest.raises(UsageError, match="the profile names no KFP server"):
        connect(KfpSection())


def test_a_certificate_that_is_not_there_is_named():
    with pytest.raises(NotFoundError, match=r"no certificate file '/none\.pem'"):
        connect(KfpSection(host="https://localhost", ca_certificate="/none.pem"))


def test_nothing_is_printed_and_no_thread_is_left(capfd):
    before = threading.active_count()
    with reached() as (_, server):
        server.start(server.publish("p", PACKAGE), "r", PARAMETERS)

    assert capfd.readouterr() == ("", "")
    assert threading.active_count() == before
