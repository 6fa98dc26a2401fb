"""From recorded batches to a labeling campaign."""

from typing import Any

from kfp import dsl

from components.filter_frames import filter_frames
from components.find_corner_cases import find_corner_cases
from components.fingerprint_frames import fingerprint_frames
from components.hand_off_frames import hand_off_frames
from components.import_batches import import_batches
from components.merge_batches import merge_batches
from pipelines.tasks import Prepare


def curate_steps(plan: Any, prepare: Prepare) -> tuple[Any, Any, Any]:  # noqa: ANN401 KFP's tasks
    """Add the steps of curation after `plan`; return the tasks that filtered, fingerprinted and handed off."""
    run_id = dsl.PIPELINE_JOB_ID_PLACEHOLDER
    imported = prepare(import_batches(settings=plan.outputs["import_settings"], run_id=run_id))
    merged = prepare(
        merge_batches(batches=imported.outputs["Output"], settings=plan.outputs["merge_settings"], run_id=run_id)
    )
    signals = prepare(fingerprint_frames(snapshot=merged.outputs["Output"], run_id=run_id))
    kept = prepare(
        filter_frames(
            snapshot=merged.outputs["Output"],
            signals=signals.outputs["Output"],
            settings=plan.outputs["filter_settings"],
            run_id=run_id,
        )
    )
    found = prepare(
        find_corner_cases(
            snapshot=kept.outputs["Output"],
            signals=signals.outputs["Output"],
            settings=plan.outputs["corner_case_settings"],
            run_id=run_id,
        )
    )
    handed_off = prepare(
        hand_off_frames(
            snapshot=kept.outputs["Output"],
            selection=found.outputs["selection"],
            predictions=found.outputs["predictions"],
            settings=plan.outputs["hand_off_settings"],
            run_id=run_id,
        )
    )
    return kept, signals, handed_off
