"""`driveflow regressions`: write down what every later model must keep right."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit, write_file

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from validation.regression import RegressionSet
    from validation.regression_pick import Pick, Picked


def regressions(  # noqa: PLR0913, PLR0917 a command takes one parameter an option
    report: Annotated[
        str,
        typer.Argument(
            help="A report.json of a model beside a champion, its address, or a run id or the beginning of one.",
            show_default=False,
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="What the gate calls the set.", show_default=False)],
    of: Annotated[
        Literal["fixed", "broken"], typer.Option("--of", help="What this model set right anew, or what it lost.")
    ] = "fixed",
    what: Annotated[
        Literal["missed", "false", "class", "all"],
        typer.Option("--what", help="Objects missed, false alarms, objects taken for another class, or all of it."),
    ] = "missed",
    class_name: Annotated[str, typer.Option("--class", help="Only of this class.")] = "",
    frame: Annotated[str, typer.Option("--frame", help="Only in frames whose name begins so.")] = "",
    mistake: Annotated[
        Literal["", "Bkg", "Dupe", "Cls", "Loc", "Both"],
        typer.Option("--mistake", help="Only false alarms of this kind of mistake."),
    ] = "",
    min_score: Annotated[
        float, typer.Option("--min-score", min=0.0, max=1.0, help="Only false alarms of at least this score.")
    ] = 0.0,
    note: Annotated[str, typer.Option("--note", help="Why it must stay so, for whoever is blocked by it.")] = "",
    to: Annotated[Path | None, typer.Option("--to", help="Also write the file here.", dir_okay=False)] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Make a set of past failures that every later model must keep right, out of the changes that a report shows.

    An object that was missed must be found; a false alarm must stay gone from its place; an object that was taken for
    another class must be found as what it is. The set is kept in the store under its digest, which goes into
    `gate.regressions` of the flow; whoever gets one of them wrong again is blocked.

    Examples:
      driveflow regressions report.json --name may-incidents --note "two cyclists missed on the bridge"
      driveflow regressions report.json --name ghosts --what false --mistake Bkg --min-score 0.5
      driveflow regressions retrain-20261130 --name lost --of broken --class cyclist --to lost.json

    Exit codes: 0 made, 1 nothing to make it of, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from cli.report_files import json_of
    from driveflow.errors import UsageError
    from driveflow.reuse import put_object
    from validation.regression import RegressionSet, write_regressions
    from validation.regression_pick import Pick

    if not name.strip():
        raise UsageError("--name is what the gate calls the set, and cannot be empty.")
    if what in {"missed", "class"} and (mistake or min_score):
        raise UsageError(
            "--mistake and --min-score choose among false alarms; say --what false or --what all with them."
        )
    wanted = Pick(of, what, class_name, frame, mistake, min_score)
    picked = _picked(report, json_of(report, workspace, profile), wanted)
    made = RegressionSet(name, note, picked.failures)
    data = write_regressions(made)
    uri = put_object(place_from(workspace, profile).store, data, ".json")
    digest = uri.rpartition("/")[2].partition(".")[0]
    if to is not None:
        write_file(to, data)
    emit({"digest": digest, "uri": uri, "name": name, **_counts(made, picked)}, output, _text(made, picked, digest))


def _picked(path: str, report: Any, wanted: "Pick") -> "Picked":  # noqa: ANN401 JSON
    from driveflow.errors import InvalidInputError
    from validation.regression_pick import pick

    found = pick(report, path, wanted)
    if not found.failures and not found.has_champion:
        raise InvalidInputError(f"{path} judges a model without a champion: nothing in it is newly {wanted.of}.")
    if not found.failures:
        of_class = f" of class {wanted.class_name}" if wanted.class_name else ""
        things = {"missed": "object", "false": "false alarm", "class": "object taken for another class"}
        what = things.get(wanted.what, "change")
        near = f" {found.left_out} are left out, which the better model does not quite have right." * bool(
            found.left_out
        )
        raise InvalidInputError(f"{path} shows no {what}{of_class} that is newly {wanted.of}.{near}")
    return found


def _counts(made: "RegressionSet", picked: "Picked") -> "dict[str, Json]":
    return {
        "objects": len(made.objects),
        "false_alarms": len(made.false_alarms),
        "wrong_classes": len(made.wrong_classes),
        "left_out": picked.left_out,
        "unlisted": picked.unlisted,
    }


def _text(made: "RegressionSet", picked: "Picked", digest: str) -> str:
    parts = [
        f"{len(made.objects)} objects" if made.objects else "",
        f"{len(made.false_alarms)} false alarms" if made.false_alarms else "",
        f"{len(made.wrong_classes)} objects taken for another class" if made.wrong_classes else "",
    ]
    words = [f"{', '.join(part for part in parts if part)}."]
    if picked.left_out:
        words.append(f"{picked.left_out} are left out: the better model of the two does not quite have them right.")
    if picked.unlisted:
        words.append(f"{picked.unlisted} more changes are counted in the report and not listed; it lists 1,000 frames.")
    return "\n".join([*words, f"For the flow:\n\ngate:\n  regressions: [{digest}]"])
