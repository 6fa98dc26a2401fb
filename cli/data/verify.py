"""`driveflow data verify`: prove that a snapshot is whole and opens alone."""

from typing import Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, AnySnapshot, Output, ProfileHere, Workspace, emit

_SHOWN = 20


def verify(
    snapshot: AnySnapshot,
    sample: Annotated[int, typer.Option(min=0, help="Read only so many frames, always the same ones; 0: all.")] = 0,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Check every table of a snapshot against its digest, and read every frame's bytes against its own.

    Examples:
      driveflow data verify may
      driveflow data verify may --sample 100 -o json

    Exit codes: 0 all is sound, 1 something is missing or changed, 2 usage, 3 not found.
    """
    from cli.data.progress import shown_progress
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.images.pixels import PixelReader
    from driveflow.withdrawn import withdrawn_for
    from ingestion.verify_frames import verify_frames

    found = find_snapshot(snapshot, workspace, profile)
    store = place_from(workspace, profile).store
    pixels = PixelReader(found.locations())  # no cache: what lies in the store is to be looked at
    with shown_progress("verify") as progress:
        check = verify_frames(found, pixels, withdrawn_for(store, found), sample, progress)
    lines = [f"{check.checked} of {check.frames} frames read, {len(check.troubles)} could not be."]
    lines += [f"  {item.frame_id[:16]} {item.state}: {item.detail}" for item in check.troubles[:_SHOWN]]
    emit({"snapshot": found.snapshot_id, **check.to_json()}, output, "\n".join(lines))
    if not check.is_sound:
        raise typer.Exit(1)
