"""Near vectors and k-center beside numpy, scikit-learn and faiss over the same vectors, one thread each.

DRIVEFLOW_BENCH_VECTORS says how many there are, DRIVEFLOW_BENCH_DIMENSIONS how long; `benchmarks.peers` tells where
faiss, a peer, comes from, which is left out beyond DRIVEFLOW_BENCH_MOST_FAISS_VECTORS (100,000). Last the filter itself
thins DRIVEFLOW_BENCH_FILTERED frames (1,000,000; 0: none) by vectors of 512 numbers, and may hold 8 GiB.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.contender import Figure, measure, print_table, run_as_contender

COUNT = int(os.environ.get("DRIVEFLOW_BENCH_VECTORS", "20000"))
DIMENSIONS = int(os.environ.get("DRIVEFLOW_BENCH_DIMENSIONS", "384"))
FILTERED = int(os.environ.get("DRIVEFLOW_BENCH_FILTERED", "1000000"))
FILTERED_DIMENSIONS = 512
MOST_FILTERED_MB = 8 * 2**30 / 1e6
LIMIT = 0.05
CENTRES = max(10, COUNT // 100)
RUN = 60  # frames of one drive through one place
PER_DRIVE = 5_000
FRAME_NS = 100_000_000
BLOCK = 1_000
ADDED = 1_000
ADD_PEER = "numpy, product of new and kept"
NEAR_PEER, CENTRE_PEER = "numpy, blocked product of all", "numpy, matrix times vector"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def vectors() -> np.ndarray:
    """Return vectors as embeddings of drives are: few axes hold most of it, and each frame is near the one before."""
    random = np.random.default_rng(11)
    spread = 1 / np.sqrt(1 + np.arange(DIMENSIONS))
    rows = np.empty((COUNT, DIMENSIONS), np.float32)
    for start in range(0, COUNT, RUN):
        run = rows[start : start + RUN]
        steps = random.normal(size=run.shape) * spread
        steps[1:] *= 0.06
        run[:] = np.cumsum(steps, axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def near_ours() -> Callable[[], float]:
    from driveflow.neighbours.leader_scan import NO_TIME, Memberships
    from driveflow.neighbours.vectors import VectorRules, follow_vectors

    def work(rows: np.ndarray) -> float:
        count = len(rows)
        alone = Memberships(np.arange(count + 1), np.zeros(count, int), np.full(count, NO_TIME), *[np.zeros(count)] * 3)
        rules = VectorRules(np.array([LIMIT]), np.array([False]))
        return float((follow_vectors(rows, alone, rules, np.zeros(count, bool)).leader == np.arange(count)).sum())

    rows = vectors()
    work(rows[:500])  # compiles
    return lambda: work(rows)


def added_ours() -> Callable[[], float]:
    """Ask the last frames beside all others, which are kept already."""
    from driveflow.neighbours.leader_scan import NO_TIME, Memberships
    from driveflow.neighbours.vectors import NearVectors, VectorRules

    def work(rows: np.ndarray, new: int) -> float:
        count, old = len(rows), len(rows) - new
        alone = Memberships(np.arange(count + 1), np.zeros(count, int), np.full(count, NO_TIME), *[np.zeros(count)] * 3)
        near = NearVectors(rows, alone, VectorRules(np.array([LIMIT]), np.array([False])), np.zeros(count, bool))
        near.pass_by(old)
        found = near.ask(new, np.ones(old, bool))
        return float((np.diff(found.starts) > 0).sum())

    rows = vectors()
    work(rows[:500], 100)  # compiles
    return lambda: work(rows, ADDED)


def added_numpy() -> Callable[[], float]:
    rows = vectors()

    def work() -> float:
        old, new = rows[:-ADDED], rows[-ADDED:]
        near = np.zeros(ADDED, bool)
        for start in range(0, len(old), BLOCK):
            near |= (new @ old[start : start + BLOCK].T >= 1 - LIMIT).any(axis=1)
        near |= np.tril(new @ new.T >= 1 - LIMIT, -1).any(axis=1)
        return float(near.sum())

    return work


def filtered() -> Callable[[], float]:
    """Thin frames by vector as the filter does, drive by drive and across drives; no hash is near another."""
    import pyarrow as pa

    from driveflow.embeddings.vector_store import FrameVectors
    from driveflow.flow.sections import NearDuplicateSection
    from filtering.near_duplicates import Candidates, thin
    from filtering.places import Sightings

    def candidates(rows: np.ndarray) -> Candidates:
        count = len(rows)
        frame, codes = np.arange(count), np.random.default_rng(3).integers(0, 2**63, count, dtype=np.uint64)
        times, nowhere = frame % PER_DRIVE * FRAME_NS, np.full((count, 3), np.nan)
        seen = Sightings(frame, frame // PER_DRIVE, np.zeros(count, int), times, nowhere, frame)
        ids = pa.array([f"{number:08d}" for number in range(count)])
        return Candidates(
            ids, codes, seen, np.zeros(count, int), np.zeros(count, bool), vectors=FrameVectors(ids, rows)
        )

    section = NearDuplicateSection(embedding="synthetic")
    rows = vectors()
    thin(candidates(rows[:500]), section)  # compiles
    asked = candidates(rows)
    return lambda: float(len(rows) - len(thin(asked, section).frame))


def near_blocked() -> Callable[[], float]:
    """Multiply every block with all before it; then keep what has no kept one near."""
    rows = vectors()

    def work() -> float:
        kept = np.zeros(COUNT, bool)
        for start in range(0, COUNT, BLOCK):
            near = rows[start : start + BLOCK] @ rows[: start + BLOCK].T >= 1 - LIMIT
            for item in range(start, min(start + BLOCK, COUNT)):
                kept[item] = not (near[item - start, :item] & kept[:item]).any()
        return float(kept.sum())

    return work


def near_kept_only() -> Callable[[], float]:
    """Multiply every block with what was kept before it, which our answer allows and a list of pairs does not."""
    rows = vectors()

    def work() -> float:
        kept = np.zeros(0, int)
        for start in range(0, COUNT, BLOCK):
            block = rows[start : start + BLOCK]
            free = ~(block @ rows[kept].T >= 1 - LIMIT).any(axis=1)
            among = block @ block.T >= 1 - LIMIT
            leads = np.zeros(len(block), bool)
            for item in range(len(block)):
                leads[item] = free[item] and not (among[item, :item] & leads[:item]).any()
            kept = np.concatenate([kept, start + np.flatnonzero(leads)])
        return float(len(kept))

    return work


def near_faiss() -> Callable[[], float]:
    import faiss

    rows = vectors()

    def work() -> float:
        index = faiss.IndexFlatIP(DIMENSIONS)
        index.add(rows)
        kept = np.zeros(COUNT, bool)
        for start in range(0, COUNT, BLOCK):
            limits, _, found = index.range_search(rows[start : start + BLOCK], 1 - LIMIT)
            for item in range(len(limits) - 1):
                near = found[limits[item] : limits[item + 1]]
                kept[start + item] = not kept[near[near < start + item]].any()
        return float(kept.sum())

    return work


def centre_ours() -> Callable[[], float]:
    from driveflow.neighbours.k_center import k_center

    rows = vectors()
    k_center(rows[:500], 5)  # compiles
    return lambda: float(k_center(rows, CENTRES).distance[-1])


def centre_numpy() -> Callable[[], float]:
    rows = vectors()
    return lambda: _greedy(rows, lambda row: 1 - rows @ row)


def centre_sklearn() -> Callable[[], float]:
    from sklearn.metrics import pairwise_distances

    rows = vectors()
    return lambda: _greedy(rows, lambda row: pairwise_distances(rows, row[None], metric="cosine")[:, 0])


def _greedy(rows: np.ndarray, apart: Callable[[np.ndarray], np.ndarray]) -> float:
    nearest, chosen, radius = np.full(len(rows), np.inf), 0, np.inf
    for _ in range(CENTRES - 1):
        nearest = np.minimum(nearest, apart(rows[chosen]))
        chosen = int(nearest.argmax())
        radius = float(nearest[chosen])
    return radius


NEAR: dict[str, Any] = {
    "driveflow, exact leader rule": near_ours,
    NEAR_PEER: near_blocked,
    "numpy, blocked product with kept only": near_kept_only,
}
ADD: dict[str, Any] = {"driveflow, new beside kept": added_ours, ADD_PEER: added_numpy}
CENTRE: dict[str, Any] = {
    "driveflow, k-center": centre_ours,
    CENTRE_PEER: centre_numpy,
    "scikit-learn, pairwise distances": centre_sklearn,
}
FAISS = "faiss Flat, range search"
FILTER = "driveflow, the filter by vector"
MOST_BY_FAISS = int(os.environ.get("DRIVEFLOW_BENCH_MOST_FAISS_VECTORS", "100000"))


def main() -> None:
    """Print the tables; the answers are how many are kept, and how far the last centre was from the others."""
    os.environ.update(ONE_THREAD)
    near = [measure("benchmarks.bench_vectors", name) for name in NEAR]
    faiss = peers.python_of("faiss")
    if faiss and COUNT <= MOST_BY_FAISS:
        near.append(_with_faiss(faiss))
    print_table(f"Leader rule over {COUNT:,} x {DIMENSIONS} vectors, cosine distance {LIMIT}", near, NEAR_PEER)
    print()
    added = [measure("benchmarks.bench_vectors", name) for name in ADD]
    print_table(f"{ADDED:,} frames beside {COUNT - ADDED:,} kept ones: how many have a near one", added, ADD_PEER)
    print()
    centre = [measure("benchmarks.bench_vectors", name) for name in CENTRE]
    print_table(f"k-center: {CENTRES:,} of {COUNT:,} x {DIMENSIONS} vectors", centre, CENTRE_PEER)
    if FILTERED:
        print()
        _print_filtered()


def _print_filtered() -> None:
    """Print what it takes to thin so many frames; the answer is how many are kept."""
    size = {"DRIVEFLOW_BENCH_VECTORS": str(FILTERED), "DRIVEFLOW_BENCH_DIMENSIONS": str(FILTERED_DIMENSIONS)}
    os.environ.update(size)
    figure = measure("benchmarks.bench_vectors", FILTER)
    vectors_mb = 4 * FILTERED * FILTERED_DIMENSIONS / 1e6
    title = (
        f"{FILTERED:,} frames by {FILTERED_DIMENSIONS}-d vector; vectors alone are {vectors_mb:,.0f} MB, 8 GiB allowed"
    )
    print_table(title, [figure], FILTER)
    if figure.peak_mb > MOST_FILTERED_MB:
        raise SystemExit(f"The filter held {figure.peak_mb:,.0f} MB, more than 8 GiB.")


def _with_faiss(python: str) -> Figure:
    command = [python, "-m", "benchmarks.bench_vectors", FAISS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values = json.loads(done.stdout.splitlines()[-1])
    return Figure(FAISS, values["cpu_s"], values["peak_mb"], values["answer"])


if __name__ == "__main__":
    sys.exit(run_as_contender({**NEAR, **ADD, **CENTRE, FAISS: near_faiss, FILTER: filtered}))
