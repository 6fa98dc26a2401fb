"""Freeze what a model trains on, and what judges it."""

from collections.abc import Mapping
from typing import Any

from components.work.pages import counts_page
from driveflow.code_digest import code_digest
from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("build_training_set", ("components.work", "training"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the training snapshot (train and val) and the hold-out snapshot."""
    from components.work.table_objects import read_table, read_withdrawn
    from driveflow.snapshots import Beside, open_snapshot, write_snapshot
    from training.dataset import build_training_set

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    built = build_training_set(
        snapshot.tables(),
        read_table(str(inputs["signals"])),
        settings["leak_max_bits"],
        read_withdrawn(settings["withdrawn"]),
    )
    code = code_digest(*SPEC.trades)
    parents = [snapshot.uri.rpartition("/")[2]]
    training = write_snapshot(
        context.place.store,
        built.training,
        Beside(locations=snapshot.locations(), decisions=built.decisions),
        {"step": SPEC.name, "part": "training", "code": code, "parents": parents},
    )
    holdout = write_snapshot(
        context.place.store,
        built.holdout,
        Beside(locations=snapshot.locations()),
        {"step": SPEC.name, "part": "holdout", "code": code, "parents": parents},
    )
    return StepResult(
        outputs={"training": training.uri, "holdout": holdout.uri},
        counts=built.counts,
        pages={"summary": counts_page("Training set", built.counts)},
        objects=(training.uri, holdout.uri),
    )
