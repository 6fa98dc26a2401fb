"""Near-duplicate search: the exact leader rule beside a blocked brute force over the same hashes."""

from collections.abc import Callable

import numpy as np

from benchmarks.contender import measure, print_table, run_as_contender

HASHES = 100_000
MAX_BITS = 4
PEER = "brute force, blocked"


def hashes() -> np.ndarray:
    """Return hashes with long near-duplicate runs, as slow drives have: each run is a random walk of single bits."""
    random = np.random.default_rng(7)
    codes = np.empty(HASHES, np.uint64)
    for number in range(HASHES):
        if number % 50 == 0:
            code = int(random.integers(0, 2**63))
        elif random.random() < 0.4:
            code ^= 1 << int(random.integers(0, 64))
        codes[number] = code
    return codes


def ours() -> Callable[[], float]:
    """Return the search of driveflow."""
    from driveflow.neighbours.hamming import leaders

    codes = hashes()
    return lambda: float(np.count_nonzero(np.asarray(leaders(codes, MAX_BITS).leader) == np.arange(HASHES)))


def brute_force() -> Callable[[], float]:
    """Return a search that compares every hash with every kept one."""
    codes = hashes()

    def work() -> float:
        kept = np.empty(HASHES, np.uint64)
        count = 0
        for code in codes:
            if count == 0 or int(np.bitwise_count(kept[:count] ^ code).min()) > MAX_BITS:
                kept[count] = code
                count += 1
        return float(count)

    return work


CONTENDERS = {"driveflow, indexed leader rule": ours, PEER: brute_force}


def main() -> None:
    """Print the table; the answer is how many hashes are kept, and must be the same."""
    figures = [measure("benchmarks.bench_neighbours", name) for name in CONTENDERS]
    print_table(f"Leader rule over {HASHES:,} 64-bit hashes, {MAX_BITS} bits", figures, PEER)


if __name__ == "__main__":
    run_as_contender(CONTENDERS)
