"""Small models for the tests of the registry."""

from pathlib import Path

from driveflow.detectors.declaration import ModelDeclaration
from driveflow.detectors.model_folder import ModelFolder, write_model
from driveflow.ledger.rows import ModelVersionRow
from driveflow.storage.objects import local_path
from registry.records import Act, Judgement, NewModel
from registry.registry import Registry

MODEL = "city"
HOLDOUT = "file:///store/snapshots/holdout"
ACT = Act(who="ann", why="it is better")


def trained(registry: Registry, name: str) -> ModelFolder:
    """Write a model whose bytes are `name`."""
    declaration = ModelDeclaration(kind="command", classes=("car",), command=("predict",))
    return write_model(registry.store, declaration, {"weights.safetensors": name.encode(), "training.json": b"{}"})


def judged(digest: str, outcome: str = "PASS", holdout: str = HOLDOUT) -> Judgement:
    report = f"file:///reports/{digest}.html"
    return Judgement(
        outcome=outcome, digest=digest, holdout_uri=holdout, report_uri=report, detail={"reason": "measured"}
    )


def new_model(folder: ModelFolder, run_id: str = "run-1", model: str = MODEL) -> NewModel:
    snapshot = "file:///store/snapshots/training"
    return NewModel(model=model, digest=folder.digest, model_uri=folder.uri, snapshot_uri=snapshot, run_id=run_id)


def recorded(registry: Registry, name: str, outcome: str = "PASS", run_id: str = "run-1") -> str:
    folder = trained(registry, name)
    registry.record_trained(new_model(folder, run_id), judged(folder.digest, outcome))
    return folder.digest


def registered(registry: Registry, name: str) -> ModelVersionRow:
    return registry.register(recorded(registry, name), HOLDOUT, ACT)


def promoted(registry: Registry, name: str) -> ModelVersionRow:
    return registry.promote(MODEL, registered(registry, name).version, ACT)


def file_of(version: ModelVersionRow, name: str = "weights.safetensors") -> Path:
    folder = local_path(version.model_uri)
    assert folder is not None
    return folder / name


def states(registry: Registry) -> dict[int, str]:
    return {row.version: row.state for row in registry.versions(MODEL)}
