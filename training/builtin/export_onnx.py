"""Write a trained network as ONNX, with the declaration of what goes in and comes out."""

import tempfile
import warnings
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from driveflow.detectors.declaration import BoxesHead, InputDeclaration, ModelDeclaration
from training.builtin.levels import LEVELS
from training.builtin.network import Network

_OPSET: Final = 17
_INPUT: Final = "pictures"
_OUTPUTS: Final = ("boxes", "scores")


class _Boxes(nn.Module):
    """The network with one list of boxes: every cell's, scored 0 where a neighbour scores the class higher."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return boxes (n, cells, 4) in pixels and scores (n, cells, classes)."""
        boxes, scores = [], []
        for (logits, sides), level in zip(self.network(pictures), LEVELS, strict=True):
            heat = torch.sigmoid(logits)
            highest = functional.max_pool2d(heat, 3, 1, 1)
            scores.append((heat * (heat == highest).float()).flatten(2).transpose(1, 2))
            boxes.append(_spelled(sides, float(level.stride_px)).flatten(2).transpose(1, 2))
        return torch.cat(boxes, 1), torch.cat(scores, 1)


def _spelled(sides: Tensor, stride_px: float) -> Tensor:
    """Return distances to sides, in cells, as x1, y1, x2, y2 in pixels."""
    rows, columns = sides.shape[-2:]
    x = (torch.arange(columns) + 0.5).expand(rows, columns)
    y = (torch.arange(rows) + 0.5)[:, None].expand(rows, columns)
    centres = torch.stack([x, y, x, y])
    return (centres + sides * torch.tensor([-1.0, -1.0, 1.0, 1.0])[:, None, None]) * stride_px


def export_onnx(network: Network, size: tuple[int, int]) -> bytes:
    """Return the network as ONNX for one picture of `size` (width, height); equal weights give equal bytes."""
    example = torch.zeros(1, 3, size[1], size[0], dtype=torch.uint8)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / "model.onnx"
        # The new exporter takes ten times as long and needs another package; the older one says so every time.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Boxes(network).eval(),
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
        head=BoxesHead(boxes=_OUTPUTS[0], scores=_OUTPUTS[1]),
    )
