"""Train: every worker its share of every batch, one set of weights, the same result however often it is interrupted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, distributed, nn
from torch.func import functional_call

from driveflow.canonical import Json
from driveflow.errors import TrainingFailedError
from training.builtin.batches import Batches
from training.builtin.checkpoint import Place, load_checkpoint, save_checkpoint
from training.builtin.loss import SIDES_WEIGHT, LossSums, loss_sums
from training.builtin.network import Network
from training.builtin.optimizer import Optimizer

_MOST_GRADIENT: Final = 10.0
_WEIGHTS: Final = "weights/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long and how fast to train, and where to save: after each epoch, and in one that takes long.

    `note` is told the metrics of all epochs after each.
    """

    epochs: int
    learning_rate: float
    checkpoints: Path
    note: Callable[[list[dict[str, Json]]], None]
    save_every_s: float = 30.0


class Trainer:
    """Owns network and optimizer of one worker."""

    def __init__(self, batches: Batches, schedule: Schedule) -> None:
        torch.manual_seed(batches.seed)
        self._batches, self._schedule = batches, schedule
        self._workers = batches.worker.world_size
        self._network = Network(len(batches.examples.classes))
        self._optimizer = Optimizer(self._network, schedule.learning_rate, batches.steps * schedule.epochs)
        self._place = self._restored()
        self._parallel: nn.Module = self._network
        if self._workers > 1:
            self._parallel = nn.parallel.DistributedDataParallel(self._network)
            self._settle()

    def train(self) -> tuple[Network, list[dict[str, Json]]]:
        """Return the network with the average of its weights over the last steps, and the metrics of all epochs."""
        place, saved_s = self._place, time.monotonic()
        self._note()
        while place.epoch < self._schedule.epochs:
            while place.step < self._batches.steps:
                place.sums = [one + other for one, other in zip(place.sums or [0.0] * 4, self._step(), strict=True)]
                place.step += 1
                if time.monotonic() - saved_s > self._schedule.save_every_s and place.step < self._batches.steps:
                    saved_s = self._save()
            place.metrics.append(self._epoch_metrics())
            place.epoch, place.step, place.sums = place.epoch + 1, 0, []
            saved_s = self._save()
            self._note()
        self._network.load_state_dict(self._optimizer.average)
        return self._network, place.metrics

    def _settle(self) -> None:
        """Let the parallel wrapper order its buckets before the first real step.

        It does so once, after its first pass; a resumed worker would otherwise add gradients up in another order.
        """
        for _ in range(2):
            answers = self._parallel(torch.zeros(1, 3, 64, 64, dtype=torch.uint8))
            torch.autograd.backward(sum(part.sum() * 0.0 for answer in answers for part in answer))
        self._network.zero_grad(set_to_none=False)

    def _step(self) -> list[float]:
        """Make one step and return the sums over all workers: heat, sides, objects, weight."""
        place = self._place
        pictures, targets = self._batches.training(place.epoch, place.step)
        sums = loss_sums(self._parallel(pictures), targets)
        everyone = self._over_workers(sums)
        if not all(isfinite(value) for value in everyone):
            raise TrainingFailedError(
                f"The loss is no number in epoch {place.epoch + 1}; a lower learning_rate may help."
            )
        objects, weight = max(everyone[2], 1.0), max(everyone[3], 1e-3)
        loss = sums.heat / objects + SIDES_WEIGHT * sums.sides / weight
        # The wrapper averages gradients over workers, so each multiplies its part of the loss by their number.
        torch.autograd.backward(loss * self._workers)
        nn.utils.clip_grad_norm_(self._network.parameters(), _MOST_GRADIENT)
        self._optimizer.step(place.epoch * self._batches.steps + place.step)
        return everyone

    def _over_workers(self, sums: LossSums) -> list[float]:
        values = torch.stack([sums.heat, sums.sides, sums.objects, sums.weight]).detach().double()
        if self._workers > 1:
            distributed.all_reduce(values)
        return [float(value) for value in values]

    def _epoch_metrics(self) -> dict[str, Json]:
        heat, sides = _means(self._place.sums)
        last = (self._place.epoch + 1) * self._batches.steps - 1
        metrics: dict[str, Json] = {
            "epoch": self._place.epoch + 1,
            "loss": heat + SIDES_WEIGHT * sides,
            "heat_loss": heat,
            "sides_loss": sides,
            "learning_rate": self._optimizer.rate(last),
        }
        if self._batches.examples.val:
            heat, sides = _means(self._val_sums())
            metrics["val_loss"] = heat + SIDES_WEIGHT * sides
        return metrics

    def _val_sums(self) -> list[float]:
        total = LossSums(*(torch.zeros(()) for _ in range(4)))
        with torch.no_grad():
            for pictures, targets in self._batches.validation():
                answers = functional_call(self._network, self._optimizer.average, (pictures,))
                total = total.plus(loss_sums(answers, targets))
        return self._over_workers(total)

    def _save(self) -> float:
        """Save where training is, and return when that was."""
        if self._batches.worker.rank == 0:
            tensors: dict[str, Tensor] = {
                f"{_WEIGHTS}{name}": value for name, value in self._network.state_dict().items()
            }
            save_checkpoint(self._schedule.checkpoints, {**tensors, **dict(self._optimizer.tensors())}, self._place)
        return time.monotonic()

    def _restored(self) -> Place:
        """Go back to where the checkpoint is, and return that place; the beginning where there is none."""
        found = load_checkpoint(self._schedule.checkpoints)
        if found is None:
            return Place()
        tensors, place = found
        weights = {name.removeprefix(_WEIGHTS): value for name, value in tensors.items() if name.startswith(_WEIGHTS)}
        self._network.load_state_dict(weights)
        self._optimizer.load({name: value for name, value in tensors.items() if not name.startswith(_WEIGHTS)})
        return place

    def _note(self) -> None:
        if self._batches.worker.rank == 0:
            self._schedule.note(self._place.metrics)


def _means(sums: list[float]) -> tuple[float, float]:
    """Return heat loss an object, and sides loss a weight; rounded, since only people read them."""
    heat, sides, objects, weight = sums
    return round(heat / max(objects, 1.0), 6), round(sides / max(weight, 1e-3), 6)
