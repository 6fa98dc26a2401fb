"""Train a model."""

from collections.abc import Mapping
from typing import Any

from components.work.pages import counts_page
from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("train_model", ("training",), touches_world=True)


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the trained model; a finished job of the same snapshot, settings and code is adopted."""
    from components.work.settings import read_section
    from driveflow.flow.sections import TrainingSection
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import open_snapshot
    from training.train import TrainingJob, train

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["training"]))
    job = TrainingJob(
        snapshot=snapshot,
        settings=read_section(TrainingSection, settings["training"]),
        scratch=context.scratch,
        store=context.place.store,
        pixels=open_pixels(snapshot, context.place),
    )
    trained = train(job, context.progress)
    counts = {"adopted": int(trained.adopted), "frames": snapshot.frames().num_rows}
    words = "An earlier job of the same data, settings and code was adopted." if trained.adopted else "Trained."
    return StepResult(
        outputs={"model": trained.uri},
        counts=counts,
        metrics=trained.metrics,
        pages={"summary": counts_page("Training", counts, f"{words}\n\nModel `{trained.digest}`\n")},
        notes=job.pixels.cache_note(),
    )
