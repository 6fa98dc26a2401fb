"""Train a model: once for the same data, settings, seed and code, wherever and however often it is asked for."""

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from driveflow.canonical import Json, canonical_json, digest, digest_bytes, sealed_json, unsealed_json
from driveflow.code_digest import package_digest
from driveflow.detectors.command_detector import own_python
from driveflow.detectors.model_folder import open_model, write_model
from driveflow.errors import DriveflowError, IntegrityError, NotFoundError, UsageError
from driveflow.flow.sections import TrainingSection
from driveflow.images.pixels import PixelReader
from driveflow.keeper import kept
from driveflow.progress import Progress, silent
from driveflow.snapshots import Snapshot
from driveflow.storage.objects import join, put_file, read_bytes, write_bytes
from training.contract import METRICS, TrainerFolders, read_outcome, trainer_environment
from training.export import export_snapshot
from training.local_launcher import LaunchPlan, launch
from training.mirror import CheckpointMirror

_BUILTIN: Final = ("-m", "training.builtin.worker")
_CODE: Final = ("training", "driveflow.detectors", "driveflow.formats", "driveflow.images")
_NOT_IN_THE_RESULT: Final = frozenset(["resources", "max_seconds"])


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What to train: a training snapshot (train and val frames), how, and where results and work in progress lie.

    `scratch` is a local folder, `store` a file:// or s3:// address.
    """

    snapshot: Snapshot
    settings: TrainingSection
    scratch: Path
    store: str
    pixels: PixelReader


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained model; `adopted` says that an earlier job had made it already."""

    digest: str
    uri: str
    metrics: Mapping[str, float]
    adopted: bool
    job_digest: str


def train(job: TrainingJob, progress: Progress = silent) -> TrainedModel:
    """Return the model of `job`: adopted where a job of the same digest is done and its model whole, else trained.

    A job that was interrupted, here or where only the store is shared, goes on from its last checkpoint and ends in
    the same model as one that was not. Call from the main thread.

    Raises:
        UsageError: the settings name no trainer.
        InvalidInputError: the trainer says that trying again cannot help.
        TrainingFailedError: the trainer failed too often, took too long, or left no usable result.
    """
    record = job_record(job)
    job_digest = digest(record)
    home = join(job.store, "training", job_digest)
    work = job.scratch / "training" / job_digest
    with _alone(work.with_suffix(".lock"), progress):
        found = _finished(job.store, home, job_digest)
        if found is not None:
            return found
        started_s = time.monotonic()
        attempts = _run(job, home, work, progress)
        trained = _publish(job, work / "output", record)
        told: dict[str, Json] = {
            "model": trained.digest,
            "metrics": dict(trained.metrics),
            "starts": attempts,
            "seconds": round(time.monotonic() - started_s, 1),
        }
        write_bytes(join(home, "result.json"), sealed_json(told))
        CheckpointMirror(work / "checkpoints", join(home, "checkpoints")).forget()
        shutil.rmtree(work, ignore_errors=True)
    return trained


def job_record(job: TrainingJob) -> dict[str, Json]:
    """Return everything that decides the result of `job`; its digest is the job's."""
    settings: dict[str, Json] = {
        name: value for name, value in asdict(job.settings).items() if name not in _NOT_IN_THE_RESULT
    }
    code: dict[str, Json] = {name: package_digest(name) for name in _CODE}
    return {
        "snapshot_id": job.snapshot.snapshot_id,
        "settings": settings,
        "seed": job.settings.seed,
        "code": code,
        "command": _command_files(job.settings.command),
        "torch": _torch_version() if job.settings.trainer == "builtin" else "",
    }


def _command_files(command: Sequence[str]) -> dict[str, Json]:
    """Return the digests of the files that a trainer's command names: a changed script is another job."""
    named = [part for whole in command for part in (whole, whole.partition("=")[2])]  # --config=city.yaml too
    return {str(Path(part)): digest_bytes(Path(part).read_bytes()) for part in named if _is_file(part)}


def _is_file(part: str) -> bool:
    try:
        return Path(part).is_file()
    except OSError:  # longer than a path may be: lines for `sh -c`, say
        return False


def _torch_version() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:
        raise UsageError("The built-in trainer needs PyTorch: install driveflow with the extra 'train'.") from None


@contextmanager
def _alone(lock: Path, progress: Progress) -> Iterator[None]:
    """Hold `lock`; a second process that wants the same job waits here, and then finds it finished."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(0, 0, "waiting for another run that trains the same job")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _finished(store: str, home: str, job_digest: str) -> TrainedModel | None:
    """Return the model of a finished job, None where there is none or where it does not stand any more."""
    try:
        result = unsealed_json(read_bytes(join(home, "result.json")))
        model = open_model(join(store, "models", result["model"]))
        model.verify()
    except (NotFoundError, IntegrityError, ValueError, KeyError, TypeError):
        return None
    return TrainedModel(model.digest, model.uri, result["metrics"], adopted=True, job_digest=job_digest)


def _run(job: TrainingJob, home: str, work: Path, progress: Progress) -> int:
    folders = TrainerFolders(*(work / name for name in ("data", "output", "checkpoints", "scratch")))
    logs = work / "logs"
    for folder in (folders.output, folders.checkpoints, folders.scratch, logs):
        folder.mkdir(parents=True, exist_ok=True)
    shape = "tables" if job.settings.trainer == "builtin" else job.settings.export
    export_snapshot(job.snapshot, job.pixels, shape, folders.data, progress)
    mirror = CheckpointMirror(folders.checkpoints, join(home, "checkpoints"))
    mirror.restore()
    plan = LaunchPlan(
        command=_command(job.settings),
        environment={**_environment(), **trainer_environment(folders, job.settings)},
        workers=job.settings.nodes * job.settings.workers_per_node,
        workers_per_node=job.settings.workers_per_node,
        folder=Path.cwd(),
        logs=logs,
        max_seconds=job.settings.max_seconds,
    )

    told = _lines(folders.output / METRICS)

    def watch() -> None:
        nonlocal told
        told = _tell(folders.output / METRICS, told)
        progress(_lines(folders.output / METRICS), job.settings.epochs, "epochs trained")
        mirror.save()

    try:
        return launch(plan, watch)
    finally:
        with suppress(DriveflowError, OSError):  # a log that cannot be kept must not hide why training ended
            for path in sorted(logs.glob("*.log")):
                put_file(path, join(home, "logs", path.name))


def _command(settings: TrainingSection) -> tuple[str, ...]:
    if settings.trainer == "builtin":
        return (sys.executable, *_BUILTIN)
    if not settings.command:
        raise UsageError("training.trainer is 'command', and training.command is empty: name the command to run.")
    return tuple(kept(own_python(settings.command)))


def _environment() -> dict[str, str]:
    """Return our environment so that a worker finds our packages from any folder, and no library starts threads."""
    home = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
    single = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {
        **os.environ,
        **single,
        "PYTHONPATH": path,
        "GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0",
        "PYTHONUNBUFFERED": "1",
    }


def _publish(job: TrainingJob, output: Path, record: Mapping[str, Json]) -> TrainedModel:
    outcome = read_outcome(output, job.snapshot.classes)
    about = canonical_json({"job": digest(record), **record}).encode()
    model = write_model(job.store, outcome.declaration, {**outcome.files, "training.json": about})
    return TrainedModel(model.digest, model.uri, outcome.metrics, adopted=False, job_digest=digest(record))


def _tell(path: Path, told: int) -> int:
    """Write what each epoch measured to the step's log, once, and return how many lines that were by now."""
    whole = path.read_bytes().rpartition(b"\n")[0].decode(errors="replace").splitlines() if path.is_file() else []
    for line in whole[told:]:
        sys.stderr.write(f"{line}\n")
    return max(told, len(whole))


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.is_file() else 0
