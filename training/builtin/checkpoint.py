"""Save where training is, in one file that holds numbers only, and go on from it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from driveflow.canonical import Json, canonical_json

FILE: Final = "checkpoint.safetensors"


@dataclass(slots=True)
class Place:
    """How far training is: what comes next, the sums of the epoch so far, and the metrics of those before."""

    epoch: int = 0
    step: int = 0
    sums: list[float] = field(default_factory=list)
    metrics: list[dict[str, Json]] = field(default_factory=list)


def save_checkpoint(folder: Path, tensors: Mapping[str, Tensor], place: Place) -> None:
    """Write the checkpoint so that it appears whole, or not at all."""
    told = canonical_json({"epoch": place.epoch, "step": place.step, "sums": place.sums, "metrics": place.metrics})
    hidden = folder / f".{FILE}.{os.getpid()}"
    save_file({name: value.detach().contiguous() for name, value in tensors.items()}, hidden, {"place": told})
    with hidden.open("rb") as file:
        os.fsync(file.fileno())
    hidden.replace(folder / FILE)


def load_checkpoint(folder: Path) -> tuple[dict[str, Tensor], Place] | None:
    """Return tensors and place, None where there is no checkpoint; a damaged one is as good as none."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["place"])
            return {name: file.get_tensor(name) for name in file.keys()}, Place(**told)  # noqa: SIM118 not a mapping
    except (SafetensorError, KeyError, TypeError, ValueError):
        return None
