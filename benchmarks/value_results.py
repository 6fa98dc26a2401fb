"""Keep what each seed of the value experiment gave, so that a run that was interrupted goes on where it was."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.value_experiment import Outcome
from driveflow.canonical import Json, canonical_json, digest


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """A file for each seed in a folder that the design names: what was run otherwise lies elsewhere."""

    folder: Path

    @classmethod
    def of(cls, work: Path, design: Mapping[str, Json]) -> "ResultFolder":
        """Return the folder for `design`, which says everything that decides a result; it is kept there to read."""
        folder = work / "results" / digest(dict(design))[:16]
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "design.json", canonical_json(dict(design)))
        return cls(folder)

    def known(self, seed: int) -> Outcome | None:
        """Return what `seed` gave; None where it was not run to its end."""
        try:
            return Outcome(**json.loads(self._file(seed).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, outcome: Outcome) -> None:
        """Keep what a seed gave."""
        _write(self._file(outcome.seed), canonical_json(asdict(outcome)))

    def _file(self, seed: int) -> Path:
        return self.folder / f"seed_{seed:03d}.json"


def _write(path: Path, text: str) -> None:
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    hidden.write_text(text, encoding="utf-8")
    hidden.replace(path)
