"""What mining is worth: a model trained on N mined frames beside one trained on N random frames.

Every seed trains four models, one after the other on one thread. `make bench` runs a size that only shows that it all
works; what counts is FULL, about an hour and a half of one idle core: `python -m benchmarks.bench_value --work FOLDER`.
It may be interrupted: what each seed gave is kept in FOLDER, models and detections too, and the next call goes on.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.value_experiment import Outcome, Pool, Sizes, Trainer, run_seed, summary
from benchmarks.value_pools import bike_pool, sample_pool
from benchmarks.value_results import ResultFolder
from driveflow.canonical import Json
from driveflow.code_digest import package_digest
from driveflow.detectors.catalog import load_detector
from driveflow.detectors.predict import PredictionStore, predict_frames
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, TrainingSection
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import Beside, SnapshotTables, write_snapshot

METRIC = "AP50"
_MIN_SCORE = 0.05
_SAMPLE_SEED = 7
_CODE = ("training", "filtering", "driveflow.detectors", "sample")


@dataclass(frozen=True, slots=True)
class Design:
    """How much is trained, on what."""

    frames: int  # of the sample
    sizes: Sizes
    epochs: int
    image_size_px: int

    def trained(self, seed: int) -> TrainingSection:
        """Return how a model is trained: on one thread."""
        return TrainingSection(
            epochs=self.epochs, image_size_px=self.image_size_px, workers_per_node=1, learning_rate=0.006, seed=seed
        )

    def to_json(self, title: str, rare_class: str) -> dict[str, Json]:
        """Return all that decides what a seed gives."""
        cases: list[Json] = [str(case) for case in cases_of(rare_class, self.sizes.added_frames)]
        return {
            "data": title,
            "first": self.sizes.first_frames,
            "added": self.sizes.added_frames,
            "training": str(self.trained(0)),
            "cases": cases,
            "code": {name: package_digest(name) for name in _CODE},
        }


FULL = Design(frames=2000, sizes=Sizes(120, 120, 12), epochs=24, image_size_px=256)
QUICK = Design(frames=240, sizes=Sizes(24, 24, 2), epochs=2, image_size_px=128)


@dataclass(frozen=True, slots=True)
class TrainedArm:
    """A trained model beside the hold-out that judges it."""

    pool: Pool
    pixels: PixelReader
    model_uri: str
    work: Path

    def see(self, frame_ids: Sequence[str]) -> pa.Table:
        """Return what it detects in frames."""
        detector = load_detector(self.model_uri, self.work)
        return predict_frames(detector, self.pixels, frame_ids, PredictionStore(_store(self.work)))

    def value(self) -> float:
        """Return the AP50 of the rare class on the hold-out; 0 where nothing was found."""
        from validation.model.evaluate import evaluate
        from validation.model.scene import EvaluationRequest

        frames = self.pool.tables.frames
        held_out = self.pool.tables.only(frames["frame_id"].filter(pc.equal(frames["split"], "holdout")))
        seen = self.see(held_out.frames["frame_id"].to_pylist())
        found = evaluate(
            EvaluationRequest(
                frames=held_out.frames,
                boxes=held_out.boxes,
                predictions=seen,
                classes=held_out.classes,
                min_score=_MIN_SCORE,
            )
        )
        rare = next(part for part in found.per_class if part.class_name == self.pool.rare_class)
        return float(rare.numbers[METRIC] or 0.0)


def trainer(pool: Pool, locations: pa.Table, work: Path, design: Design) -> Trainer:
    """Return the reference trainer on `pool`."""
    from training.train import TrainingJob, train

    pixels = PixelReader(locations)

    def run(tables: SnapshotTables, seed: int) -> TrainedArm:
        snapshot = write_snapshot(_store(work), tables, Beside(locations=locations), {"step": "bench_value"})
        made = train(TrainingJob(snapshot, design.trained(seed), work / "scratch", _store(work), pixels))
        return TrainedArm(pool, pixels, made.uri, work)

    return run


def cases_of(rare_class: str, added_frames: int) -> tuple[CornerCaseSection, ...]:
    """Return the miners of the experiment: what looks like the rare class, what the champion doubts, what is new."""
    few = max(added_frames // 8, 1)
    return (
        CornerCaseSection(
            name="rare_class",
            miner="like_labels",
            settings=MinerSection(classes=(rare_class,)),
            quota_frames=max(added_frames - 2 * few, 1),
        ),
        CornerCaseSection(name="doubtful", miner="uncertainty", quota_frames=few),
        CornerCaseSection(
            name="new", miner="rare_frames", settings=MinerSection(reference="labeled"), quota_frames=few
        ),
    )


def report(title: str, pool: Pool, design: Design, train: Trainer, kept: ResultFolder) -> list[Outcome]:
    """Run all seeds that were not run before, print each as it is there, and the paired differences."""
    sizes = design.sizes
    print(f"{title}: {METRIC} of {pool.rare_class}, {sizes.first_frames} frames + {sizes.added_frames}")
    print(f"{'seed':>6}{'first':>9}{'mined':>9}{'random':>9}{'again':>9}{'rare mined':>12}{'rare random':>13}{'s':>8}")
    outcomes = []
    for seed in range(sizes.seeds):
        started_s = time.perf_counter()
        found = kept.known(seed)
        if found is None:
            found = run_seed(pool, sizes, train, cases_of(pool.rare_class, sizes.added_frames), seed)
            kept.keep(found)
        values = "".join(f"{value:9.3f}" for value in (found.first, found.mined, found.random, found.control))
        took_s = time.perf_counter() - started_s
        print(f"{seed:6}{values}{found.rare_mined:12}{found.rare_random:13}{took_s:8.0f}", flush=True)
        outcomes.append(found)
    for part in summary(outcomes):
        print(f"{part.name}: {part.mean:+.3f}, 95 % between {part.low:+.3f} and {part.high:+.3f}, {part.seeds} seeds")
    return outcomes


def run(design: Design, work: Path) -> None:
    """Run the experiment on the sample drives, and on bikes where that data set is there."""
    title = f"Sample drives, {design.frames} frames"
    pool, locations = sample_pool(work / f"sample_{design.frames}", _store(work), design.frames, _SAMPLE_SEED)
    kept = ResultFolder.of(work, design.to_json(title, pool.rare_class))
    report(title, pool, design, trainer(pool, locations, work, design), kept)
    bikes = bike_pool(_store(work))
    if bikes is None:
        print("det_modes_of_transport is not there: the class bike was not measured.")
        return
    few = Sizes(min(design.sizes.first_frames, 40), min(design.sizes.added_frames, 40), design.sizes.seeds)
    small = replace(design, sizes=few)
    kept = ResultFolder.of(work, small.to_json("det_modes_of_transport", "bike"))
    report("det_modes_of_transport", bikes[0], small, trainer(*bikes, work, small), kept)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the full size, or what is asked for; without any arguments a size that ends in minutes and claims nothing."""
    if arguments is None:
        print("What mining is worth, at a size that claims nothing: it only shows that all of it runs.")
        with tempfile.TemporaryDirectory() as made:
            run(QUICK, Path(made))
        return
    parser = argparse.ArgumentParser(prog="benchmarks.bench_value", description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="where results are kept, and taken up again")
    sizes = FULL.sizes
    for name, default in (
        ("frames", FULL.frames), ("first", sizes.first_frames), ("added", sizes.added_frames), ("seeds", sizes.seeds),
        ("epochs", FULL.epochs), ("image_size", FULL.image_size_px),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args(list(arguments))
    design = Design(asked.frames, Sizes(asked.first, asked.added, asked.seeds), asked.epochs, asked.image_size)
    run(design, asked.work)


def _store(work: Path) -> str:
    return (work / "store").absolute().as_uri()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
