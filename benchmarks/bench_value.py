"""What mining is worth: a model trained on N mined frames beside one trained on N random frames.

Every seed trains four models, which takes minutes: the sizes are settings, see `--help`.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.value_experiment import Outcome, Pool, Sizes, Trainer, run_seed, summary
from benchmarks.value_pools import bike_pool, sample_pool
from driveflow.detectors.catalog import load_detector
from driveflow.detectors.predict import PredictionStore, predict_frames
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, TrainingSection, WhereSection
from driveflow.images.pixels import PixelReader
from driveflow.snapshots import Beside, SnapshotTables, write_snapshot

METRIC = "AP50"
_MIN_SCORE = 0.05


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


def trainer(pool: Pool, locations: pa.Table, work: Path, epochs: int) -> Trainer:
    """Return the reference trainer on `pool`."""
    from training.train import TrainingJob, train

    pixels = PixelReader(locations)

    def run(tables: SnapshotTables, seed: int) -> TrainedArm:
        snapshot = write_snapshot(_store(work), tables, Beside(locations=locations), {"step": "bench_value"})
        settings = TrainingSection(epochs=epochs, seed=seed)
        made = train(TrainingJob(snapshot, settings, work / "scratch", _store(work), pixels))
        return TrainedArm(pool, pixels, made.uri, work)

    return run


def cases(pool: Pool, added_frames: int) -> tuple[CornerCaseSection, ...]:
    """Return the miners of the experiment: what the champion takes for the rare class, what it doubts, what is new."""
    share = max(added_frames // 3, 1)
    return (
        CornerCaseSection(name="rare_class", where=WhereSection(classes=(pool.rare_class,)), quota_frames=share),
        CornerCaseSection(name="doubtful", miner="uncertainty", quota_frames=share),
        CornerCaseSection(
            name="new", miner="rare_frames", settings=MinerSection(reference="labeled"), quota_frames=share
        ),
    )


def report(title: str, pool: Pool, sizes: Sizes, train: Trainer) -> list[Outcome]:
    """Run all seeds, print each as it is there, and the paired differences."""
    print(f"{title}: {METRIC} of {pool.rare_class}, {sizes.first_frames} frames + {sizes.added_frames}")
    print(f"{'seed':>6}{'first':>9}{'mined':>9}{'random':>9}{'again':>9}{'rare mined':>12}{'rare random':>13}{'s':>8}")
    outcomes = []
    for seed in range(sizes.seeds):
        started_s = time.perf_counter()
        found = run_seed(pool, sizes, train, cases(pool, sizes.added_frames), seed)
        values = "".join(f"{value:9.3f}" for value in (found.first, found.mined, found.random, found.control))
        took_s = time.perf_counter() - started_s
        print(f"{seed:6}{values}{found.rare_mined:12}{found.rare_random:13}{took_s:8.0f}", flush=True)
        outcomes.append(found)
    for part in summary(outcomes):
        print(f"{part.name}: {part.mean:+.3f}, 95 % between {part.low:+.3f} and {part.high:+.3f}, {part.seeds} seeds")
    return outcomes


def main(arguments: Sequence[str] = ()) -> None:
    """Run the experiment on the sample drives, and on bikes where that data set is there."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_value", description=__doc__)
    for name, default in (("frames", 2000), ("first", 120), ("added", 120), ("seeds", 8), ("epochs", 12)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--work", type=Path, help="a folder whose trained models are taken up again")
    asked = parser.parse_args(list(arguments))
    with tempfile.TemporaryDirectory() as made:
        work = asked.work or Path(made)
        sizes = Sizes(asked.first, asked.added, asked.seeds)
        pool, locations = sample_pool(work / "sample", _store(work), asked.frames, 7)
        report(f"Sample drives, {asked.frames} frames", pool, sizes, trainer(pool, locations, work, asked.epochs))
        bikes = bike_pool(_store(work))
        if bikes is None:
            print("det_modes_of_transport is not there: the class bike was not measured.")
            return
        few = Sizes(min(asked.first, 40), min(asked.added, 40), asked.seeds)
        report("det_modes_of_transport", bikes[0], few, trainer(*bikes, work, asked.epochs))


def _store(work: Path) -> str:
    return (work / "store").absolute().as_uri()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
