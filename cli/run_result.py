"""What `driveflow run` says at the end."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cli.counts import headline
from cli.output import table
from pipelines.local_run import RunOutcome, RunRequest

_GATE_NOT_PASSED = 5
_SHOWN_CHARS = 16
_NOT_PASSED = {"BLOCK", "NEEDS DATA"}
_SNAPSHOTS = {
    "merge_batches": "snapshot",
    "filter_frames": "snapshot",
    "collect_labels": "snapshot",
    "build_training_set": "training",
}


def result(outcome: RunOutcome, request: RunRequest) -> dict[str, Any]:
    """Return the run as one JSON value."""
    steps = {step.step: step for step in outcome.steps}
    outputs = {name: step.outputs for name, step in steps.items()}
    return {
        "run_id": outcome.run_id,
        "flow": request.flow,
        "pipeline": request.pipeline,
        "state": outcome.state,
        "steps": [_step(step) for step in outcome.steps],
        "snapshots": snapshots_of(outputs),
        "counts": _counts({name: step.counts for name, step in steps.items()}),
        "campaign": outputs.get("hand_off_frames", {}).get("campaign") or None,
        "due": outputs.get("plan_run", {}).get("due"),
        "why": outputs.get("plan_run", {}).get("why"),
        "data_verdict": outputs.get("validate_data", {}).get("verdict"),
        "verdict": outputs.get("validate_model", {}).get("outcome"),
        "reason": outputs.get("validate_model", {}).get("reason"),
        "model_version": outputs.get("promote_model", {}).get("version") or None,
        "report": _pages(outcome).get("validate_model.report", _pages(outcome).get("validate_data.report")),
        "pages": _pages(outcome),
        "notes": _notes(outcome),
        "error": outcome.failure.get("message"),
    }


def result_text(value: Mapping[str, Any], seen: frozenset[str] = frozenset()) -> str:
    """Return the run as a table of steps and the lines a person looks for, without the notes that were `seen`."""
    rows = [
        {
            "step": step["step"],
            "state": step["state"].lower(),
            "seconds": round(step["seconds"], 2),
            "re-used": "yes" if step["reused"] else "",
            "counts": headline(step["counts"]),
        }
        for step in value["steps"]
    ]
    lines = [table(rows), "", f"run {value['run_id']}: {value['state'].lower()}"]
    for name in ("why", "campaign", "data_verdict", "verdict", "model_version", "report"):
        if value[name]:
            why = f". {value['reason']}" if name == "verdict" and value["reason"] else ""
            lines.append(f"{name.replace('_', ' ')}: {value[name]}{why}")
    lines += snapshot_lines(value["snapshots"])
    lines += [f"note: {note}" for note in value["notes"] if " ".join(note.split()) not in seen]
    if value["pages"]:
        lines.append(f"pages: {', '.join(value['pages'].values())}")
    return "\n".join(lines)


def snapshot_lines(snapshots: Mapping[str, str]) -> list[str]:
    """Return a line for each snapshot that a run made, with the beginning of its id that other commands take."""
    return [f"snapshot: {found[:_SHOWN_CHARS]} ({step})" for step, found in snapshots.items()]


def exit_code(value: Mapping[str, Any]) -> int:
    """Return 5 where the gate did not pass, or the data did not and nothing was trained; else 0."""
    blocked = value["data_verdict"] == "BLOCK" or value["verdict"] in _NOT_PASSED
    return _GATE_NOT_PASSED if blocked else 0


def _step(step: Any) -> dict[str, Any]:  # noqa: ANN401 a step row
    return {
        "step": step.step,
        "state": step.state,
        "seconds": round(step.seconds, 3),
        "reused": step.reused,
        "counts": dict(step.counts),
        "error": step.error or None,
    }


def snapshots_of(outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the id of the snapshot that each step made; `outputs` are those of the steps, by name."""
    found = {}
    for step, name in _SNAPSHOTS.items():
        uri = outputs.get(step, {}).get(name, "")
        if uri:
            found[step] = uri.rpartition("/snapshots/")[2].partition("#")[0]
    return found


def _counts(counts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return how many picture files came in, and how they left: kept, dropped and quarantined by reason, adding up."""
    imported, merged = counts.get("import_batches", {}), counts.get("merge_batches", {})
    filtered = counts.get("filter_frames", {})
    quarantined = Counter(_reasons(imported, "quarantined_")) + Counter(_reasons(filtered, "quarantined_"))
    dropped = _reasons(filtered, "dropped_")
    if merged:
        leaked = merged.get("frames_leaked", 0)
        again = imported.get("files_kept", 0) - merged["frames"] - leaked
        dropped |= {name: count for name, count in (("exact_duplicate", again), ("leak", leaked)) if count}
    return {
        "in": imported.get("files_kept", 0) + imported.get("files_quarantined", 0) if imported else None,
        "kept": filtered.get("kept"),
        "dropped": dropped,
        "quarantined": dict(quarantined),
        "no_pictures": imported.get("files_skipped", 0),
    }


def _reasons(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix) and count}


def _notes(outcome: RunOutcome) -> list[str]:
    told = [step.detail.get("notes") for step in outcome.steps]
    return [str(note) for notes in told if isinstance(notes, list) for note in notes]


def _pages(outcome: RunOutcome) -> dict[str, str]:
    return {path.stem: str(path) for path in sorted((outcome.folder / "pages").glob("*.html"))}
