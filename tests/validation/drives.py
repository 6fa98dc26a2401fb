"""Hold-outs of several drives and models that are right with a stated chance, for the tests of gate and report."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driveflow.flow.sections import SliceSection, WhereSection
from tests.validation.scenes import boxes_table, frames_table, predictions_table, square
from validation.leak import LeakReport
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation
from validation.model.scene import EvaluationRequest

NIGHT = SliceSection(name="night", where=WhereSection(attributes={"time_of_day": ("night",)}))
RAIN = SliceSection(name="rain", where=WhereSection(attributes={"weather": ("rain",)}))
NO_LEAK = LeakReport(100, 100, 2, 0, 0, 0, 0, ())
OBJECTS = 4


@dataclass(frozen=True)
class Drives:
    """`groups` drives of `frames` frames with four objects each: every third at night, the last two in rain.

    `spread` says how much luckier a model is in some drives than in others.
    """

    groups: int = 30
    frames: int = 4
    classes: tuple[str, ...] = ("bus", "car")
    spread: float = 0.05

    def names(self) -> list[str]:
        return [f"d{group:03d}f{frame:03d}" for group in range(self.groups) for frame in range(self.frames)]

    def group(self, name: str) -> int:
        return int(name[1:4])

    def is_night(self, name: str) -> bool:
        return self.group(name) % 3 == 0

    def frames_table(self) -> pa.Table:
        attributes = {}
        for name in self.names():
            weather = "rain" if self.group(name) >= self.groups - 2 else "dry"
            time = "night" if self.is_night(name) else "day"
            attributes[name] = f'{{"time_of_day":"{time}","weather":"{weather}"}}'
        groups = {name: name[:4] for name in self.names()}
        return frames_table(self.names(), self.classes, drive_group=groups, attributes=attributes)

    def truth(self) -> list[tuple[str, str, tuple[float, float, float, float]]]:
        classes = self.classes
        return [(name, classes[k % len(classes)], square(20.0 * k)) for name in self.names() for k in range(OBJECTS)]


def measure(
    drives: Drives,
    chance: float,
    seed: int,
    *,
    night: float | None = None,
    holdout: str = "holdout-1",
) -> Evaluation:
    """A model that finds an object with `chance` (`night` at night), better in some drives than in others."""
    rng = np.random.default_rng(seed)
    luck = rng.normal(0, drives.spread, drives.groups)
    found = []
    for name, class_name, corners in drives.truth():
        wanted = chance if night is None or not drives.is_night(name) else night
        if rng.random() < wanted + luck[drives.group(name)]:
            found.append((name, class_name, corners, float(rng.uniform(0.3, 1.0))))
        if rng.random() < 0.1:
            found.append((name, class_name, square(300 + 20 * float(rng.random())), float(rng.uniform(0.0, 0.6))))
    return evaluate_drives(drives, found, f"model-{seed}", holdout)


def evaluate_drives(drives: Drives, found: Sequence, digest: str, holdout: str = "holdout-1") -> Evaluation:
    """The evaluation of predictions given as (frame, class, corners, score)."""
    return evaluate(
        EvaluationRequest(
            frames=drives.frames_table(),
            boxes=boxes_table(drives.truth()),
            predictions=predictions_table(found),
            classes=drives.classes,
            slices=(NIGHT, RAIN),
            holdout_id=holdout,
            model_digest=digest,
        )
    )
