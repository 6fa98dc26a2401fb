"""The trainer contract: what a training command finds in its environment, and what it must leave behind.

A trainer is a command that driveflow starts once for every worker, with the variables that torchrun sets (RANK,
LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT) and these:

* `DRIVEFLOW_DATA`: a folder with the export of the training snapshot (see `training.export`); read only.
* `DRIVEFLOW_OUTPUT`: where the result goes. Worker 0 leaves `outcome.json`, `metrics.jsonl` and the model's files;
  names that start with a dot do not count.
* `DRIVEFLOW_CHECKPOINTS`: a folder to resume from. A file counts as soon as it is visible under a name that does not
  start with a dot, so write to a dot name and rename. A command that starts with a filled folder goes on from there.
* `DRIVEFLOW_SCRATCH`: a folder that all workers of this machine share and that may be lost.
* `DRIVEFLOW_SEED`, and `DRIVEFLOW_SETTINGS`: the training section of the flow file as JSON.

`metrics.jsonl` has one JSON object a line, for every epoch; its numbers are the model's metrics, the last line counts.
`outcome.json` declares the model as `driveflow.detectors.declaration` says: `{"kind": "onnx", "classes", "input",
"head"}` goes with a `model.onnx`, `{"kind": "command", "classes", "command"}` with a command that predicts. All other
files in the folder become files of the model.

Exit code 0 is success. Exit code 2 says that trying again cannot help; any other failure is tried again from the last
checkpoint.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Final

from driveflow.canonical import Json, canonical_json
from driveflow.detectors.declaration import ModelDeclaration, read_declaration
from driveflow.errors import IntegrityError, TrainingFailedError, UsageError
from driveflow.flow.sections import TrainingSection

OUTCOME: Final = "outcome.json"
METRICS: Final = "metrics.jsonl"
HOPELESS_EXIT_CODE: Final = 2
_PLACES: Final = "DRIVEFLOW_{}"


@dataclass(frozen=True, slots=True)
class TrainerFolders:
    """The local folders that a trainer works with."""

    data: Path
    output: Path
    checkpoints: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class WorkerRank:
    """Which worker this is, of how many."""

    rank: int
    world_size: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trainer left: its model, the model's files, and the metrics of its last epoch."""

    declaration: ModelDeclaration
    files: Mapping[str, bytes]
    metrics: Mapping[str, float]


def trainer_environment(folders: TrainerFolders, settings: TrainingSection) -> dict[str, str]:
    """Return the variables that do not differ between workers."""
    places = {_PLACES.format(name.upper()): str(path) for name, path in _named(folders).items()}
    plain: dict[str, Json] = asdict(settings)
    return {**places, "DRIVEFLOW_SEED": str(settings.seed), "DRIVEFLOW_SETTINGS": canonical_json(plain)}


def rank_environment(worker: WorkerRank, workers_per_node: int, port: int) -> dict[str, str]:
    """Return the variables of one worker, as torchrun would set them."""
    return {
        "RANK": str(worker.rank),
        "LOCAL_RANK": str(worker.rank % workers_per_node),
        "GROUP_RANK": str(worker.rank // workers_per_node),
        "WORLD_SIZE": str(worker.world_size),
        "LOCAL_WORLD_SIZE": str(workers_per_node),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def read_folders(environment: Mapping[str, str]) -> TrainerFolders:
    """Return the folders that the environment of a worker names."""
    return TrainerFolders(*(Path(_variable(environment, _PLACES.format(name.upper()))) for name in _FOLDERS))


def read_rank(environment: Mapping[str, str]) -> WorkerRank:
    """Return which worker the environment speaks to; a trainer started by hand is the only one."""
    return WorkerRank(int(environment.get("RANK", "0")), int(environment.get("WORLD_SIZE", "1")))


def read_settings(environment: Mapping[str, str]) -> TrainingSection:
    """Return the training section that the environment of a worker holds."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(TrainingSection).validate_json(_variable(environment, "DRIVEFLOW_SETTINGS"))
    except ValidationError as error:
        raise UsageError(f"DRIVEFLOW_SETTINGS is no training section: {error}") from error


def read_outcome(output: Path, classes: tuple[str, ...]) -> Outcome:
    """Return what a trainer left in `output`.

    Raises:
        TrainingFailedError: something is missing, or is not what the contract says; `classes` are those it may find.
    """
    try:
        declared = json.loads((output / OUTCOME).read_bytes())
        declaration = read_declaration(declared, f"{OUTCOME} of the trainer")
    except FileNotFoundError:
        raise TrainingFailedError(f"The trainer ended well and left no {OUTCOME}.") from None
    except (ValueError, RecursionError, IntegrityError) as error:
        raise TrainingFailedError(f"The trainer left no usable {OUTCOME}: {error}") from error
    unknown = sorted(set(declaration.classes) - set(classes))
    if unknown:
        raise TrainingFailedError(f"The trainer's model finds classes that the taxonomy lacks: {unknown[:5]}.")
    files = {
        path.relative_to(output).as_posix(): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name != OUTCOME and not path.name.startswith(".")
    }
    return Outcome(declaration, files, last_metrics(output / METRICS))


def last_metrics(path: Path) -> dict[str, float]:
    """Return the numbers in the last line of a metrics.jsonl.

    Raises:
        TrainingFailedError: there is no such line, or a number in it is none.
    """
    text = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
    lines = text.split("\n") if text else []
    if not lines:
        raise TrainingFailedError(f"The trainer ended well and left no {METRICS}.")
    try:
        values: Any = json.loads(lines[-1])
        numbers = {str(name): float(value) for name, value in values.items() if isinstance(value, int | float)}
    except (ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise TrainingFailedError(f"The last line of the trainer's {METRICS} is no JSON object: {error}") from error
    odd = [name for name, value in numbers.items() if not isfinite(value)]
    if odd:
        raise TrainingFailedError(f"The trainer's last metrics are no numbers: {odd[:5]}.")
    return numbers


_FOLDERS: Final = ("data", "output", "checkpoints", "scratch")


def _named(folders: TrainerFolders) -> dict[str, Path]:
    return {name: getattr(folders, name) for name in _FOLDERS}


def _variable(environment: Mapping[str, str], name: str) -> str:
    if name not in environment:
        raise UsageError(f"{name} is not set: a trainer is started by driveflow, see training/contract.py.")
    return environment[name]
