"""`driveflow init` and `driveflow check`: start a flow file, and see what it means."""

from pathlib import Path
from typing import Annotated

import typer

from cli.output import Output, ProfileOption, emit
from driveflow.canonical import Json


def init(
    folder: Annotated[
        Path, typer.Argument(help="Where the files go; its name is the flow's name.", show_default=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Only the profiles that are not there, for a flow file that is.")
    ] = False,
    output: Output = "text",
) -> None:
    """Write a commented flow file and two profiles into a folder.

    Examples:
      driveflow init city
      driveflow init --profiles city

    Exit codes: 0 done, 1 a file is there already, 2 usage.
    """
    from driveflow.errors import UsageError
    from driveflow.flow.init import write_new_flow, write_profiles

    if profiles:
        if force:
            raise UsageError("--profiles writes what is not there, and --force over what is: give one of them")
        written = [str(path) for path in write_profiles(folder)]
        emit({"files": written}, output, f"Wrote {', '.join(written)}." if written else "Both profiles are there.")
        return
    paths = [str(path) for path in write_new_flow(folder, force=force)]
    emit({"files": paths}, output, f"Wrote {', '.join(paths)}.\nNext: driveflow check {paths[0]}")


def check(
    flow_file: Annotated[Path, typer.Argument(help="The flow file.", show_default=False)],
    profile: ProfileOption = "local",
    output: Output = "text",
) -> None:
    """Check a flow file and its profile, and print the plan with all defaults filled.

    Examples:
      driveflow check flow.yaml
      driveflow check flow.yaml --profile kfp

    A local batch that is not there is told, and no mistake: it may be delivered yet.

    Exit codes: 0 both are good, 2 something in them is wrong, 3 not found.
    """
    from dataclasses import asdict

    from driveflow.flow.document import parse_document
    from driveflow.flow.load import build_flow, read_settings
    from driveflow.flow.plan import defaults_taken, plan_text
    from driveflow.flow.profile import check_profile, load_profile, resolve_batch_uri

    root = parse_document(read_settings(flow_file), str(flow_file))
    flow = build_flow(root, str(flow_file))
    place = load_profile(profile, flow_file.parent)
    check_profile(flow, place)
    addresses = {batch.name: resolve_batch_uri(batch, place, flow_file.parent) for batch in flow.batches}
    not_there = [name for name, uri in addresses.items() if _is_missing(uri)]
    value: dict[str, Json] = {
        "flow": asdict(flow),
        "defaults": defaults_taken(flow, root),
        "profile": asdict(place),
        "batches": addresses,
        "not_there": list[Json](not_there),
    }
    lacking = f", but {len(not_there)} of {len(addresses)} batches cannot be found: {', '.join(not_there)}"
    words = [
        f"# {flow_file} is good{lacking if not_there else ''}.",
        plan_text(flow, root),
        "",
        f"# On the {place.profile} profile the batches are read from:",
    ]
    marks = {name: " (not there)" if name in not_there else "" for name in addresses}
    emit(value, output, "\n".join([*words, *(f"#   {name}: {uri}{marks[name]}" for name, uri in addresses.items())]))


def _is_missing(uri: str) -> bool:
    """Tell whether a local address names nothing; of S3 nothing is asked."""
    from driveflow.storage.uris import local_path

    path = local_path(uri)
    return path is not None and not path.exists()
