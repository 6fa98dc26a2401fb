"""`driveflow regressions`: write down what a model must go on finding."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.output import DEFAULT_WORKSPACE, Output, ProfileHere, Workspace, emit

if TYPE_CHECKING:
    from driveflow.canonical import Json
    from validation.regression import RegressionObject


def regressions(  # noqa: PLR0913, PLR0917 a command takes one parameter an option
    report: Annotated[Path, typer.Argument(help="A report.json of a model beside a champion.", show_default=False)],
    name: Annotated[str, typer.Option("--name", help="What the gate calls the set.", show_default=False)],
    of: Annotated[
        Literal["fixed", "broken"], typer.Option("--of", help="What this model found anew, or what it lost.")
    ] = "fixed",
    class_name: Annotated[str, typer.Option("--class", help="Only objects of this class.")] = "",
    note: Annotated[str, typer.Option("--note", help="Why it must stay so, for whoever is blocked by it.")] = "",
    to: Annotated[Path | None, typer.Option("--to", help="Also write the file here.", dir_okay=False)] = None,
    workspace: Workspace = DEFAULT_WORKSPACE,
    profile: ProfileHere = "local",
    output: Output = "text",
) -> None:
    """Make a set of objects that every later model must find, out of the changes that a report shows.

    The set is kept in the store under its digest, which goes into `gate.regressions` of the flow; whoever misses one
    of its objects is blocked.

    Examples:
      driveflow regressions report.json --name may-incidents --note "two cyclists missed on the bridge"
      driveflow regressions report.json --name lost --of broken --class cyclist --to lost.json

    Exit codes: 0 made, 1 nothing to make it of, 2 usage, 3 not found.
    """
    from cli.output import place_from
    from driveflow.errors import InvalidInputError
    from driveflow.reuse import put_object
    from validation.regression import RegressionSet, write_regressions

    objects = tuple(one for one in _objects(report, of) if class_name in {"", one.class_name})
    if not objects:
        of_class = f" of class {class_name}" if class_name else ""
        raise InvalidInputError(f"{report} shows no object{of_class} that is newly {of}.")
    data = write_regressions(RegressionSet(name, note, objects))
    uri = put_object(place_from(workspace, profile).store, data, ".json")
    digest = uri.rpartition("/")[2].partition(".")[0]
    if to is not None:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data)
    value: dict[str, Json] = {"digest": digest, "uri": uri, "name": name, "objects": len(set(objects))}
    emit(value, output, f"{len(set(objects))} objects. For the flow:\n\ngate:\n  regressions: [{digest}]")


def _objects(path: Path, of: str) -> "list[RegressionObject]":
    from driveflow.errors import InvalidInputError, NotFoundError

    try:
        value: Any = json.loads(path.read_bytes())
        frames = (value["changes"] or {}).get(f"{of}_frames", [])
        return [_object(frame["frame_id"], one) for frame in frames for one in frame["objects"] if one["score"] is None]
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{path} is no report of a run (report.json): {error!r}.") from error


def _object(frame_id: str, one: Any) -> "RegressionObject":  # noqa: ANN401 JSON
    from validation.regression import RegressionObject

    x1, y1, x2, y2 = map(float, one["corners"])
    return RegressionObject(frame_id, one["class_name"], (x1, y1, x2, y2))
