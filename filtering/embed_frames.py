"""Turn frames into vectors once, on all cores, and keep what came out."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.embeddings.embedder import Embedder, Vectors
from driveflow.embeddings.vector_store import VectorStore
from driveflow.errors import BrokenDataError, IntegrityError, NotFoundError
from driveflow.id_places import sorted_ids
from driveflow.images.frame_bytes import FrameBytes
from driveflow.progress import Progress, silent

_CHUNK_FRAMES: Final = 256  # kept together: what a killed run has to do again


@dataclass(frozen=True, slots=True)
class EmbedCounts:
    """How many frames were embedded now, had a vector before, and have none because they cannot be read."""

    embedded: int
    known: int
    unreadable: int


def embed_frames(
    frame_ids: pa.Array | pa.ChunkedArray | Sequence[str],
    pixels: FrameBytes,
    embedder: Embedder,
    store: VectorStore,
    progress: Progress = silent,
) -> EmbedCounts:
    """Keep a vector for each of `frame_ids` in `store`, which must be that of the embedder's digest.

    Only frames without one are read; what is held in memory is a chunk of them. A frame that is missing, changed or
    cannot be decoded has no vector, and is looked for again at the next run.

    Raises:
        StorageError: the storage failed; what was embedded until then is kept.
        IntegrityError: the model answers otherwise than it declares.
    """
    wanted = sorted_ids(frame_ids)
    known = store.known(wanted)
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=known))).to_pylist()
    done = embedded = 0
    progress(len(known), len(wanted), "frames embedded")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="embed") as pool:
        for start in range(0, len(missing), _CHUNK_FRAMES):
            chunk = missing[start : start + _CHUNK_FRAMES]
            rows = list(pool.map(lambda frame_id: _embed_one(frame_id, pixels, embedder), chunk))
            found = [(frame_id, row) for frame_id, row in zip(chunk, rows, strict=True) if row is not None]
            if found:
                store.append([frame_id for frame_id, _ in found], np.concatenate([row for _, row in found]))
            done, embedded = done + len(chunk), embedded + len(found)
            progress(len(known) + done, len(wanted), "frames embedded")
    return EmbedCounts(embedded, len(known), len(missing) - embedded)


def _embed_one(frame_id: str, pixels: FrameBytes, embedder: Embedder) -> Vectors | None:
    try:
        data = pixels.read(frame_id)
    except (NotFoundError, IntegrityError):
        return None
    try:
        return embedder.embed([data])
    except BrokenDataError:
        return None
