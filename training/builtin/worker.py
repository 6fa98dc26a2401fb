"""One worker of the built-in trainer, in the environment that the trainer contract promises."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save
from torch import distributed

from driveflow.canonical import Json, canonical_json
from driveflow.errors import InvalidInputError
from training.builtin.batches import Batches
from training.builtin.examples import canvas_size, read_examples
from training.builtin.export_onnx import declaration, export_onnx
from training.builtin.loop import Schedule, Trainer
from training.builtin.network import Network
from training.builtin.pictures import open_pictures, prepare_pictures
from training.contract import HOPELESS_EXIT_CODE, METRICS, OUTCOME, WorkerRank, read_folders, read_rank, read_settings


def main() -> int:
    """Train, and let worker 0 leave the model; return the exit code."""
    try:
        _train()
    except InvalidInputError as error:
        sys.stderr.write(f"{error}\n")
        return HOPELESS_EXIT_CODE
    return 0


def _train() -> None:
    torch.use_deterministic_algorithms(mode=True)
    # Nothing here reads what it has not written; the attribute is one of the module's class.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.set_num_threads(1)
    folders, settings, worker = read_folders(os.environ), read_settings(os.environ), read_rank(os.environ)
    examples = read_examples(folders.data)
    size = canvas_size(examples.train, settings.image_size_px)
    with _group(worker):
        path = prepare_pictures(examples.everything, size, folders.scratch, (worker.rank, worker.world_size))
        _wait_for_all(worker)
        batches = Batches(
            examples=examples,
            rows=open_pictures(path, len(examples.everything), size),
            size=size,
            seed=settings.seed,
            batch_size=settings.batch_size,
            worker=worker,
        )
        schedule = Schedule(
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            checkpoints=folders.checkpoints,
            note=lambda metrics: _write_metrics(folders.output, metrics),
        )
        network, _ = Trainer(batches, schedule).train()
        if worker.rank == 0:
            _leave(network, folders.output, examples.classes, size)
        _wait_for_all(worker)


@contextmanager
def _group(worker: WorkerRank) -> Iterator[None]:
    """Join the other workers, where there are any."""
    if worker.world_size == 1:
        yield
        return
    distributed.init_process_group("gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


def _wait_for_all(worker: WorkerRank) -> None:
    if worker.world_size > 1:
        distributed.barrier()


def _write_metrics(output: Path, metrics: list[dict[str, Json]]) -> None:
    _write(output / METRICS, "".join(canonical_json(line) + "\n" for line in metrics).encode())
    if metrics:
        sys.stderr.write(canonical_json(metrics[-1]) + "\n")


def _leave(network: Network, output: Path, classes: tuple[str, ...], size: tuple[int, int]) -> None:
    """Write the model; outcome.json last, since it says that the rest is there."""
    weights = {name: value.contiguous() for name, value in network.state_dict().items()}
    _write(output / "weights.safetensors", save(weights))
    _write(output / "model.onnx", export_onnx(network, size))
    _write(output / OUTCOME, canonical_json(declaration(classes, size).to_json()).encode())


def _write(path: Path, data: bytes) -> None:
    hidden = path.with_name(f".{path.name}")
    hidden.write_bytes(data)
    hidden.replace(path)


if __name__ == "__main__":
    sys.exit(main())
