"""`driveflow data inspect`: what an import would read, without importing it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import Output, ProfileHere, emit, say


def inspect_source(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help="A folder, one archive, recording or label file, or an s3:// address.",
            show_default=False,
        ),
    ],
    label_format: Annotated[
        str, typer.Option("--format", help="What the labels are; auto: found by content.")
    ] = "auto",
    annotations: Annotated[str, typer.Option(help="The label file or folder to read, relative to SRC.")] = "",
    write_map: Annotated[
        Path | None, typer.Option("--write-map", help="Write a map of the classes to start from.", dir_okay=False)
    ] = None,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Say what an import would read: formats, files, labels, pictures listed and found, classes, and what is wrong.

    Nothing is imported, no picture is decoded, and no workspace is looked into. The map names every class as it was
    found: change it to what the project wants, and give it to `data import --map`.

    Examples:
      driveflow data inspect deliveries/may
      driveflow data inspect may.zip --write-map classes.yaml
      driveflow data inspect s3://fleet/night --format kitti -o json

    Exit codes: 0 done, 1 nothing there or nothing to map, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from driveflow.flow.part import batch_section, write_text
    from driveflow.storage.objects import to_uri
    from ingestion.inspect_source import inspect_source as inspect
    from ingestion.inspect_source import starting_map

    place_from(Path(), profile)  # where S3 is
    section = batch_section({"name": "inspected", "path": source, "format": label_format, "annotations": annotations})
    found = inspect(to_uri(source), section)
    if write_map is not None:
        write_text(write_map, starting_map(found.classes), new=True)
        say(f"Wrote {write_map}; change it, and import with --map {write_map}")
    emit(found.report, output, _text(found.report))


def _text(report: Mapping[str, Any]) -> str:
    from cli.data.tell_import import counted, drawn, joined
    from cli.output import visible

    problems, labels = report["problems"], report["label_files"]
    rows = [
        (row["path"] + (f":{row['line']}" if row["line"] else ""), row["reason"], row["detail"])
        for row in problems["rows"][:10]
    ]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report["files_by_kind"].items())
    return joined(
        f"{report['uri']}: would be read as {report['format']}; found {', '.join(report['formats_found'])}",
        f"files {report['files']:,}: {kinds}; archives and recordings opened {report['archives']:,}",
        f"label files {labels['total']:,}; pictures {report['pictures']:,}; listed {report['pictures_listed']:,}, "
        f"of which here {report['pictures_found']:,}, missing {report['pictures_missing']:,}",
        f"boxes {report['boxes']:,}, of which lost by problems {problems['boxes_lost']:,}, "
        f"ignore regions {report['ignored_boxes']:,}",
        counted("class", "boxes", report["classes"]),
        counted("refused file", "files", report["refused"]),
        counted("problem", "times", problems["reasons"]),
        drawn(("where", "reason", "detail"), rows) if rows else "",
        *map(visible, report["notes"]),
    )
