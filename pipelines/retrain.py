"""From returned labels to a promoted model."""

from typing import Any

from kfp import dsl

from components.build_training_set import build_training_set
from components.collect_labels import collect_labels
from components.promote_model import promote_model
from components.train_model import train_model
from components.validate_data import validate_data
from components.validate_model import validate_model
from pipelines.tasks import Prepare


def collect_step(plan: Any, snapshot: Any, campaign: Any, prepare: Prepare) -> Any:  # noqa: ANN401 KFP's tasks
    """Add the step that takes labels back."""
    return prepare(
        collect_labels(
            snapshot=snapshot,
            campaign=campaign,
            settings=plan.outputs["collect_settings"],
            run_id=dsl.PIPELINE_JOB_ID_PLACEHOLDER,
        )
    )


def train_steps(plan: Any, labeled: Any, signals: Any, prepare: Prepare) -> None:  # noqa: ANN401 KFP's tasks
    """Add the steps from a labeled snapshot to a promoted model."""
    run_id = dsl.PIPELINE_JOB_ID_PLACEHOLDER
    frozen = prepare(
        build_training_set(
            snapshot=labeled, signals=signals, settings=plan.outputs["training_set_settings"], run_id=run_id
        )
    )
    checked = prepare(
        validate_data(
            training=frozen.outputs["training"],
            holdout=frozen.outputs["holdout"],
            signals=signals,
            settings=plan.outputs["validate_data_settings"],
            run_id=run_id,
        )
    )
    with dsl.If(checked.outputs["Output"] == True, name="sound"):  # noqa: E712 KFP overloads the comparison
        _model_steps(plan, frozen, signals, prepare)


def _model_steps(plan: Any, frozen: Any, signals: Any, prepare: Prepare) -> None:  # noqa: ANN401 KFP's tasks
    run_id = dsl.PIPELINE_JOB_ID_PLACEHOLDER
    trained = prepare(
        train_model(training=frozen.outputs["training"], settings=plan.outputs["train_settings"], run_id=run_id)
    )
    judged = prepare(
        validate_model(
            model=trained.outputs["Output"],
            training=frozen.outputs["training"],
            holdout=frozen.outputs["holdout"],
            signals=signals,
            settings=plan.outputs["validate_settings"],
            run_id=run_id,
        )
    )
    prepare(
        promote_model(
            model=trained.outputs["Output"],
            training=frozen.outputs["training"],
            verdict=judged.outputs["verdict"],
            settings=plan.outputs["promote_settings"],
            run_id=run_id,
        )
    )
