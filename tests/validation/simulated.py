"""Hold-outs that never were: two models whose luck differs from drive to drive, and the truth is known."""

from dataclasses import dataclass, replace

import numpy as np

from validation.model.scored import Measure, Scored, ScoredSlice
from validation.model.sweep import Sweep

EVERY = (1 << 10) - 1
OBJECTS = 4  # a frame


@dataclass(frozen=True)
class World:
    """`groups` drives of `frames` frames; what drives have in common (`place`), what one model has of it (`luck`).

    `slices` parts: half of them drives, half frames of all drives. `loss` is by how much the challenger is worse in
    the first slice, in units of its score; `three`: a last slice is of three drives, where it is hopeless.
    """

    groups: int = 30
    frames: int = 10
    place: float = 0.8
    luck: float = 0.7
    slices: int = 40
    loss: float = 0.0
    three: bool = False

    @property
    def frame_group(self) -> np.ndarray:
        return np.repeat(np.arange(self.groups), self.frames)

    def parts(self) -> tuple[ScoredSlice, ...]:
        rng = np.random.default_rng(self.slices)
        group, parts = self.frame_group, []
        for number in range(self.slices):
            if number % 2 == 0:
                drives = rng.permutation(self.groups)[: self.groups // 2]
                rows = np.flatnonzero(np.isin(group, drives))
            else:
                rows = np.flatnonzero(rng.random(len(group)) < 0.4)
            parts.append(ScoredSlice(f"part-{number:02d}", rows))
        if self.three:
            parts.append(ScoredSlice("three-drives", np.flatnonzero(group < 3)))
        return tuple(parts)


def two_models(world: World, seed: int) -> tuple[Scored, Scored]:
    """Return challenger and champion on the same hold-out; without `loss` only their luck differs."""
    rng = np.random.default_rng(seed)
    group = world.frame_group
    frame = np.repeat(np.arange(len(group)), OBJECTS)
    ease = rng.normal(0, world.place, world.groups)[group[frame]] + rng.normal(0, 0.5, len(frame))
    worse = np.zeros(len(group))
    parts = world.parts()
    if parts:
        worse[parts[0].rows] = world.loss
    if world.three:
        worse[parts[-1].rows] = 3.0
    models = []
    for name, lacks in (("challenger", worse[frame]), ("champion", np.zeros(len(frame)))):
        luck = rng.normal(0, world.luck, world.groups)[group[frame]]
        seen = 0.8 + ease + luck - lacks + rng.normal(0, 0.5, len(frame))
        models.append(_model(world, parts, name, (rng, frame, seen)))
    return models[0], models[1]


def by_frame(model: Scored) -> Scored:
    """Return the model as those see it who take frames for independent: each a drive of its own."""
    return replace(model, frame_group=np.arange(len(model.frame_group)))


def found_by_frame(model: Scored) -> np.ndarray:
    """Return how many objects a model finds in each frame."""
    hits = model.sweep.frame[model.sweep.right > 0]
    return np.bincount(hits, minlength=len(model.frame_group)).astype(float)


def correlation_within(values: np.ndarray, group: np.ndarray) -> float:
    """Return the intraclass correlation of values of frames within drives of one size (analysis of variance)."""
    drives = values.reshape(int(group.max()) + 1, -1)
    size = drives.shape[1]
    between = size * drives.mean(axis=1).var(ddof=1)
    within = drives.var(axis=1, ddof=1).mean()
    return float((between - within) / (between + (size - 1) * within))


def _model(world: World, parts: tuple[ScoredSlice, ...], name: str, made: tuple) -> Scored:
    rng, frame, seen = made
    false = rng.integers(0, len(world.frame_group), len(frame) // 3)
    found = seen > 0
    score = np.concatenate([seen[found] + rng.normal(0, 0.7, int(found.sum())), rng.normal(0, 1, len(false))])
    where = np.concatenate([frame[found], false])
    right = np.concatenate([np.full(int(found.sum()), EVERY), np.zeros(len(false))]).astype(np.uint16)
    order = np.argsort(-score)
    return Scored(
        measure=Measure("simulated", "simulated", "strict"),
        holdout_id="simulated",
        model_digest=name,
        classes=("car",),
        frame_group=world.frame_group,
        annotated=np.ones((len(world.frame_group), 1), bool),
        sweep=Sweep(
            start=np.array([0, len(order)]),
            frame=where[order].astype(np.int32),
            tied=np.zeros(len(order), bool),
            late=np.zeros(len(order), bool),
            right=right[order],
            counted=np.full(len(order), EVERY, np.uint16),
            object_frame=frame.astype(np.int32),
            object_label=np.zeros(len(frame), np.int32),
        ),
        slices=parts,
    )
