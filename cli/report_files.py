"""Find and read the reports that commands are asked about: by run, or by path."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from driveflow.ledger.rows import DecisionRow

_SHOWN = 5
_STEP = "validate_model"
_FILES = (".json", ".html")  # no run is called so


def decision_of(run: str, workspace: Path, profile: str) -> "DecisionRow":
    """Return what the gate said in a run, named by its id or the beginning of it; of the newest where it is empty.

    Raises:
        NotFoundError: no such run has a report, or it is a path, and there is nothing.
        UsageError: several begin so.
    """
    from cli.open_ledger import ledger_at
    from driveflow.errors import NotFoundError, UsageError

    if "/" in run or Path(run).suffix in _FILES:
        raise NotFoundError(f"{run}: there is no such file.")
    decisions = ledger_at(workspace, profile)[1].decisions()
    found = [row for row in decisions if row.run_id.startswith(run)]
    if not found:
        named = f" whose id begins with {run!r}" if run else ""
        raise NotFoundError(f"No run{named} has a validation report yet; `driveflow run flow.yaml` makes one.")
    runs = sorted({row.run_id for row in found})
    if run and len(runs) > 1 and run not in runs:
        raise UsageError(f"{len(runs)} runs begin with {run!r}: {', '.join(runs[:_SHOWN])}; write more of it.")
    exact = [row for row in found if row.run_id == run]
    return (exact or found)[-1]


def page_of(run: str, workspace: Path, profile: str) -> Path:
    """Return the local page of a run's report: where it lies already, or a copy that a browser knows for a page."""
    from driveflow.storage.objects import fetch_file, local_path

    uri = decision_of(run, workspace, profile).report_uri
    path = local_path(uri)
    if path is not None and path.suffix == ".html" and path.is_file():
        return path
    copy = workspace / "reports" / f"{uri.rpartition('/')[2].partition('.')[0]}.html"
    copy.parent.mkdir(parents=True, exist_ok=True)
    fetch_file(uri, copy)
    return copy


def read_json(path: Path, what: str) -> Any:  # noqa: ANN401 JSON
    """Return what the file of JSON at `path` says; it should be `what`.

    Raises:
        NotFoundError: there is no such file.
        InvalidInputError: it cannot be read, or is no JSON.
    """
    from driveflow.errors import InvalidInputError, NotFoundError

    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file.") from None
    except (ValueError, OSError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise InvalidInputError(f"{path} is no {what}: {why}.") from error


def json_of(name: str, workspace: Path, profile: str) -> Any:  # noqa: ANN401 JSON
    """Return what a report.json says: at a path, at an address as `report open -o json` tells it, or of a run.

    Raises:
        NotFoundError: there is no such file or run, or the run kept no report.json.
        InvalidInputError: it cannot be read, or is no JSON.
    """
    from driveflow.errors import InvalidInputError
    from driveflow.storage.uris import is_address

    path = Path(name)
    if not is_address(path) and (path.exists() or "/" in name or path.suffix in _FILES):
        return read_json(path, "report of a run (report.json)")
    try:
        return json.loads(_text_of(name, workspace, profile))
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no report of a run (report.json): {error}") from error


def report_of(name: str, workspace: Path, profile: str) -> "Mapping[str, Any]":
    """Return the report.json at a path or an address, or of a run.

    Raises:
        NotFoundError: there is no such file or run, or the run kept no report.json.
        InvalidInputError: the file is no report.json, or of another form.
    """
    from driveflow.errors import InvalidInputError
    from validation.report_diff import check_report

    path = Path(name)
    text = path.read_bytes() if name and path.is_file() else _text_of(name, workspace, profile)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no report.json of a validation: {error}") from error
    return check_report(value, name or "the newest report")


def kept_json(run: str, workspace: Path, profile: str) -> str:
    """Return the address of the report.json that a run kept; empty where it kept none."""
    from cli.open_ledger import ledger_at

    decision = decision_of(run, workspace, profile)
    steps = ledger_at(workspace, profile)[1].steps(decision.run_id)
    found = [row.outputs.get("report_json") for row in steps if row.step == _STEP]
    return next((str(value) for value in found if value), "")


def _text_of(run: str, workspace: Path, profile: str) -> bytes:
    """Return the report.json at an address, or that a run kept."""
    from driveflow.errors import NotFoundError
    from driveflow.storage.objects import read_bytes
    from driveflow.storage.uris import is_address

    uri = run if is_address(Path(run)) else kept_json(run, workspace, profile)
    if not uri:
        raise NotFoundError(f"Run {run or 'the newest'} kept no report.json.")
    return read_bytes(uri)
