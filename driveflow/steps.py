"""Run one step: reuse what is already there, record what happened, say it to people."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from driveflow.canonical import Json, canonical_json, digest
from driveflow.code_digest import code_digest
from driveflow.errors import DriveflowError, StorageFullError
from driveflow.ledger.ledger import Ledger, StepRow, open_ledger
from driveflow.place import Place, current_place
from driveflow.processes import die_with_runner
from driveflow.reuse import load_result, store_result
from driveflow.storage.errno import is_full

Value: TypeAlias = str | int | float | bool

PROGRESS_MARK = "driveflow-progress "
FAILURE_MARK = "driveflow-step-failed "
RUN_VARIABLE = "DRIVEFLOW_RUN_ID"
_PROGRESS_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step leaves behind.

    `outputs` go to later steps, `counts` to the ledger and the final table, `metrics` and `pages` to people ("summary"
    is Markdown, "gallery" and "report" are HTML, others JSON); `objects` are addresses that must exist for a reuse.
    """

    outputs: Mapping[str, Value]
    counts: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepSpec:
    """What a step is: its name, the packages whose code decides its result, and whether it looks at the world.

    A step that touches the world is never reused. `ends` names the pipelines whose run is over when it has succeeded.
    """

    name: str
    trades: tuple[str, ...]
    touches_world: bool = False
    ends: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class StepCall:
    """One call of a step: what came in, and the run it belongs to (`run_id` of KFP; the local runner's wins)."""

    inputs: Mapping[str, Value]
    settings: str
    run_id: str


def run_step(spec: StepSpec, work: Work, call: StepCall) -> StepResult:
    """Return the result of `work`, reused where inputs, settings and code are those of an earlier one that still stands."""
    die_with_runner()
    run_id = os.environ.get(RUN_VARIABLE, call.run_id)
    started = datetime.now(UTC)
    clock_s = time.monotonic()
    try:
        place = current_place()
        ledger = open_ledger(place.ledger_url())
        ledger.begin_step(run_id, spec.name)
        result, reused = _result(spec, work, call, StepContext(place, run_id, ledger, _decode(call.settings), StepProgress()))
        row = StepRow(
            run_id=run_id,
            step=spec.name,
            state="SUCCEEDED",
            reused=reused,
            started_at=started,
            seconds=time.monotonic() - clock_s,
            counts=dict(result.counts),
            outputs=dict(result.outputs),
        )
        ledger.finish_step(row)
        _end_run(ledger, spec, run_id)
    except (DriveflowError, OSError) as error:
        raise _failed(spec, run_id, started, time.monotonic() - clock_s, error) from error
    return result


def step_key(spec: StepSpec, call: StepCall) -> str:
    """Return the digest of everything that decides the result: inputs by content, settings, and the trade's code."""
    return digest(key_parts(spec, call))


def key_parts(spec: StepSpec, call: StepCall) -> dict[str, Json]:
    """Return what goes into the key, part by part, so that a miss can be explained."""
    inputs: dict[str, Json] = {name: _identity(value) for name, value in sorted(call.inputs.items())}
    return {"step": spec.name, "inputs": inputs, "settings": call.settings, "code": code_digest(*spec.trades)}


def _result(spec: StepSpec, work: Work, call: StepCall, context: StepContext) -> tuple[StepResult, bool]:
    if spec.touches_world:
        return work(context, call.inputs), False
    key = step_key(spec, call)
    found = load_result(context.place.store, spec.name, key)
    if found is not None:
        return StepResult(**found), True
    result = work(context, call.inputs)
    store_result(context.place.store, spec.name, key, result, key_parts(spec, call))
    return result, False


def _identity(value: Value) -> Value:
    """Return an address without the place it lies in, so that a moved store is still the same input."""
    if isinstance(value, str) and "://" in value:
        for root in ("/snapshots/", "/objects/", "/models/", "/campaigns/"):
            if root in value:
                return value.rpartition(root)[2]
    return value


def _decode(settings: str) -> Mapping[str, Json]:
    return dict(json.loads(settings)) if settings else {}


def _end_run(ledger: Ledger, spec: StepSpec, run_id: str) -> None:
    run = ledger.run(run_id)
    if run is not None and run.pipeline in spec.ends:
        ledger.finish_run(run_id, "SUCCEEDED", {})


def _failed(spec: StepSpec, run_id: str, started: datetime, seconds: float, error: Exception) -> DriveflowError:
    """Record the failure where that is possible, print the line the runner reads, and return the error to raise."""
    wrapped = error if isinstance(error, DriveflowError) else _wrap(error)
    _record_failure(spec, run_id, started, seconds, wrapped)
    line = {"step": spec.name, "kind": type(wrapped).__name__, "exit_code": wrapped.exit_code, "message": str(wrapped)}
    sys.stderr.write(FAILURE_MARK + json.dumps(line) + "\n")
    sys.stderr.flush()
    return wrapped


def _wrap(error: Exception) -> DriveflowError:
    if isinstance(error, OSError) and is_full(error):
        where = f" while writing {error.filename}" if error.filename else ""
        return StorageFullError(f"No space is left{where}. Free some, or choose another place with --workspace.")
    return DriveflowError("".join(traceback.format_exception_only(error)).strip())


def _record_failure(spec: StepSpec, run_id: str, started: datetime, seconds: float, error: DriveflowError) -> None:
    try:
        ledger = open_ledger(current_place().ledger_url())
        ledger.finish_step(
            StepRow(
                run_id=run_id,
                step=spec.name,
                state="FAILED",
                reused=False,
                started_at=started,
                seconds=seconds,
                counts={},
                outputs={},
                error_kind=type(error).__name__,
                error=str(error),
            )
        )
        ledger.finish_run(run_id, "FAILED", {"step": spec.name, "error": str(error)})
    except (DriveflowError, OSError):
        return  # the first error is the one to tell; the runner reads it from the printed line


def encode_settings(value: Json) -> str:
    """Return `value` as the text a step takes for its settings."""
    return canonical_json(value)
