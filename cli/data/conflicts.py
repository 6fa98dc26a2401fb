"""`driveflow data conflicts`: where the sources of a snapshot disagreed, and what was decided."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Most, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from driveflow.canonical import Json


def conflicts(
    snapshot: AnySnapshot,
    kind: Annotated[str, typer.Option(help="Only conflicts of this kind, such as box.")] = "",
    limit: Most = 100,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List where the parts of a snapshot disagreed: both sides, the rule that decided, and which of them stayed.

    Examples:
      driveflow data conflicts summer
      driveflow data conflicts summer --kind box -o json

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.snapshot_argument import find_snapshot
    from ingestion.source_report import conflict_rows

    found = find_snapshot(snapshot, workspace, profile)
    told = conflict_rows(found, kind, limit)
    known = conflict_rows(found, most=0)["kinds"] if kind and not told["total"] else {}
    emit({"snapshot": found.snapshot_id, **told}, output, _text(told, kind, known))


def _text(told: Mapping[str, Any], kind: str, known: "Json") -> str:
    from cli.data.tell_import import counted, joined, nothing_called, rest_of
    from cli.output import visible

    if not told["total"]:
        return nothing_called("No conflicts of kind", kind, "kinds", known) if kind else "No conflicts."
    lines = [visible(line) for row in told["rows"] for line in _lines(row)]
    rest = rest_of(told["total"], len(told["rows"]))
    return joined(counted("conflict over", "times", told["kinds"]), "\n".join(lines), rest)


def _lines(row: Mapping[str, Any]) -> list[str]:
    what = f"{row['where'] or row['frame_id']}: {row['kind']}, {_DECIDED[row['winner']]} by rule {row['rule']}"
    return [what, *(f"  {side}: {_value(row[side])}" for side in ("left", "right"))]


def _value(text: str) -> str:
    """Return a side of a conflict, which is JSON, as people read it."""
    value = json.loads(text) if text else None
    if not isinstance(value, dict):
        return text or "nothing"
    plain = {key: "none" if item is None else item for key, item in value.items()}
    return ", ".join(f"{key} {item if isinstance(item, str) else json.dumps(item)}" for key, item in plain.items())


_DECIDED = {
    "left": "left stays",
    "right": "right stays",
    "both": "both stay",
    "neither": "neither stays",
    "review": "left for review",
}
