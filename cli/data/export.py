"""`driveflow data export`: write a snapshot in a format that other tools read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from driveflow.canonical import Json

WrittenFormat = Literal["coco", "yolo", "kitti", "voc", "scalabel", "cvat", "label_studio", "openlabel"]
Split = Literal["", "train", "val", "holdout"]


def export(  # noqa: PLR0913, PLR0917 one parameter an option
    snapshot: Annotated[str, typer.Argument(help="Tag, id or address of a snapshot.", show_default=False)],
    folder: Annotated[
        Path, typer.Argument(help="A new or empty folder, or one whose export was stopped.", show_default=False)
    ],
    label_format: Annotated[WrittenFormat, typer.Option("--format", "-f", help="The format of the labels.")],
    split: Annotated[Split, typer.Option(help="Only the frames of this split.", show_default="all")] = "",
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Leave out what the format cannot carry, and say what that is.")
    ] = False,
    no_pictures: Annotated[bool, typer.Option("--no-pictures", help="Write labels only.")] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Write a snapshot into a folder, in a format that other tools read; each split is a part of its own.

    What is exported comes back as it was when it is imported, its splits as those of a delivery: what the format has no
    place for ends the export before anything is written, and is listed. Started again after it was stopped, it goes on;
    a whole export is left alone.

    Examples:
      driveflow data export may out/coco --format coco
      driveflow data export may@2 out/yolo --format yolo --split train --lossy -o json

    Exit codes: 0 done, 1 the format cannot carry all of it, 2 usage, 3 not found.
    """
    from cli.data.progress import shown_progress
    from cli.output import place_from
    from cli.snapshot_argument import find_snapshot
    from driveflow.formats.export_folder import ExportRequest, export_to
    from driveflow.images.pixels import open_pixels
    from driveflow.withdrawn import withdrawn_for

    found = find_snapshot(snapshot, workspace, profile)
    place = place_from(workspace, profile)
    request = ExportRequest(
        snapshot=found,
        label_format=label_format,
        split=split,
        lossy=lossy,
        pictures=not no_pictures,
        withdrawn=withdrawn_for(place.store, found),
    )
    pixels = open_pixels(found, place)
    with shown_progress(f"export {label_format}") as progress:
        told = export_to(request, folder, pixels.read, progress)
    emit({**told, "folder": str(folder)}, output, _text(told, folder))


def _text(told: "dict[str, Json]", folder: Path) -> str:
    lost = told["left_out"]
    lines = [f"{told['format']}: {told['frames']} frames and {told['boxes']} boxes in {folder}"]
    if isinstance(lost, list) and lost:
        lines += ["left out:", *(f"  {sentence}" for sentence in lost)]
    return "\n".join(lines)
