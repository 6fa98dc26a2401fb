"""Which frames belong to a corner case, and which of them are shielded from thinning."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.flow.sections import CornerCaseSection
from driveflow.predicates import Mask, matches
from driveflow.snapshots import SnapshotTables
from driveflow.truth import truth_of
from driveflow.where import BOX_COLUMNS, FRAME_COLUMNS, compile_where

MIN_PREDICTION_SCORE: Final = 0.3  # a detection under it makes no corner case


def case_mask(
    tables: SnapshotTables,
    case: CornerCaseSection,
    predictions: pa.Table | None,
    min_score: float = MIN_PREDICTION_SCORE,
) -> Mask:
    """Return for each frame whether it matches `where`, `expression` and `boxes_expression` of a corner case."""
    boxes = case_boxes(tables, case, predictions, min_score)
    mask = matches(tables.frames, boxes, case.where)
    if case.expression:
        mask &= compile_where(case.expression, FRAME_COLUMNS).mask(tables.frames, tables.sources)
    if case.boxes_expression:
        meant = compile_where(case.boxes_expression, BOX_COLUMNS).mask(boxes)
        found = boxes["frame_id"].filter(pa.array(meant)).combine_chunks()
        mask &= pc.is_in(tables.frames["frame_id"], value_set=found).to_numpy(zero_copy_only=False)
    return mask


def case_boxes(
    tables: SnapshotTables, case: CornerCaseSection, predictions: pa.Table | None, min_score: float
) -> pa.Table:
    """Return the boxes to believe for a corner case: of its classes, or of all where it has a condition on boxes."""
    classes = tables.classes if case.boxes_expression else case.where.classes
    return evidence(tables, classes, predictions, min_score)


def evidence(
    tables: SnapshotTables, classes: Sequence[str], predictions: pa.Table | None, min_score: float
) -> pa.Table:
    """Return the boxes of `classes` to believe: all labels, and predictions where their class was not annotated."""
    boxes = truth_of(tables.boxes).select(columns.BOXES.names)
    if predictions is None or not classes:
        return boxes
    sure = predictions.filter(pc.greater_equal(predictions["score"], min_score)).select(columns.BOXES.names)
    guessed = [sure.filter(_unseen(tables.frames, sure, name)) for name in classes]
    return pa.concat_tables([boxes, *(part.cast(columns.BOXES) for part in guessed)])


def shielded_frames(
    tables: SnapshotTables,
    corner_cases: Iterable[CornerCaseSection],
    predictions: pa.Table | None,
    allowed: pa.Array,
    used: Mapping[str, int],
) -> dict[str, str]:
    """Return the shielded frames among `allowed` and the corner case that shields each.

    Rules shield, miners do not: these compare what is kept, which is not known yet. A corner case shields up to its
    quota, of which batches that arrived before have `used` a part; of more, those that come first by a hash of case and
    frame, so that the choice depends on no order and is spread over the drives.
    """
    may = pc.is_in(tables.frames["frame_id"], value_set=allowed).to_numpy(zero_copy_only=False)
    shield: dict[str, str] = {}
    for case in corner_cases:
        if case.miner != "rule":
            continue
        found = tables.frames["frame_id"].filter(pa.array(case_mask(tables, case, predictions) & may))
        left = max(case.quota_frames - used.get(case.name, 0), 0)
        for frame_id in shuffled(found.to_pylist(), case.name)[:left]:
            shield.setdefault(frame_id, case.name)
    return shield


def shuffled(frame_ids: Iterable[str], salt: str) -> list[str]:
    """Return `frame_ids` in an order that is random but the same for any order they come in.

    >>> shuffled(["a", "b", "c"], "seed 1") == shuffled(["c", "b", "a"], "seed 1")
    True
    """
    return sorted(frame_ids, key=lambda frame_id: (hashlib.sha256(f"{salt}\n{frame_id}".encode()).digest(), frame_id))


def _unseen(frames: pa.Table, boxes: pa.Table, class_name: str) -> pa.Array:
    """Return which `boxes` are of `class_name` in frames where nobody looked for it."""
    lists = frames["annotated_classes"].combine_chunks()
    seen = pc.list_parent_indices(lists).filter(pc.equal(pc.list_flatten(lists), class_name))
    looked = frames["frame_id"].take(seen).combine_chunks()
    named = pc.equal(boxes["class_name"], class_name)
    return pc.and_(named, pc.invert(pc.is_in(boxes["frame_id"], value_set=looked)))


def labeled_mask(frames: pa.Table) -> Mask:
    """Return for each frame whether anybody looked for any class in it."""
    return np.asarray(pc.greater(pc.list_value_length(frames["annotated_classes"]), 0).to_numpy())
