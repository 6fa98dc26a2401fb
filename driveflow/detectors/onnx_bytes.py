"""Look into the bytes of an ONNX model before a runtime opens it: it may not name files outside itself."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from driveflow.errors import IntegrityError

# Field numbers of onnx.proto3 on the way from a model to every tensor it holds.
_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE, _FUNCTION, _TRAINING = range(8)
_INSIDE: Final = {
    _MODEL: {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION},
    _TRAINING: {1: _GRAPH, 2: _GRAPH},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_MOST_MESSAGES: Final = 1_000_000
_DEEPEST: Final = 64
_Field: TypeAlias = tuple[int, int, memoryview | int]  # number, wire type, payload or value


def refuse_external_files(data: bytes) -> None:
    """Raise IntegrityError where `data` is no ONNX model, or has a tensor whose values lie in another file."""
    waiting: list[tuple[int, memoryview, int]] = [(_MODEL, memoryview(data), 0)]
    seen = 0
    while waiting:
        kind, message, depth = waiting.pop()
        seen += 1
        if seen > _MOST_MESSAGES or depth > _DEEPEST:
            raise IntegrityError("The ONNX model is nested too deeply, or has too many parts, to be read safely.")
        inside = _INSIDE[kind]
        for number, wire, payload in _fields(message):
            if kind == _TENSOR and (number == _EXTERNAL_DATA or (number == _DATA_LOCATION and payload != 0)):
                raise IntegrityError("The ONNX model keeps values in another file, which is refused.")
            if number in inside and wire == 2 and isinstance(payload, memoryview):
                waiting.append((inside[number], payload, depth + 1))


def _fields(message: memoryview) -> Iterator[_Field]:
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        value: memoryview | int
        if wire == 0:
            value, at = _varint(message, at)
        elif wire in {1, 2, 5}:
            size, at = _varint(message, at) if wire == 2 else (8 if wire == 1 else 4, at)
            value, at = message[at : at + size], at + size
        else:
            raise IntegrityError("These bytes are no ONNX model.")
        if at > len(message):
            raise IntegrityError("The ONNX model ends in the middle.")
        yield tag >> 3, wire, value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise IntegrityError("The ONNX model ends in the middle.")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IntegrityError("These bytes are no ONNX model.")
