"""A new batch against everything kept before, by hash and by hash and vector: cost, memory, and the answer of one run.

`DRIVEFLOW_BENCH_OLD` says how many frames were kept before, `DRIVEFLOW_BENCH_DIMENSIONS` how long vectors are, 0 for
none.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from driveflow import tables as columns
from driveflow.embeddings.vector_store import FrameVectors
from driveflow.flow.sections import NearDuplicateSection
from driveflow.id_places import IdPlaces
from driveflow.processes import peak_memory_bytes
from filtering.kept_index import Judged, KeptFrames, KeptIndex
from filtering.near_duplicates import Candidates, thin
from filtering.places import sightings
from filtering.thin_batch import BatchOutcome, Known, NewFrames, thin_batch

OLD = int(os.environ.get("DRIVEFLOW_BENCH_OLD", "1000000"))
NEW = 1_000
DIMENSIONS = int(os.environ.get("DRIVEFLOW_BENCH_DIMENSIONS", "384"))
SECTION = NearDuplicateSection(embedding="synthetic")
_PER_DRIVE = 5_000
_CLUSTERS = 20_000
_PART = 8_192
_MOST_CHECKED_BYTES = 1_000_000_000  # of vectors; one run over all holds several times as much


@dataclass(frozen=True, slots=True)
class Filed:
    """Vectors in a file, of which a part at a time is read."""

    frame_ids: pa.Array
    path: Path
    digest: str = "synthetic"

    def rows(self, frame_ids: pa.Array) -> np.ndarray:
        """Return a row for each of `frame_ids`."""
        vectors = np.memmap(self.path, np.float32, "r", shape=(len(self.frame_ids), DIMENSIONS))
        return np.array(vectors[IdPlaces(self.frame_ids).of(frame_ids)])

    def parts(self, frame_ids: pa.Array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield places among `frame_ids` and their vectors."""
        places = IdPlaces(frame_ids).of(self.frame_ids)
        for start in range(0, len(places), _PART):
            shape = (min(_PART, len(places) - start), DIMENSIONS)
            rows = np.fromfile(self.path, np.float32, shape[0] * DIMENSIONS, offset=4 * start * DIMENSIONS)
            here = places[start : start + _PART] >= 0
            yield places[start : start + _PART][here], rows.reshape(shape)[here]


def batch(name: str, count: int, seed: int) -> tuple[NewFrames, pa.Table]:
    """Return frames of several drives, every other one like a frame of the first batch, and their sources."""
    random = np.random.default_rng(seed)
    shared = np.random.default_rng(0).integers(0, 2**63, max(OLD // 2, 1), dtype=np.uint64)
    codes = random.integers(0, 2**63, count, dtype=np.uint64)
    codes[::2] = shared[random.integers(0, len(shared), len(codes[::2]))] ^ np.uint64(1)
    ids = pa.array([f"{name}{number:08d}" for number in range(count)])
    drives = pa.array([f"{name} {number // _PER_DRIVE}" for number in range(count)])
    nowhere, cameras = pa.nulls(count, pa.float64()), pa.repeat("front", count)
    table = {"frame_id": ids, "batch": drives, "path": ids, "drive": drives, "camera": cameras}
    times = pa.array(np.arange(count) * 100_000_000)
    frames = NewFrames(ids, codes, np.zeros(count, np.int64), np.zeros(count, np.bool_))
    return frames, pa.table({**table, "captured_ns": times, "lat": nowhere, "lon": nowhere})


def write_vectors(path: Path, count: int) -> None:
    """Write rows of length 1 around centres, far enough apart to be no duplicates but for every hundredth."""
    centres = np.random.default_rng(1).standard_normal((_CLUSTERS, DIMENSIONS), dtype=np.float32)
    random = np.random.default_rng(2)
    with path.open("wb") as file:
        for start in range(0, count, _PART):
            size = min(_PART, count - start)
            spread = np.where(random.random((size, 1)) < 0.01, 0.02, 0.6).astype(np.float32)
            rows = centres[random.integers(0, _CLUSTERS, size)]
            rows = rows + spread * random.standard_normal(rows.shape, dtype=np.float32)
            file.write((rows / np.linalg.norm(rows, axis=1, keepdims=True)).tobytes())


def main() -> None:
    """Print what the batch took, beside reading the index, and the peak memory of all of it."""
    old, old_sources = batch("old", OLD, 0)
    new, new_sources = batch("new", NEW, 1)
    sources = pa.concat_tables([old_sources, new_sources])
    with TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors"
        write_vectors(vectors, OLD + NEW)
        filed = Filed(pa.concat_arrays([old.frame_ids, new.frame_ids]), vectors) if DIMENSIONS else None
        known = Known(sources, vectors=filed)
        index = KeptIndex((Path(folder) / "store").as_uri())
        index.keep("old", Judged(_decided(old.frame_ids), KeptFrames(old.frame_ids, old.phash64)))
        thin_batch(batch("own", 2_000, 3)[0], KeptFrames.none(), SECTION, known)  # compiles what is compiled
        began, cpu_began_s = time.perf_counter(), time.process_time()
        held = index.load("old")
        loaded = time.perf_counter()
        outcome = thin_batch(new, KeptFrames.none() if held is None else held.kept, SECTION, known)
        done, cpu_s = time.perf_counter(), time.process_time() - cpu_began_s
        peak_mb, vectors_mb = peak_memory_bytes() / 1e6, 4 * OLD * DIMENSIONS / 1e6
        by_what = f"hash and {DIMENSIONS}-d vector" if DIMENSIONS else "hash"
        print(f"{NEW:,} new frames against {OLD:,} kept before, by {by_what}")
        print(f"{'':40}{'seconds':>10}")
        print(f"{'read the index':40}{loaded - began:10.2f}")
        print(f"{'judge the batch':40}{done - loaded:10.2f}")
        print(f"{'both, of processors':40}{cpu_s:10.2f}")
        print(f"dropped {len(outcome.twins.frame):,}; peak {peak_mb:,.0f} MB, vectors in files {vectors_mb:,.0f} MB")
        print(f"the answer of one run over all: {_agrees(outcome, old, new, known)}")


def _decided(frame_ids: pa.Array) -> pa.Table:
    count = len(frame_ids)
    texts = {name: pa.repeat("kept", count) for name in ("step", "verdict", "rule", "reason", "detail")}
    table = {field.name: pa.nulls(count, field.type) for field in columns.DECISIONS} | texts | {"frame_id": frame_ids}
    return pa.table(table).select(columns.DECISIONS.names).cast(columns.DECISIONS)


def _agrees(outcome: BatchOutcome, old: NewFrames, new: NewFrames, known: Known) -> str:
    """Return whether one search over old and new frames together says the same of the new ones."""
    size = 4 * (OLD + NEW) * DIMENSIONS
    if size > _MOST_CHECKED_BYTES:
        return f"not asked, its vectors alone are {size / 1e9:.1f} GB"
    frame_ids = pa.concat_arrays([old.frame_ids, new.frame_ids])
    rank = np.append(np.arange(OLD), np.full(NEW, OLD))
    held = None if known.vectors is None else FrameVectors(frame_ids, known.vectors.rows(frame_ids))
    twins = thin(
        Candidates(
            frame_ids=frame_ids,
            phash64=np.concatenate([old.phash64, new.phash64]),
            seen=sightings(frame_ids, known.sources),
            rank=rank,
            shielded=rank < OLD,
            vectors=held,
        ),
        SECTION,
    )
    found = outcome.twins
    mine, whole = np.argsort(found.frame), np.argsort(twins.frame)
    same = [
        np.array_equal(getattr(found, name)[mine], getattr(twins, name)[whole]) for name in ("frame", "twin", "score")
    ]
    return "the same" if all(same) else "ANOTHER"


if __name__ == "__main__":
    main()
