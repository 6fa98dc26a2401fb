"""Find where ids stand among many others, piece by piece."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = pa.Array | pa.ChunkedArray | Iterable[str]


def id_array(ids: Ids) -> pa.Array:
    """Return ids in one piece."""
    if isinstance(ids, pa.ChunkedArray):
        return ids.combine_chunks()
    return ids if isinstance(ids, pa.Array) else pa.array(list(ids), pa.string())


def sorted_ids(ids: Ids) -> pa.Array:
    """Return ids sorted, each once.

    >>> sorted_ids(["b", "a", "b"]).to_pylist()
    ['a', 'b']
    """
    distinct = (ids if isinstance(ids, pa.ChunkedArray) else id_array(ids)).unique()
    return distinct.take(pc.sort_indices(distinct))


class IdPlaces:
    """The places of many ids, sorted once: a question costs what is asked, not what is known.

    >>> IdPlaces(pa.array(["b", "a"])).of(pa.array(["a", "c"])).tolist()
    [1, -1]
    """

    def __init__(self, ids: pa.Array | pa.ChunkedArray) -> None:
        names = _names(ids)
        self._order = np.arange(len(names))
        if (names[1:] < names[:-1]).any():
            self._order = np.argsort(names, kind="stable")
            names = names[self._order]
        self._names = names

    def of(self, ids: pa.Array | pa.ChunkedArray) -> Ints:
        """Return the place of each of `ids`; -1 where it is not among the known ones."""
        asked = _names(ids)
        if not len(self._names) or not len(asked):
            return np.full(len(asked), -1)
        at = np.minimum(np.searchsorted(self._names, asked), len(self._names) - 1)
        return np.asarray(np.where(self._names[at] == asked, self._order[at], -1))


def _names(ids: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bytes_]:
    return np.array(ids.cast(pa.binary()).to_pylist(), np.bytes_)
