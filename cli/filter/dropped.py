"""`driveflow filter dropped`: every frame that was dropped, with its reason and its twin."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Most, Output, ProfileHere, Workspace, emit


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
    from filtering.dropped import dropped_frames

    found = find_snapshot(snapshot, workspace, profile, "filter_frames")
    decisions = found.decisions()
    sources = pa.concat_tables([item.sources() for item in lineage(found)])
    told = dropped_frames(decisions, sources, reason, limit)
    known = dropped_frames(decisions, sources, most=0)["reasons"] if reason and not told["total"] else {}
    emit({"snapshot": found.snapshot_id, **told}, output, _text(told, reason, known))


def _text(told: Mapping[str, Any], reason: str, known: object) -> str:
    from cli.data.tell_import import counted, drawn, joined

    if not told["total"]:
        other = (
            f" for {reason!r}; reasons here: {', '.join(known) or 'none'}" if isinstance(known, dict) and reason else ""
        )
        return f"Nothing was dropped{other}."
    rows = [(row["path"] or row["frame_id"], row["reason"], _why(row), row["twin_path"] or row["twin"] or "")
            for row in told["rows"]]  # fmt: skip
    more = (
        f"... and {told['total'] - len(rows):,} more; --limit {told['total']} writes out all"
        if len(rows) < told["total"]
        else ""
    )
    return joined(
        counted("reason", "dropped", told["reasons"]), drawn(("frame", "reason", "score", "twin"), rows), more
    )


def _why(row: Mapping[str, Any]) -> str:
    score, limit = (f"{row[name]:.4g}" if row[name] is not None else "" for name in ("score", "limit"))
    return f"{score} of {limit}" if score and limit else score
