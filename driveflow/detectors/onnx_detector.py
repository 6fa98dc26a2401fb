"""Run a model.onnx on pictures with onnxruntime."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any

import numpy as np

from driveflow.detectors.declaration import ModelDeclaration
from driveflow.detectors.detector import Detections
from driveflow.detectors.fitting import model_input
from driveflow.detectors.heads import Tensor, decode
from driveflow.detectors.model_folder import ONNX_FILE, ModelFolder
from driveflow.detectors.onnx_session import open_session, run_session
from driveflow.errors import IntegrityError
from driveflow.images.decode import Pixels

MIN_SCORE = 0.01  # weaker detections are never told
_INPUT_TYPES = {"uint8": "tensor(uint8)", "float32": "tensor(float)"}


class OnnxDetector:
    """A detector that runs an ONNX model picture by picture, on one thread each, so that no picture sees another."""

    batch_frames = 16

    def __init__(self, digest: str, declaration: ModelDeclaration, session: Any) -> None:  # noqa: ANN401 a session
        self.digest = digest
        self.classes = declaration.classes
        self._input, self._head = declaration.onnx_parts()
        self._session = session

    def predict(self, images: Sequence[Pixels]) -> list[Detections]:
        """Return what is in each picture (height x width x 3, RGB).

        Raises:
            IntegrityError: the model answers otherwise than it declares.
        """
        if len(images) < 2:
            return [self._predict_one(image) for image in images]
        with ThreadPoolExecutor(min(len(images), cpu_count() or 1)) as pool:
            return list(pool.map(self._predict_one, images))

    def _predict_one(self, image: Pixels) -> Detections:
        tensor, fit = model_input(image, self._input)
        outputs = self._run(tensor)
        size = self._input.width, self._input.height
        found = decode(self._head, outputs, len(self.classes), size, MIN_SCORE)
        found = found.take(np.flatnonzero(fit.shows_centre(found.boxes)))
        boxes = fit.back(found.boxes)
        whole = np.flatnonzero((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))
        names = tuple(self.classes[number] for number in found.numbers[whole].tolist())
        return Detections(boxes[whole], found.scores[whole], names)

    def _run(self, tensor: Any) -> dict[str, Tensor]:  # noqa: ANN401 an array of either type
        names = [name for name in (getattr(self._head, part, "") for part in ("scores", "sides", "boxes")) if name]
        values = run_session(self._session, names, {self._input.name: tensor}, f"Model {self.digest}")
        return {name: np.asarray(value, dtype=np.float32) for name, value in zip(names, values, strict=True)}


def open_onnx(folder: ModelFolder) -> OnnxDetector:
    """Return the detector of a model of kind onnx; its bytes are checked before they are opened.

    Raises:
        IntegrityError: the bytes are not those of the manifest, are no model, name files outside themselves, or take
            and give something else than the manifest declares.
    """
    session = open_session(folder.read(ONNX_FILE), f"{folder.uri}/{ONNX_FILE}")
    _check_names(session, folder)
    return OnnxDetector(folder.digest, folder.declaration, session)


def _check_names(session: Any, folder: ModelFolder) -> None:  # noqa: ANN401
    declared, head = folder.declaration.onnx_parts()
    taken = {item.name: item.type for item in session.get_inputs()}
    if taken != {declared.name: _INPUT_TYPES[declared.dtype]}:
        raise IntegrityError(f"{folder.uri} takes {taken}, its manifest says {declared.name!r} of {declared.dtype}.")
    given = {item.name for item in session.get_outputs()}
    wanted = {name for name in (getattr(head, part, "") for part in ("scores", "sides", "boxes")) if name}
    if not wanted <= given:
        raise IntegrityError(f"{folder.uri} gives {sorted(given)}, its head needs {sorted(wanted)}.")
