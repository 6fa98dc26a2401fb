"""Find corner cases among the kept frames, and spend the labeling budget."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from components.work.pages import counts_page
from driveflow.steps import StepContext, StepResult, StepSpec, Value

SPEC = StepSpec("find_corner_cases", ("components.work", "filtering"))


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return the frames to label in order, and what the champion sees in frames without labels."""
    from components.work.settings import read_section
    from components.work.table_objects import put_table, read_table
    from driveflow.flow.sections import CornerCaseSection, LabelingSection
    from driveflow.images.pixels import open_pixels
    from driveflow.snapshots import open_snapshot
    from filtering.corner_cases import CornerCaseRequest, find_corner_cases
    from filtering.gallery import selection_gallery

    settings: Any = context.settings
    snapshot = open_snapshot(str(inputs["snapshot"]))
    pixels = open_pixels(snapshot, context.place)
    tables = snapshot.tables()
    predictions = _predict(context, tables.frames, pixels)
    request = CornerCaseRequest(
        tables=tables,
        signals=read_table(str(inputs["signals"])),
        predictions=predictions,
        corner_cases=tuple(read_section(CornerCaseSection, case) for case in settings["corner_cases"]),
        labeling=read_section(LabelingSection, settings["labeling"]),
    )
    selection = find_corner_cases(request)
    selected = put_table(context.place.store, selection.table)
    predicted = "" if predictions is None else put_table(context.place.store, predictions)
    return StepResult(
        outputs={"selection": selected, "predictions": predicted},
        counts=selection.counts,
        pages={
            "summary": counts_page("Corner cases and labeling budget", selection.counts),
            "gallery": selection_gallery(request, selection, pixels),
        },
        objects=tuple(uri for uri in (selected, predicted) if uri),
    )


def _predict(context: StepContext, frames: pa.Table, pixels: Any) -> pa.Table | None:  # noqa: ANN401 a pixel reader
    """Return what the champion sees in the training frames that lack labels; None without a champion."""
    champion: Any = context.settings["champion"]
    if not champion:
        return None
    from driveflow.detectors.catalog import load_detector
    from driveflow.detectors.predict import PredictionStore, predict_frames

    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), 1)
    wanted = frames.filter(pc.and_(lacking, pc.equal(frames["split"], "train")))["frame_id"]
    labeling: Any = context.settings["labeling"]
    detector = load_detector(champion, context.scratch)
    store = PredictionStore(context.place.store)
    found = predict_frames(detector, pixels, wanted, store, context.progress)
    return found.filter(pc.greater_equal(found["score"], labeling["prelabel_min_score"]))
