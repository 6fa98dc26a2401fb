"""The pass over the pixels: images per second and core beside plain decoders and peers, each in a process of its own.

`benchmarks.peers` tells where peers come from.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SEQUENCE = (
    Path(os.environ.get("DRIVEFLOW_SHARED", str(ROOT.parent / "shared"))) / "data" / "seq_udacity_shadow" / "frames"
)
OURS = "driveflow: hash and all signals"
PEER = "Pillow, full grey decode"
LIMIT = "libjpeg-turbo, 1/8 grey decode (the limit)"
IMAGEDEDUP, CLEANVISION = "imagededup, PHash", "cleanvision, all its checks"
ROUNDS = 3
FRAMES = 120
THREADS = 2


@dataclass(frozen=True, slots=True)
class Result:
    images_per_s: float
    peak_mb: float


def main() -> None:
    """Print one line for each contender; the ratio is to Pillow's full grey decode of the same run."""
    from benchmarks.peers import python_of  # peers themselves run this file without the package

    print(f"Pass over the pixels: {len(pictures())} pictures, {where()}; best of {ROUNDS} rounds, CPU time of one core")
    results = {name: measured(name, sys.executable) for name in CONTENDERS}
    for name, peer in PEERS.items():
        if python := python_of(peer):
            results[name] = measured(name, python)
    slowest, ours, limit = (results[name].images_per_s for name in (PEER, OURS, LIMIT))
    print(f"{'':44}{'images/s/core':>14}{'ratio':>8}{'peak MB':>9}")
    for name, result in results.items():
        print(f"{name:44}{result.images_per_s:14.0f}{result.images_per_s / slowest:8.2f}{result.peak_mb:9.0f}")
    for name in PEERS:
        if name in results:
            print(f"driveflow: {ours / results[name].images_per_s:.2f}x {name}")
    print(f"driveflow: {ours / limit:.2f} of the limit")
    print(two_workers())


def where() -> str:
    return "960x540 real drive frames" if SEQUENCE.exists() else "made 960x540 pictures, no shared sequence here"


def pictures() -> list[bytes]:
    if SEQUENCE.exists():
        return [path.read_bytes() for path in sorted(SEQUENCE.iterdir())[:FRAMES]]
    return [made(seed) for seed in range(FRAMES)]


def made(seed: int) -> bytes:
    import cv2

    random = np.random.default_rng(seed)
    rough = random.integers(0, 255, (27, 48, 3), dtype=np.uint8)
    picture = cv2.resize(rough, (960, 540), interpolation=cv2.INTER_CUBIC).astype(np.float64)
    noisy = (picture + random.normal(0, 6, picture.shape)).clip(0, 255).astype(np.uint8)
    return bytes(cv2.imencode(".jpg", noisy, [cv2.IMWRITE_JPEG_QUALITY, 85])[1])


def ours() -> Callable[[bytes], object]:
    from driveflow.images.signals import measure

    return measure


def our_check() -> Callable[[bytes], object]:
    from driveflow.images.probe import probe

    return probe


def pillow_full() -> Callable[[bytes], object]:
    from PIL import Image

    return lambda data: Image.open(io.BytesIO(data)).convert("L")


def pillow_draft() -> Callable[[bytes], object]:
    from PIL import Image

    def decode(data: bytes) -> object:
        image = Image.open(io.BytesIO(data))
        image.draft("L", (256, 256))
        return image.load()

    return decode


def opencv_full() -> Callable[[bytes], object]:
    import cv2

    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)


def opencv_eighth() -> Callable[[bytes], object]:
    import cv2

    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_REDUCED_GRAYSCALE_8)


def turbo_eighth() -> Callable[[bytes], object]:
    import simplejpeg

    return lambda data: simplejpeg.decode_jpeg(data, colorspace="GRAY", min_height=1, min_width=1, min_factor=8)


@contextlib.contextmanager
def in_files() -> Iterator[list[str]]:
    """Yield the paths of the pictures, as files, which peers read."""
    with tempfile.TemporaryDirectory() as folder:
        named = [(Path(folder) / f"{number:04d}.jpg", data) for number, data in enumerate(pictures())]
        for path, data in named:
            path.write_bytes(data)
        yield [str(path) for path, _ in named]


def imagededup(paths: list[str]) -> object:
    from imagededup.methods import PHash

    hasher = PHash(verbose=False)
    return [hasher.encode_image(image_file=path) for path in paths]


def cleanvision(paths: list[str]) -> object:
    from cleanvision import Imagelab

    return Imagelab(filepaths=paths).find_issues(n_jobs=1, verbose=False)


BATCHES = {IMAGEDEDUP: imagededup, CLEANVISION: cleanvision}
PEERS = {IMAGEDEDUP: "imagededup", CLEANVISION: "cleanvision"}

CONTENDERS: dict[str, Callable[[], Callable[[bytes], object]]] = {
    OURS: ours,
    "driveflow: full check of every bit": our_check,
    PEER: pillow_full,
    "Pillow, draft to 256 px": pillow_draft,
    "OpenCV, full grey decode": opencv_full,
    "OpenCV, 1/8 grey decode": opencv_eighth,
    LIMIT: turbo_eighth,
}


def measured(name: str, python: str) -> Result:
    """Run one contender in a process of its own, so that its peak memory is its own."""
    done = subprocess.run(
        [python, __file__, name], check=True, capture_output=True, text=True, cwd=ROOT, env=os.environ | PATHS
    )
    return Result(**json.loads(done.stdout.splitlines()[-1]))


PATHS = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}


def contend(name: str) -> None:
    """Measure here, and print the result as JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        best = best_round(name)
    print(json.dumps({"images_per_s": best, "peak_mb": peak_mb()}))


def best_round(name: str) -> float:
    """Return images per second of the best round."""
    if name in BATCHES:
        with in_files() as paths:
            return len(paths) / min(seconds(lambda: BATCHES[name](paths)) for _ in range(ROUNDS))
    work, data = CONTENDERS[name](), pictures()
    work(data[0])
    return len(data) / min(seconds(lambda: [work(picture) for picture in data]) for _ in range(ROUNDS))


def peak_mb() -> float:
    """Return the most memory this process ever held; getrusage would count the process that started it too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of `work`."""
    start = time.process_time()
    work()
    return time.process_time() - start


@dataclass(frozen=True, slots=True)
class Spent:
    """What the threads of a round took together: seconds at work, waiting for a processor, and by the clock."""

    cpu_s: float
    queued_s: float
    wall_s: float

    @property
    def at_once(self) -> float:
        """How many threads would be at work had each a processor of its own: what is left is waiting for locks."""
        return THREADS * self.cpu_s / (self.wall_s - self.queued_s)


def two_workers() -> str:
    """Return what two threads make of two processors, and what that costs in CPU time.

    Other work on the machine makes threads wait, which Linux counts; the clock would tell of that work, not of ours.
    """
    from driveflow.images.signals import measure

    data = pictures() * 3
    measure(data[0])  # loads compiled code
    alone = min(seconds(lambda: [measure(picture) for picture in data]) for _ in range(ROUNDS))
    rounds = [by_threads(data) for _ in range(ROUNDS)]
    at_once, dearer = max(spent.at_once for spent in rounds), min(spent.cpu_s for spent in rounds) / alone
    wall = max(spent.cpu_s * THREADS / spent.wall_s for spent in rounds)
    return (
        f"{THREADS} threads: {at_once / dearer:.2f}x one on processors of their own ({at_once:.2f} at work at once, "
        f"{dearer:.2f} of one's CPU time an image); {wall:.2f} processors were to be had"
    )


def by_threads(data: list[bytes]) -> Spent:
    """Share the pictures between threads that begin together."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    from driveflow.images.signals import measure

    ready, waiting = Barrier(THREADS), list(data)

    def work(_: int) -> tuple[float, float, float]:
        ready.wait()
        began_s, (cpu_ns, queued_ns) = time.perf_counter(), scheduled_ns()
        while waiting:
            with contextlib.suppress(IndexError):  # the other took the last one
                measure(waiting.pop())
        done_s, (cpu_done_ns, queued_done_ns) = time.perf_counter(), scheduled_ns()
        return (cpu_done_ns - cpu_ns) / 1e9, (queued_done_ns - queued_ns) / 1e9, done_s - began_s

    with ThreadPoolExecutor(THREADS) as pool:
        return Spent(*map(sum, zip(*pool.map(work, range(THREADS)), strict=True)))


def scheduled_ns() -> tuple[int, int]:
    """Return how long this thread was at work, and how long it waited for a processor."""
    at_work, queued, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return int(at_work), int(queued)


if __name__ == "__main__":
    contend(sys.argv[1]) if len(sys.argv) > 1 else main()
