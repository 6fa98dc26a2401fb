"""The `driveflow` command: a table of subcommands that are imported late, and what an error looks like."""

import errno
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from driveflow.errors import DriveflowError
from driveflow.release import release

_SHOWN_CHARS = 200
_OF_THE_MACHINE = {
    errno.ENOSPC: ("no space left on the disk", 1),
    errno.EDQUOT: ("no space left on the disk", 1),
    errno.EROFS: ("nothing can be written on this disk", 1),
    errno.ENAMETOOLONG: ("no file has so long a name", 3),
}
"""What is wrong with the machine or the call, and no bug: words and exit code."""
_EXAMPLES = re.compile(r"^(Examples?:)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a subcommand lies: `target` is "module:attribute", a Typer app (a group) or a function (one command)."""

    target: str
    help: str


COMMANDS: dict[str, LazyCommand] = {
    "init": LazyCommand("cli.flow_commands:init", "Write a commented flow file and two profiles into a folder."),
    "check": LazyCommand("cli.flow_commands:check", "Check a flow file and print its plan with all defaults."),
    "run": LazyCommand("cli.run_command:run", "Run a pipeline of a flow on this machine."),
    "compile": LazyCommand("cli.submit_commands:compile_flow", "Compile a pipeline of a flow to KFP YAML."),
    "submit": LazyCommand("cli.submit_commands:submit", "Start a pipeline of a flow on a KFP server."),
    "schedule": LazyCommand("cli.submit_commands:schedule", "Let a KFP server start a pipeline of a flow by cron."),
    "cancel": LazyCommand("cli.submit_commands:cancel", "Stop a run on a KFP server."),
    "sample": LazyCommand("cli.sample_commands:app", "Render synthetic drives, and play their annotators."),
    "models": LazyCommand("cli.models_commands:app", "List, show, promote, roll back and verify model versions."),
    "label": LazyCommand("cli.label_commands:app", "Look at labeling campaigns and collect what came back."),
    "runs": LazyCommand("cli.runs_commands:app", "List and show runs, and read the logs of their steps."),
    "data": LazyCommand("cli.data_commands:app", "Import, merge and compare data; look into snapshots."),
    "filter": LazyCommand("cli.filter_commands:app", "Preview, check, review and undo what the filters decide."),
    "validate-data": LazyCommand(
        "cli.validate_data_command:validate_data", "Say whether a snapshot is good enough to train on."
    ),
    "evaluate": LazyCommand("cli.evaluate_command:evaluate", "Measure predictions against the truth, of any format."),
    "gate": LazyCommand("cli.gate_command:gate", "Judge one measured model beside another."),
    "regressions": LazyCommand("cli.regressions_command:regressions", "Write down past failures that must stay right."),
    "report": LazyCommand("cli.report_commands:app", "Find, print and compare validation reports."),
}


class LazyGroup(TyperGroup):
    """A group that knows its commands by name and help line, and imports the one that is called."""

    def __init__(self, **attrs: Any) -> None:  # noqa: ANN401 whatever typer passes
        super().__init__(**attrs)
        self.commands = {name: TyperCommand(name=name, help=lazy.help) for name, lazy in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401 as typer has it
        """Return the real command for `args`."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(COMMANDS[args[0]], args[0]), rest


def load_command(lazy: LazyCommand, name: str) -> Any:  # noqa: ANN401 typer's command class has no public name
    """Import the command that `lazy` points at."""
    module, _, attribute = lazy.target.partition(":")
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        target.rich_markup_mode = None
        return _readable(get_group(target))
    if not callable(target) or isinstance(target, TyperCommand | TyperGroup):
        return target
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, short_help=lazy.help)(target)
    return _readable(get_command(single))


def _readable(command: Any) -> Any:  # noqa: ANN401 typer's command class has no public name
    """Return `command` with its examples a line each, and help lines of subcommands that are not cut short."""
    text = command.help or ""
    command.short_help = command.short_help or " ".join(text.partition("\n\n")[0].split())
    command.help = _EXAMPLES.sub("\b\n\\1", text)  # a paragraph that begins with a backspace is printed as it is
    for subcommand in getattr(command, "commands", {}).values():
        _readable(subcommand)
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"driveflow {release()}")
        raise typer.Exit


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.callback()
def driveflow(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Curate, label, train, judge and promote: the data flow of autonomous-driving perception."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; a bug keeps its traceback."""
    try:
        get_group(app).main(args=arguments, prog_name="driveflow")
    except DriveflowError as error:
        _leave(str(error), error.exit_code)
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            raise
        told, exit_code = _OF_THE_MACHINE[error.errno]
        _leave(f"{told}: {_short(str(error.filename or error))}", exit_code)


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}..."


def _leave(message: str, exit_code: int) -> None:
    typer.echo(f"driveflow: {message}", err=True)
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
