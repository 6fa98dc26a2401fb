"""`driveflow data import`: bring one batch into the workspace, under a name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from driveflow.flow.sections import TaxonomySection

Drives = Literal["auto", "batch", "folder", "stills"]
Split = Literal["", "train", "val", "holdout"]


def import_source(  # noqa: PLR0913, PLR0917 one parameter an option
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help="A folder, one archive, recording or label file, or an s3:// address.",
            show_default=False,
        ),
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Name of the batch, and tag of its snapshot.")],
    label_format: Annotated[
        str, typer.Option("--format", help="What the labels are; auto: found out by content; folder: none.")
    ] = "auto",
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="YAML with classes, aliases, drop, ignore; none: every class as it is found.", dir_okay=False
        ),
    ] = None,
    annotations: Annotated[str, typer.Option(help="The label file or folder to read, relative to SRC.")] = "",
    metadata: Annotated[str, typer.Option(help="CSV or Parquet with a column path, relative to SRC.")] = "",
    drive: Annotated[str, typer.Option(help="The whole batch is this drive.")] = "",
    drives: Annotated[Drives, typer.Option(help="How pictures become drives, where nothing is stated.")] = "auto",
    camera: Annotated[str, typer.Option(help="The camera of pictures that do not say theirs.")] = "camera",
    split: Annotated[Split, typer.Option(help="Puts every frame in this split.")] = "",
    more: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting of a batch in a flow file, e.g. --set clock=utc."),
    ] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Read a batch, of whatever format, into a snapshot, and let a name mean it.

    What cannot be used is quarantined with its reason, and every file is counted. Importing the same again changes
    nothing; started again after it was stopped or killed, it goes to the same end.

    Examples:
      driveflow data import deliveries/may --as may
      driveflow data import may.zip --as may --format coco --map classes.yaml --drive highway-0302
      driveflow data import s3://fleet/night --as night --drives folder -o json
      driveflow data import drive.mp4 --as dusk --set every_s=0.5 --set 'attributes={time_of_day: dusk}'

    Exit codes: 0 done, 1 nothing usable or unknown classes, 2 usage, 3 not found.
    """
    from cli.data.run_import import Wanted, run_import
    from cli.data.tell_import import import_text
    from driveflow.flow.part import batch_section
    from driveflow.tags import check_tag_name

    check_tag_name(name)
    said = {"name": name, "path": source, "format": label_format, "annotations": annotations, "metadata": metadata,
            "drive": drive, "drives": drives, "camera": camera, "split": split}  # fmt: skip
    report = run_import(Wanted(source, batch_section(said, more or []), _taxonomy(map_file), workspace, profile))
    emit(report, output, import_text(report))


def _taxonomy(path: Path | None) -> "TaxonomySection | None":
    from driveflow.flow.part import load_taxonomy

    return None if path is None else load_taxonomy(path)
