"""`driveflow data merge`: make one snapshot of several."""

from pathlib import Path
from typing import Annotated

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit


def merge(  # noqa: PLR0913, PLR0917 one parameter an option
    snapshots: Annotated[
        list[str], typer.Argument(metavar="A B ...", help="Tags, ids or addresses of snapshots.", show_default=False)
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Tag of the snapshot that is made.")],
    rules: Annotated[
        Path | None,
        typer.Option(help="YAML with the sections merge, holdout, splits of a flow; none: union.", dir_okay=False),
    ] = None,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="Splits go by the order in which the snapshots are named.")
    ] = False,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Merge snapshots under rules; they stay as they are.

    Frames of equal bytes become one frame with all its sources; every disagreement is a conflict with both sides and
    the rule that decided. Rules call a snapshot by its tag. Merging the same again changes nothing, and under the rules
    union, consensus and review neither does another order, unless --in-order is given. Nothing is held out but
    what the rules or a snapshot state: holdout: {fraction: 0.2} holds out a fifth of the drive groups, the default of a
    flow. `data split` makes other splits.

    Examples:
      driveflow data merge may june --as summer
      driveflow data merge may@2 vendor 3f2a --rules rules.yaml --as all -o json

    Exit codes: 0 done, 1 failed, 2 usage, 3 not found.
    """
    from cli.data.run_merge import Wanted, run_merge
    from cli.data.tell_import import merge_text

    report = run_merge(Wanted(snapshots, name, rules, in_order, workspace, profile))
    emit(report, output, merge_text(report))
