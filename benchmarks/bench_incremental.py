"""A new batch against everything kept before: by hash, and by hash and vector; cost and memory."""

import os
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from benchmarks.contender import BYTES_PER_KB
from driveflow.flow.sections import NearDuplicateSection
from filtering.kept_index import KeptFrames, KeptIndex, Known, NewFrames, thin_batch
from filtering.places import place_rows

OLD = int(os.environ.get("DRIVEFLOW_BENCH_OLD", "1000000"))
NEW = 1_000
DIMENSIONS = int(os.environ.get("DRIVEFLOW_BENCH_DIMENSIONS", "0"))  # 384: with vectors
SECTION = NearDuplicateSection(embedding="synthetic" if DIMENSIONS else "")
_PER_DRIVE = 5_000
_CLUSTERS = 20_000


def batch(name: str, count: int, seed: int) -> NewFrames:
    """Return frames of several drives, every other one a near-duplicate of one of the first batch."""
    random = np.random.default_rng(seed)
    shared = np.random.default_rng(0).integers(0, 2**63, max(OLD // 2, 1), dtype=np.uint64)
    codes = random.integers(0, 2**63, count, dtype=np.uint64)
    codes[::2] = shared[random.integers(0, len(shared), len(codes[::2]))] ^ np.uint64(1)
    ids = pa.array([f"{name}{number:08d}" for number in range(count)])
    nowhere = pa.nulls(count, pa.float64())
    drives = pa.array([f"{name} {number // _PER_DRIVE}" for number in range(count)])
    cameras = pa.repeat("front", count)
    columns = {"frame_id": ids, "batch": drives, "path": ids, "drive": drives, "camera": cameras}
    times = pa.array(np.arange(count) * 100_000_000)
    sources = pa.table({**columns, "captured_ns": times, "lat": nowhere, "lon": nowhere})
    return NewFrames(ids, codes, sources, np.zeros(count, np.int64), np.zeros(count, np.bool_))


def vectors(count: int, seed: int) -> np.ndarray:
    """Return rows of length 1 around centres that all batches share, far enough apart to be no duplicates."""
    centres = np.random.default_rng(1).standard_normal((_CLUSTERS, DIMENSIONS), dtype=np.float32)
    random = np.random.default_rng(seed)
    found = np.empty((count, DIMENSIONS), np.float32)
    for start in range(0, count, 8_192):
        rows = centres[random.integers(0, _CLUSTERS, len(found[start : start + 8_192]))]
        rows = rows + 0.6 * random.standard_normal(rows.shape, dtype=np.float32)
        found[start : start + 8_192] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


def known(old: int, new: int) -> Known:
    """Return the vectors of old and new frames; nothing where frames go by hash alone."""
    return Known(vectors=np.concatenate([vectors(old, 2), vectors(new, 3)]) if DIMENSIONS else None)


def main() -> None:
    """Print what the batch took, beside reading the index, and the peak memory of all of it."""
    with TemporaryDirectory() as folder:
        index = KeptIndex(Path(folder).as_uri(), "bench")
        index.keep("old", _everything("old", OLD))
        new = batch("new", NEW, 1)
        more = known(OLD, NEW)
        thin_batch(new, KeptFrames.none(), SECTION)  # compiles what is compiled
        began = time.perf_counter()
        before = index.load(["old"])
        loaded = time.perf_counter()
        outcome = thin_batch(new, before, SECTION, more)
        done = time.perf_counter()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_KB / 1e6
    by_what = f"hash and {DIMENSIONS}-d vector" if DIMENSIONS else "hash"
    print(f"{NEW:,} new frames against {OLD:,} kept before, by {by_what}")
    print(f"{'':40}{'seconds':>10}")
    print(f"{'read the index':40}{loaded - began:10.2f}")
    print(f"{'judge the batch':40}{done - loaded:10.2f}")
    print(f"dropped {len(outcome.twins.frame):,}; peak {peak_mb:,.0f} MB")


def _everything(name: str, count: int) -> KeptFrames:
    """Return all frames of a batch as kept, so that the index is as large as it is said to be."""
    new = batch(name, count, 0)
    places = place_rows(new.frame_ids, new.sources)
    return KeptFrames(new.frame_ids, new.phash64, places.select(KeptFrames.none().places.columns))


if __name__ == "__main__":
    main()
