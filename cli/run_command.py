"""`driveflow run`: run a pipeline of a flow on this machine, and show how it goes."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileOption, Workspace, emit

if TYPE_CHECKING:
    from pipelines.local_run import RunRequest


def run(
    flow_file: Annotated[Path, typer.Argument(help="The flow file.", show_default=False)],
    pipeline: Annotated[str, typer.Option("--pipeline", "-p", help="curate, retrain or flow.")] = "flow",
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileOption = "local",
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A run parameter, e.g. --set seed=2 --set force=true.")
    ] = None,
    output: Output = "text",
) -> None:
    """Run a pipeline of a flow on this machine, from the same compiled YAML that a cluster takes.

    Steps whose inputs, settings and code did not change are re-used; a killed run is simply started again.

    Examples:
      driveflow run flow.yaml --pipeline curate
      driveflow run flow.yaml --pipeline retrain --set seed=2 --set force=true
      driveflow run flow.yaml -o json | jq .verdict

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 5 the gate did not pass.
    """
    from cli.run_progress import RunProgress
    from cli.run_result import exit_code, result, result_text
    from pipelines.local_run import raise_for, run_locally

    request = _request(flow_file, pipeline, workspace, profile, changes or [])
    with RunProgress() as progress:
        outcome = run_locally(request, progress.hear)
    value = result(outcome, request)
    if outcome.state == "SUCCEEDED" or output == "json":
        both_are_read = sys.stdout.isatty() and sys.stderr.isatty()
        emit(value, output, result_text(value, progress.seen if both_are_read else frozenset()))
    raise_for(outcome)
    raise typer.Exit(exit_code(value))


def _request(flow_file: Path, pipeline: str, workspace: Path, profile_name: str, changes: list[str]) -> "RunRequest":
    from driveflow.flow.load import load_flow
    from driveflow.flow.profile import check_profile, load_profile, place_of
    from pipelines.compile import compile_pipeline, pipeline_parameters
    from pipelines.local_run import RunRequest
    from pipelines.parameters import look_for_data, with_changes

    flow = load_flow(flow_file)
    profile = load_profile(profile_name, flow_file.parent)
    check_profile(flow, profile)
    os.environ.update(profile.s3_variables())
    defaults = pipeline_parameters(flow, pipeline, profile)
    parameters = with_changes(defaults, changes)
    look_for_data(parameters, defaults)
    return RunRequest(
        flow=flow.name,
        pipeline=pipeline,
        package=compile_pipeline(flow, pipeline, profile),
        parameters=parameters,
        workspace=workspace.absolute(),
        place=place_of(profile, workspace),
    )
