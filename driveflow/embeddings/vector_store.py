"""The vector of each frame under each model, kept once for all runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.embeddings.embedder import Vectors
from driveflow.id_places import IdPlaces, Ids, Ints, id_array, sorted_ids
from driveflow.part_files import read_parts, write_part
from driveflow.storage.objects import join

_BLOCK: Final = 4_096
_PART: Final = 8_192  # vectors that are handed on at once, or one part more


class VectorSource(Protocol):
    """Where the vectors of frames are taken from; `digest` is that of the model that made them."""

    @property
    def digest(self) -> str:
        """The digest of the model; empty where nobody needs to know."""

    def rows(self, frame_ids: pa.Array) -> Vectors:
        """Return a row for each of `frame_ids`, of zeros where a frame has no vector."""

    def parts(self, frame_ids: pa.Array) -> Iterator[tuple[Ints, Vectors]]:
        """Yield places among `frame_ids` and their vectors, a bounded number at once; a frame may come twice."""


@dataclass(frozen=True, slots=True)
class FrameVectors:
    """The frames that have a vector, sorted, and a row for each."""

    frame_ids: pa.Array
    vectors: Vectors
    digest: str = ""

    def rows(self, frame_ids: pa.Array) -> Vectors:
        """Return a row for each of `frame_ids`, of zeros where a frame has no vector."""
        found = np.zeros((len(frame_ids), self.vectors.shape[1]), np.float32)
        for places, vectors in self.parts(frame_ids):
            found[places] = vectors
        return found

    def parts(self, frame_ids: pa.Array) -> Iterator[tuple[Ints, Vectors]]:
        """Yield places among `frame_ids` and their vectors, a bounded number at once."""
        places = IdPlaces(frame_ids).of(self.frame_ids)
        known = np.flatnonzero(places >= 0)
        for start in range(0, len(known), _PART):
            part = known[start : start + _PART]
            yield places[part], self.vectors[part]


class VectorStore:
    """Vectors by (frame, model) under `<store>/vectors/<digest>/`, in parts named by the digest of their bytes.

    Parts are only ever added, so several processes may append at once; a part that is not what was written counts as
    missing, and its frames are embedded again.
    """

    def __init__(self, store: str, digest: str, dimensions: int) -> None:
        self.digest = digest
        self._folder = join(store, "vectors", digest)
        self._dimensions = dimensions

    def load(self, frame_ids: Ids) -> FrameVectors:
        """Return what is known of `frame_ids`; beside that a few parts at a time are in memory."""
        wanted = sorted_ids(frame_ids)
        vectors = np.zeros((len(wanted), self._dimensions), np.float32)
        known = np.zeros(len(wanted), np.bool_)
        for places, rows in self.parts(wanted):
            vectors[places], known[places] = rows, True
        return FrameVectors(wanted.filter(pa.array(known)), _moved_up(vectors, known), self.digest)

    def rows(self, frame_ids: pa.Array) -> Vectors:
        """Return a row for each of `frame_ids`, of zeros where a frame has no vector."""
        vectors = np.zeros((len(frame_ids), self._dimensions), np.float32)
        for places, rows in self.parts(frame_ids):
            vectors[places] = rows
        return vectors

    def parts(self, frame_ids: pa.Array) -> Iterator[tuple[Ints, Vectors]]:
        """Yield places among `frame_ids` and their vectors, a bounded number at once; a frame may come twice."""
        wanted, places, vectors, waiting = IdPlaces(frame_ids), list[Ints](), list[Vectors](), 0
        for ids, rows in self._parts():
            at = wanted.of(ids)
            here = np.flatnonzero(at >= 0)
            places, vectors, waiting = [*places, at[here]], [*vectors, rows[here]], waiting + len(here)
            if waiting >= _PART:
                yield np.concatenate(places), np.concatenate(vectors)
                places, vectors, waiting = [], [], 0
        if waiting:
            yield np.concatenate(places), np.concatenate(vectors)

    def known(self, frame_ids: Ids) -> pa.Array:
        """Return which of `frame_ids` have a vector, sorted, with no vector in memory but those of one part."""
        wanted = sorted_ids(frame_ids)
        places, known = IdPlaces(wanted), np.zeros(len(wanted), np.bool_)
        for ids, _ in self._parts():
            at = places.of(ids)
            known[at[at >= 0]] = True
        return wanted.filter(pa.array(known))

    def append(self, frame_ids: Ids, vectors: Vectors) -> None:
        """Keep a row for each of `frame_ids`; keeping them twice changes nothing.

        Raises:
            ValueError: there is not one row of the model's size for each frame.
        """
        ids = id_array(frame_ids)
        if vectors.shape != (len(ids), self._dimensions):
            raise ValueError(f"{len(ids)} frames go with ({len(ids)}, {self._dimensions}), got {vectors.shape}")
        if not len(ids):
            return
        order = pc.sort_indices(ids)
        raw = np.ascontiguousarray(vectors[order.to_numpy()], dtype="<f4").tobytes()
        width = 4 * self._dimensions
        rows = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(ids), [None, pa.py_buffer(raw)])
        write_part(self._folder, pa.table({"frame_id": ids.take(order), "vector": rows}), dense=True)

    def _parts(self) -> Iterator[tuple[pa.Array, Vectors]]:
        for part in read_parts(self._folder):
            table = part.combine_chunks()
            yield table["frame_id"].chunk(0), _rows(table["vector"].chunk(0), self._dimensions)


def _rows(column: pa.Array, dimensions: int) -> Vectors:
    whole: npt.NDArray[np.float32] = np.frombuffer(column.buffers()[1], "<f4")
    return whole.reshape(-1, dimensions)[column.offset : column.offset + len(column)]


def _moved_up(vectors: Vectors, known: npt.NDArray[np.bool_]) -> Vectors:
    """Return the known rows at the beginning of the same memory."""
    rows = np.flatnonzero(known)
    if len(rows) < len(vectors):
        for at in range(0, len(rows), _BLOCK):
            vectors[at : at + _BLOCK][: len(rows) - at] = vectors[rows[at : at + _BLOCK]]
    return vectors[: len(rows)]
