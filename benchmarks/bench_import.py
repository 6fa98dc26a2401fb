"""Import of a folder of JPEGs, every coded byte checked, beside reading and digesting them; and at 1, 2 and 4 times."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_signals import pictures
from benchmarks.contender import Figure, measure, run_as_contender

FRAMES = 500
FOLDER = "BENCH_IMPORT_FOLDER"
PEER = "read and sha256"
_SIZES = (1, 2, 4)


def main() -> None:
    """Print the table; the answer is how many frames there are."""
    print(f"Import of {FRAMES} pictures and more; CPU time, peak memory, and both for each 1,000 pictures")
    print(f"{'':36}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'pictures':>10}{'CPU s / 1,000':>15}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        fill(Path(folder))
        figures = [(name, *timed(name)) for name in CONTENDERS]
    each = {name: figure.cpu_s / figure.answer * 1000 for name, figure, _ in figures}
    for name, figure, wall_s in figures:
        ratio = each[PEER] / each[name]
        shown = f"{figure.cpu_s:9.2f}{wall_s:9.2f}{figure.peak_mb:9.0f}{figure.answer:10.0f}"
        print(f"{name:36}{shown}{each[name]:15.2f}{ratio:8.2f}")


def timed(name: str) -> tuple[Figure, float]:
    start = time.perf_counter()
    figure = measure("benchmarks.bench_import", name)
    return figure, time.perf_counter() - start


def fill(folder: Path) -> None:
    """Write the pictures: real ones, each with a comment of its own, so that no two files are equal."""
    found = pictures()
    for number in range(FRAMES * max(_SIZES)):
        data = found[number % len(found)]
        comment = f"{number:08d}".encode()
        marked = data[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2) + comment + data[2:]
        size = next(size for size in _SIZES if number < FRAMES * size)
        path = folder / str(size) / f"drive-{number // 100:03d}" / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(marked)


def batch(times: int) -> list[Path]:
    """Return the folders that make a batch of so many times the pictures."""
    return [Path(os.environ[FOLDER]) / str(size) for size in _SIZES if size <= times]


def ours(times: int) -> Callable[[], Callable[[], float]]:
    def prepare() -> Callable[[], float]:
        from driveflow.flow.sections import BatchSection, TaxonomySection
        from driveflow.storage.objects import ObjectInfo, list_objects
        from ingestion.import_batch import BatchRequest, import_batch

        store = Path(os.environ[FOLDER]) / "store"
        section, taxonomy = BatchSection(name="bench", path="."), TaxonomySection(classes=("car",))

        def work() -> float:
            listed = [
                ObjectInfo(info.uri, f"{folder.name}/{info.path}", info.size, info.version)
                for folder in batch(times)
                for info in list_objects(folder.as_uri())
            ]
            request = BatchRequest(section, store.as_uri(), taxonomy, store.as_uri(), tuple(listed))
            return float(import_batch(request).tables.frames.num_rows)

        return work

    return prepare


def peer() -> Callable[[], float]:
    def work() -> float:
        digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in batch(1)[0].rglob("*.jpg")}
        return float(len(digests))

    return work


CONTENDERS = {
    **{f"driveflow import, {times} x {FRAMES}": ours(times) for times in _SIZES},
    PEER: peer,
}


if __name__ == "__main__":
    run_as_contender(CONTENDERS) if len(sys.argv) > 1 else main()
