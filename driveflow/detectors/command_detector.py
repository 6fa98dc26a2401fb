"""Run a model that is a command: the predictor that a trainer of any framework leaves behind.

The command runs in a copy of its model's folder, with three variables: `DRIVEFLOW_MODEL`, that folder;
`DRIVEFLOW_PICTURES`, a folder of PNG pictures; `DRIVEFLOW_PREDICTIONS`, the file it writes, one JSON object a line:
`{"picture": "000000.png", "boxes": [{"class_name", "score", "x1", "y1", "x2", "y2"}, ...]}`, in pixels of the picture.
A picture without a line has no boxes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driveflow.detectors.detector import Detections
from driveflow.detectors.model_folder import ModelFolder
from driveflow.errors import IntegrityError
from driveflow.images.decode import Pixels
from driveflow.keeper import kept
from driveflow.processes import spawn, stop_group

MAX_SECONDS = 1800.0
MAX_ANSWER_BYTES = 1 << 28
_LOG_LINES = 5


@dataclass(frozen=True, slots=True)
class CommandDetector:
    """A detector that starts `command` in `folder` for every call."""

    digest: str
    classes: tuple[str, ...]
    command: tuple[str, ...]
    folder: Path
    max_seconds: float = MAX_SECONDS
    batch_frames: int = 128

    def predict(self, images: Sequence[Pixels]) -> list[Detections]:
        """Return what is in each picture (height x width x 3, RGB). Call from the main thread.

        Raises:
            IntegrityError: the command fails, takes too long, or answers what is no prediction.
        """
        if not images:
            return []
        with tempfile.TemporaryDirectory(prefix="driveflow-predict-") as work:
            names = _write_pictures(Path(work) / "pictures", images)
            self._run(Path(work))
            answers = self._read_answers(Path(work) / "predictions.jsonl")
        unknown = sorted(set(answers) - set(names))
        if unknown:
            raise IntegrityError(f"Model {self.digest} tells of pictures that it was not given: {unknown[:5]}.")
        return [self._detections(answers.get(name, []), name) for name in names]

    def _run(self, work: Path) -> None:
        environment = {
            **os.environ,
            "DRIVEFLOW_MODEL": str(self.folder),
            "DRIVEFLOW_PICTURES": str(work / "pictures"),
            "DRIVEFLOW_PREDICTIONS": str(work / "predictions.jsonl"),
        }
        log = work / "log"
        with log.open("wb") as stream:
            process = spawn(kept(own_python(self.command)), env=environment, cwd=self.folder, stdout=stream)
            try:
                code = process.wait(self.max_seconds)
            except subprocess.TimeoutExpired:
                raise IntegrityError(f"Model {self.digest} did not answer in {self.max_seconds:.0f} s.") from None
            finally:
                stop_group(process)
        if code != 0:
            told = " | ".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
            raise IntegrityError(f"Model {self.digest} ended with exit code {code}: {told}")

    def _read_answers(self, path: Path) -> dict[str, list[Mapping[str, Any]]]:
        if not path.is_file():
            raise IntegrityError(f"Model {self.digest} wrote no predictions.")
        if path.stat().st_size > MAX_ANSWER_BYTES:
            raise IntegrityError(f"Model {self.digest} wrote more than {MAX_ANSWER_BYTES} bytes of predictions.")
        answers: dict[str, list[Mapping[str, Any]]] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            try:
                row = json.loads(line)
                answers.setdefault(row["picture"], []).extend(row["boxes"])
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                told = f"Line {number} of what model {self.digest} wrote is no prediction: {error!r}"
                raise IntegrityError(told) from error
        return answers

    def _detections(self, boxes: list[Mapping[str, Any]], name: str) -> Detections:
        try:
            rows = [
                (round(float(box["score"]), 4), str(box["class_name"]), [float(box[side]) for side in _SIDES])
                for box in boxes
            ]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise IntegrityError(f"Model {self.digest} gives a box of {name} that cannot be read: {error!r}") from error
        odd = [row for row in rows if row[1] not in self.classes or not 0 <= row[0] <= 1 or not _is_whole(row[2])]
        if odd:
            raise IntegrityError(f"Model {self.digest} gives a box of {name} that is none: {odd[0]}.")
        rows.sort(key=lambda row: (-row[0], row[1], row[2]))
        return Detections(
            np.array([row[2] for row in rows], dtype=np.float64).reshape(-1, 4),
            np.array([row[0] for row in rows], dtype=np.float64),
            tuple(row[1] for row in rows),
        )


_SIDES = ("x1", "y1", "x2", "y2")


def open_command(folder: ModelFolder, scratch: Path) -> CommandDetector:
    """Return the detector of a model of kind command, its files copied under `scratch` and checked."""
    local = scratch / "models" / folder.digest
    folder.fetch(local)
    return CommandDetector(folder.digest, folder.declaration.classes, folder.declaration.command, local)


def own_python(command: Sequence[str]) -> list[str]:
    """Return `command` with a leading "python" or "python3" spelled as the interpreter that runs driveflow.

    >>> own_python(["true"])
    ['true']
    """
    is_python = command[0] in {"python", "python3"}
    return [sys.executable if is_python else command[0], *command[1:]]


def _write_pictures(folder: Path, images: Sequence[Pixels]) -> list[str]:
    import cv2

    folder.mkdir()
    names = [f"{number:06d}.png" for number in range(len(images))]
    for name, image in zip(names, images, strict=True):
        (folder / name).write_bytes(cv2.imencode(".png", image[:, :, ::-1])[1].tobytes())
    return names


def _is_whole(box: list[float]) -> bool:
    x1, y1, x2, y2 = box
    return bool(np.isfinite(box).all()) and x2 > x1 and y2 > y1
