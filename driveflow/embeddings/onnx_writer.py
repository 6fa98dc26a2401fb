"""Write an ONNX model as its specification says, without a library: nodes, weights, one input, one output."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Attribute: TypeAlias = int | str | tuple[int, ...]

_OPSET: Final = 13
_IR_VERSION: Final = 8
_FLOAT: Final = 1  # TensorProto.FLOAT
_INT, _STRING, _INTS = 2, 3, 7  # AttributeProto.AttributeType
_BATCH: Final = "pictures"


@dataclass(slots=True)
class GraphWriter:
    """Nodes and weights of a graph in the making, each value known by its name; `bytes_of` ends it."""

    nodes: list[bytes] = field(default_factory=list)
    weights: list[bytes] = field(default_factory=list)

    def weight(self, name: str, values: npt.NDArray[np.float32]) -> str:
        """Add a constant and return its name."""
        dims = b"".join(_number(1, size) for size in values.shape)
        raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
        self.weights.append(dims + _number(2, _FLOAT) + _bytes(8, name.encode()) + _bytes(9, raw))
        return name

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Attribute) -> str:
        """Add an operation and return the name of its output."""
        told = b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
        names = b"".join(_bytes(1, name.encode()) for name in inputs)
        self.nodes.append(names + _bytes(2, output.encode()) + _bytes(4, kind.encode()) + told)
        return output

    def bytes_of(self, taken: str, taken_shape: Sequence[int], given: str, given_shape: Sequence[int]) -> bytes:
        """Return the model with input `taken` and output `given`; both have any number of pictures before `shape`."""
        graph = b"".join(_bytes(1, node) for node in self.nodes) + _bytes(2, b"graph")
        graph += b"".join(_bytes(5, weight) for weight in self.weights)
        graph += _bytes(11, _value(taken, taken_shape)) + _bytes(12, _value(given, given_shape))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + _bytes(8, _number(2, _OPSET))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name.encode()) + _number(3, value) + _number(20, _INT)
    if isinstance(value, str):
        return _bytes(1, name.encode()) + _bytes(4, value.encode()) + _number(20, _STRING)
    return _bytes(1, name.encode()) + b"".join(_number(8, item) for item in value) + _number(20, _INTS)


def _value(name: str, shape: Sequence[int]) -> bytes:
    dims = _bytes(1, _bytes(2, _BATCH.encode())) + b"".join(_bytes(1, _number(1, size)) for size in shape)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, _FLOAT) + _bytes(2, dims)))


def _number(key: int, value: int) -> bytes:
    return _varint(key << 3) + _varint(value)


def _bytes(key: int, value: bytes) -> bytes:
    return _varint(key << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    told = bytearray()
    while value > 0x7F:
        told.append(value & 0x7F | 0x80)
        value >>= 7
    told.append(value)
    return bytes(told)
