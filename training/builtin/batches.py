"""Which pictures a worker sees in which step, as tensors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from training.builtin.augment import Augmentation, Scene
from training.builtin.examples import IGNORED, Example, Examples
from training.builtin.levels import LEVELS, Level
from training.builtin.loss import TargetBatch
from training.builtin.pictures import PictureRows, fit_of
from training.builtin.targets import make_target
from training.contract import WorkerRank

_AUGMENTATION: Final = Augmentation()
_VAL_BATCH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The batches of one worker; `rows` has the pictures of `examples.everything`, in `size` (width, height).

    What a step sees depends on seed, epoch and step alone, so training can go on from any of them. The last batch of an
    epoch is filled up with pictures of its first.
    """

    examples: Examples
    rows: PictureRows
    size: tuple[int, int]
    seed: int
    batch_size: int  # over all workers
    worker: WorkerRank

    @property
    def steps(self) -> int:
        """How many steps an epoch has."""
        return -(-len(self.examples.train) // self._whole)

    def training(self, epoch: int, step: int) -> tuple[Tensor, list[TargetBatch]]:
        """Return this worker's share of the batch of `step` in `epoch`, changed at random."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.examples.train))
        batch = np.resize(order, self.steps * self._whole)[step * self._whole :][: self._whole]
        places = batch[self.worker.rank :: self.worker.world_size].tolist()
        scenes = [
            _AUGMENTATION.apply(self._scene(place), np.random.default_rng([self.seed, epoch, place, position]))
            for position, place in enumerate(places)
        ]
        return self._tensors(scenes, [self.examples.train[place] for place in places])

    def validation(self) -> Iterator[tuple[Tensor, list[TargetBatch]]]:
        """Yield this worker's share of the val frames as they are."""
        first = len(self.examples.train)
        mine = range(self.worker.rank, len(self.examples.val), self.worker.world_size)
        for start in range(0, len(mine), _VAL_BATCH):
            places = mine[start : start + _VAL_BATCH]
            scenes = [self._scene(first + place) for place in places]
            yield self._tensors(scenes, [self.examples.val[place] for place in places])

    @property
    def _whole(self) -> int:
        return max(self.batch_size, self.worker.world_size)

    def _scene(self, row: int) -> Scene:
        first = len(self.examples.train)
        example = self.examples.train[row] if row < first else self.examples.val[row - first]
        fit = fit_of(example, self.size)
        scales = np.array([fit.scale_x, fit.scale_y] * 2, dtype=np.float32)
        return Scene(np.asarray(self.rows[row]), example.boxes * scales, example.numbers)

    def _tensors(self, scenes: Sequence[Scene], examples: Sequence[Example]) -> tuple[Tensor, list[TargetBatch]]:
        pictures = torch.from_numpy(np.stack([scene.image for scene in scenes])).permute(0, 3, 1, 2)
        return pictures, [_targets(level, scenes, examples, level.grid(self.size)) for level in LEVELS]


def _targets(level: Level, scenes: Sequence[Scene], examples: Sequence[Example], grid: tuple[int, int]) -> TargetBatch:
    targets = []
    for scene, example in zip(scenes, examples, strict=True):
        mine = level.takes(scene.boxes) | (scene.numbers == IGNORED)
        targets.append(make_target(scene.boxes[mine], scene.numbers[mine], example.looked_for, grid, level.stride_px))
    return TargetBatch(
        *(
            torch.from_numpy(np.stack([getattr(target, name) for target in targets]))
            for name in ("heat", "counts", "box", "weight")
        )
    )
