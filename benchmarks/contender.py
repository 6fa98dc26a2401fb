"""Measure one contender in a process of its own: CPU seconds and peak memory."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

BYTES_PER_KB = 1024


@dataclass(frozen=True, slots=True)
class Figure:
    """What one contender took, and a number by which results are compared."""

    name: str
    cpu_s: float
    peak_mb: float
    answer: float


def measure(module: str, name: str, python: str = sys.executable) -> Figure:
    """Run `python -m module name` and return what it printed; a peer may live in an environment of its own."""
    done = subprocess.run([python, "-m", module, name], capture_output=True, text=True, check=True)
    values = json.loads(done.stdout.splitlines()[-1])
    return Figure(name, values["cpu_s"], values["peak_mb"], values["answer"])


def run_as_contender(contenders: Mapping[str, Callable[[], Callable[[], float]]]) -> None:
    """Prepare the contender that the command line names, time its work, and print the figures as JSON."""
    work = contenders[sys.argv[1]]()
    started_s = time.process_time()
    answer = work()
    cpu_s = time.process_time() - started_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_KB / 1e6
    print(json.dumps({"cpu_s": cpu_s, "peak_mb": peak_mb, "answer": answer}))


def print_table(title: str, figures: list[Figure], peer: str) -> None:
    """Print one line a contender; the ratio is the peer's CPU time over the contender's."""
    slow = next(figure.cpu_s for figure in figures if figure.name == peer)
    print(title)
    print(f"{'':40}{'CPU s':>10}{'ratio':>8}{'peak MB':>9}{'answer':>12}")
    for figure in figures:
        ratio = slow / figure.cpu_s if figure.cpu_s else float("inf")
        print(f"{figure.name:40}{figure.cpu_s:10.3f}{ratio:8.1f}{figure.peak_mb:9.0f}{figure.answer:12.4f}")
