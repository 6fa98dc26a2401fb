"""Say why the steps of a run were re-used or not, by what differs from the last run of the same flow."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from driveflow.canonical import Json

if TYPE_CHECKING:
    from driveflow.ledger.ledger import Ledger
    from driveflow.ledger.rows import RunRow, StepRow

_SEARCHED = 1_000
_SHOWN = 5
_WIDTH = 60


def explain_run(ledger: "Ledger", store: str, run: "RunRow") -> list[dict[str, Any]]:
    """Return for each step of `run` whether it was re-used, and the parts of its key that differ from the last run's.

    The last run is the newest earlier one of the same flow that got as far as this step.
    """
    earlier = _earlier(ledger, run)
    return [_step(ledger, store, step, earlier) for step in ledger.steps(run.run_id)]


def explain_text(steps: list[dict[str, Any]]) -> str:
    """Return the explanation as a line for each step, or one for each part where several differ."""
    lines = []
    for step in steps:
        shown = [f"{part['part']} was {_short(part['was'])}, is {_short(part['is'])}" for part in step["differs"]]
        if len(shown) > _SHOWN:
            shown = [*shown[:_SHOWN], f"and {len(shown) - _SHOWN} more"]
        lines += [f"{step['step']}: {said}" for said in ([step["why"]] if step["why"] else shown)]
    return "\n".join(lines)


def differing_parts(was: Json, now: Json) -> list[dict[str, Json]]:
    """Return the parts in which two keys differ, by dotted path.

    >>> differing_parts({"settings": '{"blur":{"limit":4}}'}, {"settings": '{"blur":{"limit":3}}'})
    [{'part': 'settings.blur.limit', 'was': 4, 'is': 3}]
    """
    old, new = dict(_leaves("", was)), dict(_leaves("", now))
    return [
        {"part": name, "was": old.get(name), "is": new.get(name)}
        for name in dict.fromkeys((*old, *new))
        if (name in old, old.get(name)) != (name in new, new.get(name))
    ]


def _earlier(ledger: "Ledger", run: "RunRow") -> "list[RunRow]":
    known = ledger.runs(_SEARCHED, run.flow)
    return [row for row in known if (row.started_at, row.run_id) < (run.started_at, run.run_id)]


def _step(ledger: "Ledger", store: str, step: "StepRow", earlier: "list[RunRow]") -> dict[str, Any]:
    value: dict[str, Any] = {"step": step.step, "reused": step.reused, "why": "", "since": None, "differs": []}
    key = str(step.detail.get("key", ""))
    if step.reused:
        return {**value, "why": "re-used"}
    if not key:
        ended = step.state == "SUCCEEDED"
        return {**value, "why": "looks at the world, so it always runs" if ended else f"{step.state.lower()}"}
    if step.detail.get("spoiled"):
        return {**value, "why": f"made again: {step.detail['spoiled']}"}
    return {**value, **_compared(ledger, store, step, earlier)}


def _compared(ledger: "Ledger", store: str, step: "StepRow", earlier: "list[RunRow]") -> dict[str, Any]:
    from driveflow.reuse import kept_parts

    before = next(_keys_of(ledger, step.step, earlier), None)
    if before is None:
        return {"why": "no earlier run of this flow got so far"}
    run_id, key = before
    was, now = kept_parts(store, step.step, key), kept_parts(store, step.step, str(step.detail["key"]))
    if was is None or now is None:
        return {"since": run_id, "why": "what its key was made of is not kept any more"}
    found = differing_parts(dict(was), dict(now))
    return {"since": run_id, "differs": found, "why": "" if found else "nothing differs; its result was not there"}


def _keys_of(ledger: "Ledger", step: str, runs: "list[RunRow]") -> Iterator[tuple[str, str]]:
    for run in runs:
        for row in ledger.steps(run.run_id):
            if row.step == step and row.detail.get("key"):
                yield run.run_id, str(row.detail["key"])


def _leaves(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the values inside `value` by dotted path; JSON text is looked into."""
    opened = _opened(value)
    if isinstance(opened, Mapping) and opened:
        for key, item in opened.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), item)
    elif isinstance(opened, list) and opened:
        for number, item in enumerate(opened):
            yield from _leaves(f"{name}[{number}]", item)
    else:
        yield name, opened


def _opened(value: Json) -> Json:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            opened: Json = json.loads(value)
        except ValueError:
            return value
        return opened
    return value


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text or '""'
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH // 2 - 1]}…{text[-_WIDTH // 2 :]}"
