"""Near-duplicate search: the exact leader rule beside faiss, imagededup and a blocked brute force, over equal hashes.

`benchmarks.peers` tells where peers come from. DRIVEFLOW_BENCH_HASHES says how many hashes, in place of
10,000, 100,000 and 1,000,000: 10,000,000 take ours a quarter of a minute, and faiss hours; beyond
DRIVEFLOW_BENCH_MOST_FAISS (100,000) hashes it is left out.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.contender import Figure, measure, print_table, run_as_contender

COUNTS = [int(count) for count in os.environ.get("DRIVEFLOW_BENCH_HASHES", "10000,100000,1000000").split(",")]
COUNT = int(os.environ.get("DRIVEFLOW_BENCH_COUNT", "10000"))  # of one contender
MAX_BITS = 6
RUN = 50  # frames that show one place
PER_DRIVE = 2_000
FRAME_NS, STANDSTILL_NS = 100_000_000, 10_000_000_000
MODULE = "benchmarks.bench_neighbours"
OURS, RULES = "driveflow, leader rule over hashes", "driveflow, by drive and camera, floors"
BRUTE, FAISS = "brute force, blocked", "faiss IndexBinaryMultiHash, 4 x 16"
IMAGEDEDUP = "imagededup, brute_force_cython"
MOST_BY_RULES = 1_000_000
MOST_BY_BRUTE_FORCE = 100_000
MOST_BY_FAISS = int(os.environ.get("DRIVEFLOW_BENCH_MOST_FAISS", "100000"))
MOST_BY_IMAGEDEDUP = 10_000  # ten times as many take it a hundred times as long, and 90 GB


def hashes() -> np.ndarray:
    """Return hashes with long near-duplicate runs, as slow drives have: each run is a random walk of single bits."""
    random = np.random.default_rng(7)
    flips = np.uint64(1) << random.integers(0, 64, COUNT).astype(np.uint64)
    flips[random.random(COUNT) >= 0.4] = 0
    starts = random.integers(0, 2**63, len(flips[::RUN]), dtype=np.uint64)
    flips[::RUN] = 0
    walk = np.bitwise_xor.accumulate(flips)
    return np.asarray(walk ^ np.repeat(starts ^ walk[::RUN], RUN)[:COUNT])


def ours() -> Callable[[], float]:
    """Return the search of driveflow; what is compiled is compiled before."""
    from driveflow.neighbours.hamming import leaders

    def work(codes: np.ndarray) -> float:
        return float((leaders(codes, MAX_BITS).leader == np.arange(len(codes))).sum())

    codes = hashes()
    work(np.random.default_rng(1).integers(0, 2**63, 3_000, dtype=np.uint64))  # compiles
    return lambda: work(codes)


def with_rules() -> Callable[[], float]:
    """Return the search that the filter runs: by drive and by camera, with floors that are asked and forbid nothing."""
    from driveflow.neighbours.leader_scan import follow

    def work(codes: np.ndarray, asked: tuple[Any, Any]) -> float:
        found = follow(codes, *asked, np.zeros(len(codes), np.bool_))
        return float((found.leader == np.arange(len(codes))).sum())

    codes, asked = hashes(), drives(COUNT)
    work(codes[:100], drives(100))  # compiles
    return lambda: work(codes, asked)


def drives(count: int) -> tuple[Any, Any]:
    """Return that one camera took so many frames, ten a second, drive by drive, and the rules of the filter."""
    from driveflow.neighbours.leader_scan import NO_TIME, GroupRules, Memberships

    drive, step = np.divmod(np.arange(count), PER_DRIVE)
    camera = drive[-1] + 1
    group = np.stack([drive, np.full(count, camera)], axis=1).reshape(-1)
    times = np.stack([step * FRAME_NS, np.full(count, NO_TIME)], axis=1).reshape(-1)
    along_m = np.stack([step * 0.7, np.full(count, np.nan)], axis=1).reshape(-1)
    is_drive = np.arange(camera + 1) < camera
    members = Memberships(2 * np.arange(count + 1), group, times, along_m, np.zeros(2 * count), np.zeros(2 * count))
    limits, never = np.full(camera + 1, MAX_BITS), np.zeros(camera + 1, np.bool_)
    rules = GroupRules(limits, never, is_drive, floor_ns=FRAME_NS, standstill_ns=STANDSTILL_NS, floor_m=0.5)
    return members, rules


def brute_force() -> Callable[[], float]:
    """Return a search that compares every hash with every kept one."""
    codes = hashes()

    def work() -> float:
        kept = np.empty(len(codes), np.uint64)
        count = 0
        for code in codes:
            if count == 0 or int(np.bitwise_count(kept[:count] ^ code).min()) > MAX_BITS:
                kept[count] = code
                count += 1
        return float(count)

    return work


def with_faiss() -> Callable[[], float]:
    """Return a search by faiss: every hash within the radius of each, and the leader rule over the pairs."""
    import faiss

    faiss.omp_set_num_threads(1)
    codes = hashes()
    rows = codes.view(np.uint8).reshape(-1, 8)

    def work() -> float:
        index = faiss.IndexBinaryMultiHash(64, 4, 16)  # four tables of 16 bits
        index.nflip = 1  # so that every pair within 4 bits is found
        index.add(rows)
        leads = np.ones(len(codes), bool)
        for start in range(0, len(codes), 10_000):
            limits, _, near = index.range_search(rows[start : start + 10_000], MAX_BITS + 1)
            for place in range(len(limits) - 1):
                item = start + place
                others = near[limits[place] : limits[place + 1]]
                leads[item] = not leads[others[others < item]].any()
        return float(leads.sum())

    return work


def with_imagededup() -> Callable[[], float]:
    """Return a search by imagededup: the hashes within the radius of each, and the leader rule over the pairs."""
    from imagededup.methods import PHash

    hasher = PHash(verbose=False)
    named = {str(place): f"{code:016x}" for place, code in enumerate(hashes().tolist())}

    def work() -> float:
        near = hasher.find_duplicates(
            encoding_map=named, max_distance_threshold=MAX_BITS, search_method="brute_force_cython", num_dist_workers=0
        )
        kept: set[int] = set()
        for place in range(len(named)):
            if not any(int(other) in kept for other in near[str(place)]):
                kept.add(place)
        return float(len(kept))

    return work


CONTENDERS = {OURS: ours, RULES: with_rules, BRUTE: brute_force, FAISS: with_faiss, IMAGEDEDUP: with_imagededup}


def main() -> None:
    """Print a table for each count; the answer is how many hashes are kept, and must be the same."""
    for count in COUNTS:
        os.environ["DRIVEFLOW_BENCH_COUNT"] = str(count)
        figures = list(figures_of(count))
        print_table(f"Leader rule over {count:,} 64-bit hashes, {MAX_BITS} bits", figures, figures[-1].name)
        if len({figure.answer for figure in figures}) > 1:
            raise SystemExit("The contenders do not keep the same number of hashes.")


def figures_of(count: int) -> list[Figure]:
    """Return the figures of all that can do `count` hashes here, the peer last."""
    faiss, imagededup = (peers.python_of(name) for name in ("faiss", "imagededup"))
    figures = [measure(MODULE, OURS)]
    if count <= MOST_BY_RULES:
        figures.append(measure(MODULE, RULES))
    if count <= MOST_BY_BRUTE_FORCE:
        figures.append(measure(MODULE, BRUTE))
    if imagededup and count <= MOST_BY_IMAGEDEDUP:
        figures.append(measure(MODULE, IMAGEDEDUP, imagededup))
    if faiss and count <= MOST_BY_FAISS:
        figures.append(measure(MODULE, FAISS, faiss))
    return figures


if __name__ == "__main__":
    run_as_contender(CONTENDERS)
