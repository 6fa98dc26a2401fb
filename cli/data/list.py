"""`driveflow data list`: tags and what they mean."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

_SHOWN_CHARS = 16


def list_data(
    name: Annotated[str, typer.Argument(help="A tag; with it, every move of that tag.", show_default=False)] = "",
    history: Annotated[bool, typer.Option("--history", help="Every move of every tag.")] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """List tags with their snapshots, when they moved there, frames and boxes; and snapshots without a tag.

    A tag can be read as it was: may@2 is its second move, may~1 the move before the last, may@2026-11-29 what it meant
    at the end of that day (UTC).

    Examples:
      driveflow data list
      driveflow data list may

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from driveflow.snapshot_list import list_moves, list_named
    from driveflow.tags import all_tag_names

    store = place_from(workspace, profile).store
    if name or history:
        moves = [move for tag in ([name] if name else all_tag_names(store)) for move in list_moves(store, tag)]
        emit({"moves": moves}, output, _table(moves) or "There are no tags.")
        return
    found = list_named(store)
    emit(found, output, _text(found))


def _text(found: Mapping[str, Any]) -> str:
    tags, untagged = _table(found["tags"]), _table(found["untagged"])
    parts = [tags or "There are no tags: `driveflow data import SRC --as NAME` makes one."]
    return "\n\n".join([*parts, *([f"Without a tag:\n{untagged}"] if untagged else [])])


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    from cli.output import table

    short = [{**row, "snapshot": row["snapshot"][:_SHOWN_CHARS], "when": row["when"][:19]} for row in rows]
    return table(short) if short else ""
