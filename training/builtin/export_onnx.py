"""Write a trained network as ONNX, with the declaration of what goes in and comes out."""

import tempfile
import warnings
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from driveflow.detectors.declaration import HeatmapHead, InputDeclaration, ModelDeclaration
from training.builtin.network import STRIDE_PX, Network

_OPSET: Final = 17
_INPUT: Final = "pictures"
_OUTPUTS: Final = ("scores", "sides")


class _Answer(nn.Module):
    """The network with scores instead of logits, and sides in pixels instead of cells."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and sides."""
        logits, sides = self.network(pictures)
        return torch.sigmoid(logits), sides * float(STRIDE_PX)


def export_onnx(network: Network, size: tuple[int, int]) -> bytes:
    """Return the network as ONNX for one picture of `size` (width, height); equal weights give equal bytes."""
    example = torch.zeros(1, 3, size[1], size[0], dtype=torch.uint8)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "model.onnx"
        # The new exporter takes ten times as long and needs another package; the older one says so every time.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Answer(network).eval(),
            (example,),
            path,
            dynamo=False,
            opset_version=_OPSET,
            input_names=[_INPUT],
            output_names=list(_OUTPUTS),
        )
        return path.read_bytes()


def declaration(classes: tuple[str, ...], size: tuple[int, int]) -> ModelDeclaration:
    """Return what the exported network takes and gives."""
    return ModelDeclaration(
        kind="onnx",
        classes=classes,
        input=InputDeclaration(name=_INPUT, width=size[0], height=size[1]),
        head=HeatmapHead(scores=_OUTPUTS[0], sides=_OUTPUTS[1], stride=STRIDE_PX),
    )
