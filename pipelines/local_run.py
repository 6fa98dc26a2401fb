"""Run a pipeline of a flow on this machine, from the same compiled YAML that a cluster takes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from driveflow.errors import DriveflowError, LedgerError
from driveflow.ledger.ledger import Ledger, open_ledger
from driveflow.ledger.rows import RunRow, State, StepRow
from driveflow.place import PLACE_VARIABLE, Place
from driveflow.processes import spawn, stop_group
from driveflow.steps import RUN_VARIABLE, told_error
from driveflow.storage.objects import local_path
from pipelines.sweep import sweep
from pipelines.workspace import locked, made_in, new_run_id

STEPS = (
    "plan_run",
    "import_batches",
    "merge_batches",
    "fingerprint_frames",
    "filter_frames",
    "find_corner_cases",
    "hand_off_frames",
    "decide_training",
    "collect_labels",
    "build_training_set",
    "validate_data",
    "train_model",
    "validate_model",
    "promote_model",
)
"""Every step, in the order of the flow."""

_STOPPED = 130  # as a shell says of a program that Ctrl-C ended

_WORD_BYTES = 64 << 10  # a step that ends with less than this on its disk could not say why
_WAS_KILLED = "the run was killed"
_WAS_STOPPED = "the run was stopped"

OnEvent: TypeAlias = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: a compiled pipeline with its parameters, in a workspace."""

    flow: str
    pipeline: str
    package: str  # compiled YAML
    parameters: Mapping[str, Any]
    workspace: Path
    place: Place


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended, as its steps recorded it; `failure` is what the failing step said."""

    run_id: str
    state: State
    folder: Path
    steps: tuple[StepRow, ...]
    failure: Mapping[str, Any] = field(default_factory=dict)


def run_locally(request: RunRequest, on_event: OnEvent) -> RunOutcome:
    """Run the pipeline to its end and return how it ended; `on_event` hears of every step and its progress."""
    with locked(request.workspace) as lock, _stopped_by_any_signal():
        run_id = new_run_id(request.pipeline)
        folder = request.workspace / "runs" / run_id
        with made_in(request.workspace):
            _prepare(request, folder)
        ledger = open_ledger(request.place.ledger_url())
        _close_abandoned(ledger, request)
        shown = {name: value for name, value in request.parameters.items() if name != "flow"}
        ledger.begin_run(
            RunRow(
                run_id=run_id,
                flow=request.flow,
                pipeline=request.pipeline,
                profile=request.place.profile,
                params={**shown, "folder": str(folder)},
            )
        )
        last, failure = _follow(request, folder, lock, on_event)
        last = _keep_pages(folder, last)
        state, steps = _settle(ledger, (run_id, request.pipeline), last, failure)
        return RunOutcome(run_id, state, folder, steps, failure)


@contextmanager
def _stopped_by_any_signal() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop a run as Ctrl-C does, so that its end is recorded; what is ignored stays ignored."""
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare(request: RunRequest, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(request.package, encoding="utf-8")
    (folder / "parameters.json").write_text(json.dumps(dict(request.parameters)), encoding="utf-8")


def _close_abandoned(ledger: Ledger, request: RunRequest) -> None:
    """Say of runs whose processes are gone that they failed: the lock is ours, so nobody else runs here."""
    for run in ledger.runs(limit=20):
        if run.state == "RUNNING" and run.params.get("folder") == str(request.workspace / "runs" / run.run_id):
            _close_steps(ledger, run.run_id, "FAILED", _WAS_KILLED)
            ledger.finish_run(run.run_id, "FAILED", {"error": _WAS_KILLED})
    sweep(request.workspace, filter(None, (Path(request.place.scratch), local_path(request.place.store))))


def _close_steps(ledger: Ledger, run_id: str, state: State, error: str) -> None:
    """Say of the steps that still seem to run how they ended."""
    for step in ledger.steps(run_id):
        if step.state == "RUNNING":
            ledger.finish_step(run_id, step.step, StepRow(state=state, error=error))


def _follow(
    request: RunRequest, folder: Path, lock: int, on_event: OnEvent
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Start the runner's process, pass its events on, and return its last event and the first failure of a step."""
    reading, writing = os.pipe()
    child = _start(request, folder, (writing, lock))
    os.close(writing)
    last: Mapping[str, Any] = {"event": "finished", "state": "FAILED", "error": "the runner's process ended early"}
    failure: dict[str, Any] = {}
    try:
        with os.fdopen(reading, encoding="utf-8") as events:
            for line in events:
                event = json.loads(line)
                on_event(event)
                if event["event"] == "step_started":
                    last = {**last, "error": f"the runner's process ended early, at {event['step']}"}
                if event["event"] == "finished":
                    last = event
                if event["event"] == "step_failed" and not failure:
                    failure = event
                if event["event"] == "step_finished" and event["code"] and not failure:
                    failure = {"step": event["step"], "message": _without_a_word(event["code"], folder)}
        child.wait()
    except KeyboardInterrupt:
        last = {"event": "finished", "state": "CANCELLED", "error": _WAS_STOPPED}
    finally:
        stop_group(child)
    return last, failure


def _without_a_word(code: int, folder: Path) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    if shutil.disk_usage(folder).free < _WORD_BYTES:
        return f"ended without a word ({how}): there is no space left on the disk of {folder}, not even for its log"
    return f"ended without a word ({how}); its log says why"


def _start(request: RunRequest, folder: Path, descriptors: tuple[int, int]) -> "subprocess.Popen[bytes]":
    env = {
        **os.environ,
        PLACE_VARIABLE: request.place.to_text(),
        RUN_VARIABLE: folder.name,
        "PYTHONUNBUFFERED": "1",
        "KFP_DISABLE_EXECUTION_CACHING_BY_DEFAULT": "true",
    }
    argv = [sys.executable, "-m", "pipelines.local_child", str(folder), str(descriptors[0]), str(descriptors[1])]
    with (folder / "runner.log").open("ab") as log:
        return spawn(argv, env=env, stdout=log, pass_fds=descriptors)


def _keep_pages(folder: Path, last: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the pages of the steps where a person finds them; return the last event, a failure where that fails."""
    pages = folder / "pages"
    try:
        pages.mkdir(exist_ok=True)
        for name, suffix in (("gallery", "html"), ("report", "html"), ("summary", "md")):
            for path in (folder / "artifacts").glob(f"**/{name}"):
                if path.is_file() and path.stat().st_size:
                    _put(path, pages / f"{path.parent.name.replace('-', '_')}.{name}.{suffix}")
    except OSError as error:
        return {**last, "state": "FAILED", "error": str(told_error(error))}
    return last


def _put(path: Path, page: Path) -> None:
    try:
        page.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copyfile(path, page)


def _settle(
    ledger: Ledger, run: tuple[str, str], last: Mapping[str, Any], failure: dict[str, Any]
) -> tuple[State, tuple[StepRow, ...]]:
    """Decide the state of `run` (id, pipeline) from its steps' own records, never from the runner's word, and note it.

    A ledger that cannot be used any more is a failed run, of which the first error is the one to tell.
    """
    state: State = last["state"]
    steps: list[StepRow] = []
    try:
        steps = ledger.steps(run[0])
        if state == "SUCCEEDED" and not _is_complete(run[1], steps):
            state = "FAILED"
            failure.setdefault("message", "the runner ended, but not every step recorded its result")
        if state == "FAILED" and not failure:
            failure["message"] = _cause(steps, str(last["error"]))
        if state == "CANCELLED":
            failure.setdefault("message", _WAS_STOPPED)
        error = str(failure.get("message", ""))
        _close_steps(ledger, run[0], state, error)
        steps = ledger.steps(run[0])
        ledger.finish_run(run[0], state, {} if state == "SUCCEEDED" else {"error": error})
    except LedgerError as broken:
        state = "CANCELLED" if state == "CANCELLED" else "FAILED"
        failure.setdefault("message", str(broken))
    return state, tuple(steps)


def _is_complete(pipeline: str, steps: list[StepRow]) -> bool:
    done = {step.step: step for step in steps if step.state == "SUCCEEDED"}
    plan = done.get("plan_run")
    if plan is None:
        return False
    if pipeline == "retrain" and not plan.outputs.get("due"):
        return set(done) == {"plan_run", "decide_training"}
    if "validate_data" in done and not done["validate_data"].outputs.get("sound"):
        return "train_model" not in done
    return ("hand_off_frames" if pipeline == "curate" else "promote_model") in done


def _cause(steps: list[StepRow], otherwise: str) -> str:
    failed = [step for step in steps if step.state == "FAILED"]
    running = [step for step in steps if step.state == "RUNNING"]
    if failed:
        return f"{failed[0].step}: {failed[0].error}"
    if running:
        return f"{running[0].step} ended without a word; its log says why"
    return otherwise


def raise_for(outcome: RunOutcome) -> None:
    """Raise the error that the failing step met, with its exit code."""
    if outcome.state == "SUCCEEDED":
        return
    message = str(outcome.failure.get("message", _WAS_STOPPED))
    step = str(outcome.failure.get("step", ""))
    text = f"{step}: {message}" if step and not message.startswith(step) else message
    error = DriveflowError(f"{text} (logs: {outcome.folder / 'logs'})")
    stopped = _STOPPED if outcome.state == "CANCELLED" else 1
    error.exit_code = int(outcome.failure.get("exit_code", stopped))
    raise error
