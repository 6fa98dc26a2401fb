"""Read tensors out of a file that torch wrote before version 1.6, without torch and without running what it says."""

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.errors import IntegrityError

Tensors: TypeAlias = dict[str, npt.NDArray[np.float32]]

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_TYPES: Final[dict[str, Callable[[], str]]] = {"FloatStorage": lambda: "<f4", "LongStorage": lambda: "<i8"}


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: str


def read_tensors(data: bytes) -> Tensors:
    """Return the float tensors of a state dict by name.

    Raises:
        IntegrityError: it is no such file, or names anything but tensors.
    """
    try:
        return _read(io.BytesIO(data))
    except (pickle.UnpicklingError, ValueError, TypeError, KeyError, EOFError, IndexError, AttributeError) as error:
        raise IntegrityError(f"These are no tensors that torch wrote: {error or type(error).__name__}") from error


def _read(file: io.BytesIO) -> Tensors:
    if _Reader(file).load() != _MAGIC:
        raise ValueError("another beginning was expected")
    _Reader(file).load()  # the protocol
    _Reader(file).load()  # the machine
    reader = _Reader(file)
    named = reader.load()
    values = {key: _values(file, reader.dtypes[key]) for key in _Reader(file).load()}
    return {name: _array(tensor, values) for name, tensor in named.items() if values[tensor.storage].dtype == "<f4"}


def _values(file: io.BytesIO, dtype: str) -> Any:  # noqa: ANN401 of either type
    count = int.from_bytes(file.read(8), "little")
    return np.frombuffer(file.read(count * np.dtype(dtype).itemsize), dtype)


def _array(tensor: _Tensor, values: dict[str, Any]) -> npt.NDArray[np.float32]:
    """Return a tensor; numpy refuses one that reaches out of its storage."""
    strides = tuple(4 * step for step in tensor.strides)
    return np.ndarray(tensor.shape, "<f4", values[tensor.storage], 4 * tensor.offset, strides)


class _Reader(pickle.Unpickler):
    """An unpickler that knows four names and calls nothing else."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.dtypes: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Callable[..., object]:
        """Return what stands for a name; every name that is not a tensor's is refused."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:  # noqa: ANN401 what the file says
        """Return the storage that a tensor lies in."""
        _, kind, key, _, _, view = pid
        if view is not None:
            raise pickle.UnpicklingError("a storage is part of another")
        self.dtypes[key] = kind()
        return _Storage(key, self.dtypes[key])


def _tensor(storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> _Tensor:
    return _Tensor(storage.key, offset, shape, strides)
