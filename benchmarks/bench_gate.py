"""The drive bootstrap of the gate: champion against challenger, over all and in 40 slices, from matches made once."""

import resource
import sys
import time

import numpy as np

from benchmarks.contender import BYTES_PER_KB
from driveflow.flow.sections import Metric
from validation.model.compare import Comparison, Draws, compare
from validation.model.scored import Measure, Scored, ScoredSlice
from validation.model.sweep import Sweep

CLASSES = 80
DETECTIONS = 36  # an image
OBJECTS = 7
FRAMES_PER_DRIVE = 100
DIMENSIONS, VALUES = 5, 8  # weather, place, ...: each puts a frame into one of eight slices
CASES: tuple[tuple[int, int, Metric], ...] = (
    (5_000, 1_000, "AP50"),
    (5_000, 1_000, "AP"),
    (50_000, 10_000, "AP50"),
    (50_000, 10_000, "AP"),
)


def model(images: int, seed: int, quality: float) -> Scored:
    """Return matches such as a detector leaves: hits get rarer with the score and with the threshold."""
    random = np.random.default_rng(seed)
    detections = images * DETECTIONS
    label = np.sort(random.integers(0, CLASSES, detections))
    start = np.searchsorted(label, np.arange(CLASSES + 1))
    place = (np.arange(detections) - start[label]) / np.maximum(np.diff(start)[label], 1)
    chance, right = random.random(detections), np.zeros(detections, np.uint16)
    for threshold in range(10):
        hit = chance < quality * np.exp(-5 * place) * (1 - 0.07 * threshold)
        right |= hit.astype(np.uint16) << np.uint16(threshold)
    return Scored(
        measure=Measure("made", "made", "strict"),
        holdout_id="made",
        model_digest=str(seed),
        classes=tuple(f"class_{number}" for number in range(CLASSES)),
        frame_group=np.arange(images) // FRAMES_PER_DRIVE,
        annotated=np.ones((images, CLASSES), bool),
        sweep=Sweep(
            start=start,
            frame=random.integers(0, images, detections).astype(np.int32),
            tied=np.zeros(detections, bool),
            late=np.zeros(detections, bool),
            right=right,
            counted=np.full(detections, (1 << 10) - 1, np.uint16),
            object_frame=np.random.default_rng(0).integers(0, images, images * OBJECTS).astype(np.int32),
            object_label=np.random.default_rng(1).integers(0, CLASSES, images * OBJECTS).astype(np.int32),
        ),
        slices=_slices(images),
    )


def _slices(images: int) -> tuple[ScoredSlice, ...]:
    drive = np.arange(images) // FRAMES_PER_DRIVE
    parts = []
    for dimension in range(DIMENSIONS):
        value = np.random.default_rng(dimension).integers(0, VALUES, int(drive.max()) + 1)[drive]
        parts += [ScoredSlice(f"{dimension}-{number}", np.flatnonzero(value == number)) for number in range(VALUES)]
    return tuple(parts)


def measure(images: int, resamples: int, metric: Metric) -> tuple[Comparison, float, float]:
    """Return the comparison, and what it took: seconds of the clock and of the processors."""
    challenger, champion = model(images, 1, 0.90), model(images, 2, 0.92)
    clock_s, cpu_s = time.perf_counter(), time.process_time()
    found = compare(challenger, champion, metric, Draws(resamples=resamples))
    return found, time.perf_counter() - clock_s, time.process_time() - cpu_s


def main(cases: tuple[tuple[int, int, Metric], ...] = CASES) -> None:
    """Print what each case took; the reach is 4 s for the small one, and 60 s and 2,000 MB for the large one."""
    print(f"Drive bootstrap of two models, all frames and {DIMENSIONS * VALUES} slices, {CLASSES} classes")
    print(f"{'images':>8}{'resamples':>11}{'metric':>8}{'clock s':>9}{'CPU s':>8}{'peak MB':>9}{'change':>22}")
    measure(200, 64, "AP50")  # compiles
    for images, resamples, metric in cases:
        found, clock_s, cpu_s = measure(images, resamples, metric)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_KB / 1e6
        change = found.overall.change
        if change is None or change.interval is None:
            sys.exit("The bench compares two models, and found nothing to compare.")
        told = f"{change.value:+.4f} ({change.interval.low:+.4f}, {change.interval.high:+.4f})"
        print(f"{images:8,}{resamples:11,}{metric:>8}{clock_s:9.1f}{cpu_s:8.1f}{peak_mb:9.0f}  {told}")


if __name__ == "__main__":
    main()
