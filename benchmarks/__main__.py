"""Run every benchmark: `make bench`."""

from benchmarks import (
    bench_evaluate,
    bench_gate,
    bench_import,
    bench_incremental,
    bench_merge,
    bench_neighbours,
    bench_signals,
    bench_storage,
    bench_value,
    bench_vectors,
)


def main() -> None:
    """Print each benchmark's table."""
    for benchmark in (
        bench_signals,
        bench_import,
        bench_merge,
        bench_storage,
        bench_neighbours,
        bench_incremental,
        bench_vectors,
        bench_evaluate,
        bench_value,
        bench_gate,
    ):
        benchmark.main()
        print()


if __name__ == "__main__":
    main()
