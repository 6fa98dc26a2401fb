"""Run one step: reuse what is already there, record what happened, say it to people."""

import errno
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from driveflow.canonical import Json, digest
from driveflow.code_digest import code_digest
from driveflow.errors import DriveflowError, StorageFullError
from driveflow.ledger.ledger import Ledger, open_ledger
from driveflow.ledger.rows import StepRow, timestamp
from driveflow.place import Place, current_place
from driveflow.processes import die_with_runner
from driveflow.reuse import KeptResult, load_result, store_result

Value: TypeAlias = str | int | float | bool

PROGRESS_MARK = "driveflow-progress "
FAILURE_MARK = "driveflow-step-failed "
NOTE_MARK = "driveflow-note: "
RUN_VARIABLE = "DRIVEFLOW_RUN_ID"
_PROGRESS_EVERY_S = 0.2
_STORED = re.compile(r'(?:file|s3)://[^"\s]*/(snapshots|objects|models|campaigns)/')  # also within JSON text
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step leaves behind.

    `outputs` go to later steps, `counts` to the ledger and the final table, `metrics` and `pages` to people ("summary"
    is Markdown, "gallery" and "report" are HTML, others JSON); `objects` are addresses that must exist for a reuse;
    `notes` are sentences that a person should read. `lasting` is False where something outside was missing that may
    be there the next time: such a result is never used again.
    """

    outputs: Mapping[str, Value]
    counts: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    lasting: bool = True


@dataclass(frozen=True, slots=True)
class StepSpec:
    """What a step is: its name, the packages whose code decides its result, and whether it looks at the world.

    A step that touches the world is never reused. The step that opens the run notes the run itself; `ends` names the
    pipelines whose run is over when this step has succeeded, `goes_on_if` the output without which any run is over.
    """

    name: str
    trades: tuple[str, ...]
    touches_world: bool = False
    opens_run: bool = False
    ends: tuple[str, ...] = ()
    goes_on_if: str = ""


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step's work may use."""

    place: Place
    run_id: str
    ledger: Ledger
    settings: Mapping[str, Json]
    progress: "StepProgress"

    @property
    def scratch(self) -> Path:
        """A local folder for caches and work in progress."""
        return Path(self.place.scratch)


class StepProgress:
    """Print progress as marked lines that the local runner turns into a bar, at most five a second."""

    def __init__(self) -> None:
        self._last_s = 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        """Say that `done` of `total` are through."""
        now_s = time.monotonic()
        if done < total and now_s - self._last_s < _PROGRESS_EVERY_S:
            return
        self._last_s = now_s
        sys.stderr.write(PROGRESS_MARK + json.dumps({"done": done, "total": total, "what": what}) + "\n")
        sys.stderr.flush()


Work: TypeAlias = Callable[[StepContext, Mapping[str, Value]], StepResult]
Deliver: TypeAlias = Callable[[StepResult], None]


@dataclass(frozen=True, slots=True)
class StepCall:
    """One call of a step: what came in, and the run it belongs to (`run_id` of KFP; the local runner's wins)."""

    inputs: Mapping[str, Value]
    settings: str
    run_id: str


def run_step(spec: StepSpec, work: Work, call: StepCall, deliver: Deliver | None = None) -> StepResult:
    """Return the result of `work`, or an earlier one of the same inputs, settings and code that still stands.

    The step has succeeded once `deliver` has written the result to where the runner and people look for it.
    """
    die_with_runner()
    attempt = _Attempt(spec.name, os.environ.get(RUN_VARIABLE, call.run_id), datetime.now(UTC), time.monotonic())
    try:
        place = current_place()
        place.check()
        ledger = open_ledger(place.ledger_url())
        if not spec.opens_run:
            ledger.begin_step(attempt.run_id, spec.name)
        context = StepContext(place, attempt.run_id, ledger, _decode(call.settings), StepProgress())
        done = _result(spec, work, call, context)
        if deliver is not None:
            deliver(done.result)
        _finish(ledger, spec, attempt, done)
        for note in done.result.notes:
            sys.stderr.write(NOTE_MARK + " ".join(note.split()) + "\n")
    except BrokenPipeError:  # the runner is gone, and whoever ended it says how the run ended
        raise
    except (DriveflowError, OSError) as error:
        raise _failed(attempt, error) from error
    return done.result


@dataclass(frozen=True, slots=True)
class _Done:
    result: StepResult
    reused: bool = False
    key: str = ""  # empty: the step touches the world
    spoiled: str = ""  # why a kept result of this key could not be used again

    def detail(self) -> dict[str, Json]:
        """Return what `driveflow runs show --explain` needs to know, and what a person should read."""
        notes: Json = list(self.result.notes)
        return {
            name: value for name, value in (("key", self.key), ("spoiled", self.spoiled), ("notes", notes)) if value
        }


@dataclass(frozen=True, slots=True)
class _Attempt:
    step: str
    run_id: str
    started: datetime
    started_s: float

    def row(self, state: Literal["SUCCEEDED", "FAILED"], **known: Any) -> StepRow:  # noqa: ANN401 fields of the row
        seconds = time.monotonic() - self.started_s
        return StepRow(state=state, started_at=timestamp(self.started), seconds=seconds, **known)


def _finish(ledger: Ledger, spec: StepSpec, attempt: _Attempt, done: _Done) -> None:
    row = attempt.row(
        "SUCCEEDED",
        reused=done.reused,
        counts=dict(done.result.counts),
        metrics=dict(done.result.metrics),
        outputs=dict(done.result.outputs),
        detail=done.detail(),
    )
    ledger.finish_step(attempt.run_id, spec.name, row)
    is_over = bool(spec.goes_on_if) and not done.result.outputs[spec.goes_on_if]
    if is_over or ledger.run(attempt.run_id).pipeline in spec.ends:
        ledger.finish_run(attempt.run_id, "SUCCEEDED")


def step_key(spec: StepSpec, call: StepCall) -> str:
    """Return the digest of everything that decides the result: inputs by content, settings, and the trade's code."""
    return digest(key_parts(spec, call))


def key_parts(spec: StepSpec, call: StepCall) -> dict[str, Json]:
    """Return what goes into the key, part by part, so that a miss can be explained."""
    inputs: dict[str, Json] = {name: _identity(value) for name, value in sorted(call.inputs.items())}
    return {"step": spec.name, "inputs": inputs, "settings": call.settings, "code": code_digest(*spec.trades)}


def _result(spec: StepSpec, work: Work, call: StepCall, context: StepContext) -> _Done:
    if spec.touches_world:
        return _Done(work(context, call.inputs))
    key, reasons = step_key(spec, call), list[str]()
    found = load_result(context.place.store, spec.name, key, reasons.append)
    if found is not None:
        return _Done(kept_step(found), reused=True, key=key)
    for reason in reasons:
        sys.stderr.write(f"The kept result of {spec.name} cannot be used again, so it is made again: {reason}\n")
    result = work(context, call.inputs)
    if result.lasting:
        store_result(context.place.store, spec.name, key, result, key_parts(spec, call))
    return _Done(result, key=key, spoiled=" ".join(reasons))


def kept_step(found: KeptResult) -> StepResult:
    """Return a kept result as the step's own."""
    return StepResult(found.outputs, found.counts, found.metrics, found.pages, found.objects, found.notes)


def _identity(value: Value) -> Value:
    """Return `value` with its addresses freed of the place they lie in, so that a moved store is the same input."""
    return _STORED.sub(r"\1/", value) if isinstance(value, str) else value


def _decode(settings: str) -> Mapping[str, Json]:
    return dict(json.loads(settings)) if settings else {}


def _failed(attempt: _Attempt, error: Exception) -> DriveflowError:
    """Record the failure where that is possible, print the line the runner reads, and return the error to raise."""
    told = told_error(error)
    _record_failure(attempt, told)
    line = {"step": attempt.step, "kind": type(told).__name__, "exit_code": told.exit_code, "message": str(told)}
    sys.stderr.write(FAILURE_MARK + json.dumps(line) + "\n")
    sys.stderr.flush()
    return told


def told_error(error: Exception) -> DriveflowError:
    """Return `error` in words for a person."""
    if isinstance(error, DriveflowError):
        return error
    if isinstance(error, OSError) and error.errno in _FULL:
        where = f" while writing {error.filename}" if error.filename else ""
        return StorageFullError(f"No space is left{where}. Free some, or choose another place with --workspace.")
    return DriveflowError("".join(traceback.format_exception_only(error)).strip())


def _record_failure(attempt: _Attempt, error: DriveflowError) -> None:
    try:
        ledger = open_ledger(current_place().ledger_url())
        row = attempt.row("FAILED", error_kind=type(error).__name__, error=str(error))
        ledger.finish_step(attempt.run_id, attempt.step, row)
        ledger.finish_run(attempt.run_id, "FAILED", {"step": attempt.step, "error": str(error)})
    except (DriveflowError, OSError):
        return  # the first error is the one to tell; the runner reads it from the printed line
