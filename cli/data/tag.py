"""`driveflow data tag`: give a snapshot a name, or take the name away."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Output, ProfileHere, Workspace, emit
from driveflow.canonical import Json


def tag(
    name: Annotated[str, typer.Argument(help="The tag.", show_default=False)],
    snapshot: AnySnapshot = "",
    delete: Annotated[bool, typer.Option("--delete", help="Take the tag away; its history stays readable.")] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Let a name mean a snapshot, or nothing any more. Every move is kept.

    Examples:
      driveflow data tag release 3f2a
      driveflow data tag may may~1
      driveflow data tag --delete may

    Exit codes: 0 done, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.errors import UsageError
    from driveflow.storage.sweep import noted_writer
    from driveflow.tags import check_tag_name, delete_tag, point_tag

    if bool(snapshot) == delete:
        raise UsageError("Name a snapshot, or say --delete: one of the two.")
    store = place_from(workspace, profile).store
    if delete:
        with noted_writer(store):
            gone = delete_tag(store, name, datetime.now(UTC))
        text = f"{name} means nothing now; {name}@{gone.number - 1} is what it meant."
        emit({"tag": name, "number": gone.number, "deleted": True}, output, text)
        return
    found = find_snapshot(snapshot, workspace, profile)
    with noted_writer(store):
        entry, moved = point_tag(store, check_tag_name(name), found.uri, datetime.now(UTC))
    told: dict[str, Json] = {
        "tag": name,
        "number": entry.number,
        "snapshot": found.snapshot_id,
        "uri": found.uri,
        "moved": moved,
    }
    verb = "is now" if moved else "is already"
    emit(told, output, f"{name}@{entry.number} {verb} {found.snapshot_id[:16]}")
