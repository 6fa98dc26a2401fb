"""`driveflow compile`, `submit`, `schedule` and `cancel`: a flow on a KFP server."""

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from cli.output import Format, Output, ProfileHere, emit, say, write_file
from driveflow.canonical import Json
from driveflow.errors import DriveflowError, UsageError

if TYPE_CHECKING:
    from driveflow.flow.profile import Profile
    from driveflow.flow.sections import Flow
    from pipelines.kfp_client import KfpRun, KfpServer

FlowFile: TypeAlias = Annotated[Path, typer.Argument(help="The flow file.", show_default=False)]
Pipeline: TypeAlias = Annotated[str, typer.Option("--pipeline", "-p", help="curate, retrain or flow.")]
ClusterProfile: TypeAlias = Annotated[
    str, typer.Option("--profile", help="A profile file, or the name of one in profiles/ beside the flow file.")
]
Changes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--set", help="A run parameter, e.g. --set seed=2 --set force=true.")
]
Wait: TypeAlias = Annotated[bool, typer.Option("--wait", help="Stay until the run has ended.")]
_NOT_SHOWN = "flow"  # thousands of letters of JSON, and the default of the pinned version already


@dataclass(frozen=True, slots=True)
class _Order:
    """A compiled pipeline with its parameters, and where it goes."""

    flow: "Flow"
    profile: "Profile"
    pipeline: str
    package: str
    parameters: dict[str, Any]
    defaults: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.flow.name}-{self.pipeline}"

    @property
    def shown(self) -> dict[str, Any]:
        """Return the parameters that a person reads on the run's page."""
        given = self.parameters.items()
        return {name: value for name, value in given if name != _NOT_SHOWN or value != self.defaults[name]}


def compile_flow(
    flow_file: FlowFile,
    pipeline: Pipeline = "flow",
    profile: ClusterProfile = "kfp",
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write; '-' prints the YAML, 'json' prints both as JSON.")
    ] = "-",
) -> None:
    """Compile a pipeline of a flow to the YAML that both runners take.

    Examples:
      driveflow compile flow.yaml --pipeline retrain -o retrain.yaml
      driveflow compile flow.yaml --profile local -o json

    Exit codes: 0 done, 1 the file cannot be written, 2 usage, or the profile refuses something, 3 not found.
    """
    from driveflow.canonical import digest_bytes

    order = _order(flow_file, pipeline, profile, None)
    if output == "-":
        emit(None, "text", order.package.rstrip("\n"))
        return
    facts: dict[str, Json] = {
        "pipeline": order.name,
        "bytes": len(order.package.encode()),
        "digest": digest_bytes(order.package.encode()),
    }
    if output == "json":
        emit({**facts, "parameters": order.parameters, "package": order.package}, "json")
        return
    write_file(Path(output), order.package.encode(), "--output")
    emit({**facts, "file": output}, "text", f"Wrote {output}: {order.name}, {facts['bytes']} bytes.")


def submit(
    flow_file: FlowFile,
    pipeline: Pipeline = "flow",
    profile: ClusterProfile = "kfp",
    changes: Changes = None,
    wait: Wait = False,
    output: Output = "text",
) -> None:
    """Start a pipeline of a flow on a KFP server.

    The compiled pipeline is uploaded as a version named by its digest, so that the same flow is the same version.

    Examples:
      driveflow submit flow.yaml --pipeline curate
      driveflow submit flow.yaml --pipeline retrain --set force=true --wait -o json

    Exit codes: 0 done or started, 1 failed or cancelled, 2 usage, 3 not found.
    """
    order = _order(flow_file, pipeline, profile, changes)
    server = _server(order.profile)
    published = server.publish(order.name, order.package)
    run = server.start(published, f"{order.flow.name} {pipeline} {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", order.shown)
    if wait:
        say(f"Started {run.name}: {run.url}")
        run = _wait(server, run.run_id)
    value = {**asdict(run), "pipeline": published.pipeline, "version": published.version, "parameters": order.shown}
    _report(run, value, output, f"Started {run.name}, version {published.version[:12]}\nrun {run.run_id}: {run.url}")


def schedule(
    flow_file: FlowFile,
    pipeline: Annotated[str, typer.Option("--pipeline", "-p", help="Another than the flow's schedule says.")] = "",
    profile: ClusterProfile = "kfp",
    cron: Annotated[str, typer.Option("--cron", help="Five fields; another than the flow's schedule says.")] = "",
    changes: Changes = None,
    output: Output = "text",
) -> None:
    """Let a KFP server start a pipeline of a flow by cron, one run at a time, in place of the schedule there was.

    Example:
      driveflow schedule flow.yaml --cron "30 1 * * sat"

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found.
    """
    from driveflow.flow.cron import check_cron
    from driveflow.flow.load import load_flow

    stated = load_flow(flow_file).schedule
    cron = cron or stated.cron
    check_cron(cron)
    order = _order(flow_file, pipeline or stated.pipeline, profile, changes)
    server = _server(order.profile)
    made = server.schedule(server.publish(order.name, order.package), order.name, cron, order.shown)
    replaced = f", in place of {', '.join(made.replaced)}" if made.replaced else ""
    emit(
        {**asdict(made), "cron": cron, "kfp_cron": made.cron, "parameters": order.shown},
        output,
        f"Scheduled {made.name} at '{cron}' (the cluster's time zone), version {made.version[:12]}{replaced}",
    )


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run's id on the KFP server.", show_default=False)],
    profile: ProfileHere = "kfp",
    wait: Wait = False,
    output: Output = "text",
) -> None:
    """Stop a run on a KFP server; one that has ended is left as it is.

    Example:
      driveflow cancel 6a1f0c2e-9d43-4b57-8c1d-2f3e4a5b6c7d --wait

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found.
    """
    from driveflow.flow.profile import load_profile

    server = _server(load_profile(profile, Path.cwd()))
    before = server.run(run_id)
    run = server.cancel(run_id)
    if wait and not run.has_ended:
        run = _wait(server, run_id)
    words = f"had already ended: {run.state}" if before.has_ended else f"is {run.state}"
    emit(asdict(run), output, f"The run {run.name} {words}")


def _order(flow_file: Path, pipeline: str, profile_name: str, changes: list[str] | None) -> _Order:
    from driveflow.flow.load import load_flow
    from driveflow.flow.profile import check_profile, load_profile
    from pipelines.compile import compile_pipeline, pipeline_parameters
    from pipelines.parameters import with_changes

    flow = load_flow(flow_file)
    profile = load_profile(profile_name, flow_file.parent)
    check_profile(flow, profile)
    defaults = pipeline_parameters(flow, pipeline, profile)
    parameters = with_changes(defaults, changes or [])
    check_profile(flow, replace(profile, data_root=parameters["data_root"]))
    return _Order(flow, profile, pipeline, compile_pipeline(flow, pipeline, profile), parameters, defaults)


def _server(profile: "Profile") -> "KfpServer":
    if profile.profile != "kfp":
        raise UsageError(f"the {profile.profile} profile has no KFP server; --profile kfp would do")
    from pipelines.kfp_client import KfpServer

    return KfpServer(profile.kfp)


def _wait(server: "KfpServer", run_id: str) -> "KfpRun":
    try:
        return server.wait(run_id, lambda run: say(f"{datetime.now(UTC):%H:%M:%S} {run.state}"))
    except KeyboardInterrupt:
        say(f"The run goes on; `driveflow cancel {run_id}` stops it.")
        raise


def _report(run: "KfpRun", value: dict[str, Any], output: Format, text: str) -> None:
    emit(value, output, f"{run.name} ended: {run.state}\nrun {run.run_id}: {run.url}" if run.has_ended else text)
    if run.state in {"FAILED", "CANCELLED"}:
        what = f": {'; '.join(run.failed[:5])}" if run.failed else ""
        raise DriveflowError(f"the run {run.run_id} ended as {run.state}{what}")
