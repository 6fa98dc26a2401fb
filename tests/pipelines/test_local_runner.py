"""The hardened local runner."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driveflow.errors import UsageError
from driveflow.place import Place
from driveflow.processes import spawn
from pipelines.local_run import RunRequest, run_locally
from pipelines.local_shim import replace_interpreter
from pipelines.workspace import locked
from tests.pipelines import toy_pipelines as toys

pytestmark = pytest.mark.filterwarnings("ignore")


def _run(folder: Path, pipeline: object, parameters: dict[str, str]) -> tuple[int, list[dict]]:
    toys.write(pipeline, folder)
    (folder / "parameters.json").write_text(json.dumps(parameters))
    reading, writing = os.pipe()
    argv = [sys.executable, "-m", "pipelines.local_child", str(folder), str(writing), str(writing)]
    with (folder / "runner.log").open("wb") as log:
        child = spawn(argv, stdout=log, pass_fds=(writing,))
    os.close(writing)
    with os.fdopen(reading) as events:
        heard = [json.loads(line) for line in events]
    return child.wait(), heard


@pytest.mark.parametrize("name", ["run_local_subprocess", "replace_python_executable"])
def test_kfp_still_has_the_function_of_its_task_handler_that_we_replace(name):
    from kfp.local import subprocess_task_handler

    assert name in inspect.getsource(subprocess_task_handler.SubprocessTaskHandler.run)


@pytest.mark.parametrize("name", ["indented_print", "local_logger_context"])
def test_kfp_still_has_the_context_that_we_replace(name):
    from kfp.local import logging_utils

    assert callable(getattr(logging_utils, name))


def test_kfp_still_has_the_condition_evaluator_that_we_make_strict():
    from kfp.local.orchestrator.enhanced_dag_orchestrator import ConditionEvaluator

    assert list(inspect.signature(ConditionEvaluator.evaluate_condition).parameters) == ["condition", "io_store"]


@pytest.mark.parametrize("text", ["/data/python3/x", 'with "quotes" and \\ and \n a line', "日本 🚗", "x" * 50_000])
def test_a_parameter_arrives_as_it_was_given(tmp_path, text):
    folder = tmp_path / "python3 run"
    folder.mkdir()

    code, _ = _run(folder, toys.echoing, {"text": text, "folder": str(folder)})

    assert code == 0
    assert (folder / "echo.txt").read_text() == text


def test_every_step_has_a_log_and_says_when_it_began_and_ended(tmp_path):
    _, heard = _run(tmp_path, toys.echoing, {"text": "hi", "folder": str(tmp_path)})

    assert "echo says hello" in (tmp_path / "logs" / "echo.log").read_text()
    assert [event["event"] for event in heard] == ["step_started", "step_finished", "finished"]


def test_a_note_is_heard_while_the_run_goes_on_and_stays_in_the_log(tmp_path):
    _, heard = _run(tmp_path, toys.remarking, {"text": "nothing will judge a model"})

    assert [event["note"] for event in heard if event["event"] == "note"] == ["nothing will judge a model"]
    assert "nothing will judge a model" in (tmp_path / "logs" / "remark.log").read_text()


def test_ac_o30_a_condition_that_cannot_be_decided_fails_the_run(tmp_path):
    code, heard = _run(tmp_path, toys.choosing, {"text": "it's", "folder": str(tmp_path)})

    assert code == 1
    assert heard[-1]["state"] == "FAILED"
    assert "cannot be decided" in heard[-1]["error"]


def test_the_interpreter_is_replaced_in_the_shell_line_alone():
    line = 'program_path=$(mktemp -d); python3 -m kfp.dsl.executor_main "$@"'

    replaced = replace_interpreter(["sh", "-ec", line, "source of python3", '{"a": "python3"}'], "/venv/python")

    assert replaced == ["sh", "-ec", line.replace("python3", "/venv/python"), "source of python3", '{"a": "python3"}']


_PARENT = """
import os, sys
from driveflow.errors import UsageError
from driveflow.place import Place
from driveflow.processes import spawn
reading, writing = os.pipe()
child = spawn([sys.executable, "-m", "pipelines.local_child", sys.argv[1], str(writing), str(writing)],
              stdout=open(sys.argv[1] + "/runner.log", "wb"), pass_fds=(writing,))
child.wait()
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_no_step_outlives_whoever_started_the_run(tmp_path, sign):
    toys.write(toys.sleeping, tmp_path)
    (tmp_path / "parameters.json").write_text(json.dumps({"folder": str(tmp_path)}))
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path)])
    pid = int(_wait_for(tmp_path / "pid"))

    parent.send_signal(sign)
    parent.wait()

    assert _is_gone(pid)


def test_ac_o7_a_log_can_be_read_while_its_step_runs_and_is_there_when_the_step_was_killed(tmp_path):
    toys.write(toys.sleeping, tmp_path)
    (tmp_path / "parameters.json").write_text(json.dumps({"folder": str(tmp_path)}))
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path)])
    pid = int(_wait_for(tmp_path / "pid"))

    while_running = _wait_for(tmp_path / "logs" / "sleep.log")
    os.kill(pid, signal.SIGKILL)
    parent.wait()

    assert "sleep says good night" in while_running
    assert (tmp_path / "logs" / "sleep.log").read_text().startswith(while_running)


@pytest.mark.parametrize("name", ["link to nothing", "folder as lock"])
def test_a_workspace_that_cannot_be_used_is_a_usage_error_that_names_it(tmp_path, name):
    (tmp_path / "link to nothing").symlink_to(tmp_path / "gone")
    (tmp_path / "folder as lock" / "run.lock").mkdir(parents=True)

    with pytest.raises(UsageError, match=f"No run can use the workspace .*/{name} "), locked(tmp_path / name):
        pass


def test_a_file_in_the_place_of_the_folder_of_runs_is_named(tmp_path):
    (tmp_path / "runs").write_text("no folder")
    place = Place("local", (tmp_path / "store").as_uri(), f"sqlite:///{tmp_path}/ledger.db", str(tmp_path / "scratch"))
    request = RunRequest("flow", "curate", "", {}, tmp_path, place)

    with pytest.raises(UsageError, match=f"No run can use the workspace {tmp_path} .*/runs/curate-"):
        run_locally(request, lambda _: None)
    assert not (tmp_path / "ledger.db").exists()


def test_a_second_run_in_a_workspace_is_told_who_holds_it(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(Exception, match="Another run uses the workspace"),
        locked(tmp_path, wait_s=0.1),
    ):
        pass


def _wait_for(path: Path) -> str:
    for _ in range(600):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


def _is_gone(pid: int) -> bool:
    for _ in range(100):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        time.sleep(0.05)
    return False
