"""Which kind of model is opened by what."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from driveflow.detectors.command_detector import open_command
from driveflow.detectors.detector import Detector
from driveflow.detectors.model_folder import ModelFolder, open_model
from driveflow.detectors.onnx_detector import open_onnx

OPENERS: Final[Mapping[str, Callable[[ModelFolder, Path], Detector]]] = {
    "onnx": lambda folder, _: open_onnx(folder),
    "command": open_command,
}


def load_detector(model_uri: str, scratch: Path) -> Detector:
    """Return the detector at `model_uri`, each of its bytes checked; `scratch` is a local folder for copies.

    Raises:
        NotFoundError: there is no model, or a file of it is gone.
        IntegrityError: its bytes are not what its digest says, or it is not what it declares.
    """
    folder = open_model(model_uri)
    return OPENERS[folder.declaration.kind](folder, scratch)
