"""`driveflow filter dropped`: every frame that was dropped, with its reason and its twin."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Most, Output, ProfileHere, Workspace, emit, table

if TYPE_CHECKING:
    from driveflow.canonical import Json


def dropped(
    snapshot: Annotated[str, typer.Argument(help="Address or id of a filtered snapshot.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Only what was dropped for this reason.")] = "",
    limit: Most = 100,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List the frames that were dropped: where they were found, why, the score, the limit, and the kept twin.

    Examples:
      driveflow filter dropped 3f2a
      driveflow filter dropped 3f2a --reason near_duplicate --limit 1000 -o json

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    import pyarrow as pa

    from cli.snapshot_argument import find_snapshot, lineage
    from driveflow.errors import UsageError
    from filtering.dropped import dropped_frames

    found = find_snapshot(snapshot, workspace, profile, "filter_frames")
    decisions = found.decisions()
    if not decisions.num_rows and found.made_by().get("step") != "filter_frames":
        raise UsageError(f"{found.uri} was not filtered; name the snapshot that `filter_frames` made.")
    sources = pa.concat_tables([item.sources() for item in lineage(found)])
    told = dropped_frames(decisions, sources, reason, limit)
    known = dropped_frames(decisions, sources, most=0)["reasons"] if reason and not told["total"] else {}
    emit({"snapshot": found.snapshot_id, **told}, output, _text(told, reason, known))


def _text(told: Mapping[str, Any], reason: str, known: "Json") -> str:
    """Return the frames as a table that breaks no line: paths may be long, and people search in them."""
    from cli.data.tell_import import counted, joined, nothing_called, rest_of
    from cli.output import visible

    if not told["total"]:
        return nothing_called("Nothing was dropped for", reason, "reasons", known) if reason else "Nothing was dropped."
    rows: list[dict[str, Json]] = [
        {
            "reason": row["reason"],
            "score of limit": _score(row),
            "frame": visible(row["path"] or row["frame_id"]),
            "twin": visible(row["twin_path"] or row["twin"] or ""),
        }
        for row in told["rows"]
    ]
    rest = rest_of(told["total"], len(rows))
    return joined(counted("reason", "dropped", told["reasons"]), table(rows) if rows else "", rest)


def _score(row: Mapping[str, Any]) -> str:
    score, limit = (f"{row[name]:.4g}" if row[name] is not None else "" for name in ("score", "limit"))
    return f"{score} of {limit}" if score and limit else score
