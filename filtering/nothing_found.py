"""Say why a corner case found nothing: a word that nothing is called by looks like a world without the rare."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.miner_section import MinerName
from driveflow.flow.sections import CornerCaseSection
from driveflow.predicates import attribute
from driveflow.where import FRAME_COLUMNS, compile_where
from filtering.miners.like_labels import labeled_as
from filtering.miners.material import Mask, Material, Scores
from filtering.rarity import evidence

_SHOWN: Final = 8
_NO_CHAMPION: Final = "no model is champion yet, and it goes by what the champion sees"


def why_nothing(material: Material, case: CornerCaseSection, scores: Scores) -> str:
    """Return in half a sentence why no frame of train or val came out of `scores`, and what would do."""
    asked = material.in_splits("train", "val")
    if not asked.any():
        return "no frame of train or val is kept"
    scored = scores[asked & ~np.isnan(scores)]
    if not len(scored):
        return _LACKS.get(case.miner, _nothing_scored)(material, case)
    if scored.max() < case.settings.at_least:
        return f"the best score is {scored.max():g}, under settings.at_least {case.settings.at_least:g}"
    return f"{len(scored):,} frames have a score, but {_unmet(material, case)}"


def _unmet(material: Material, case: CornerCaseSection) -> str:
    """Return which part of the condition no frame of train or val meets."""
    asked = material.in_splits("train", "val")
    parts = [
        *_absent_attributes(material, case, asked),
        *_unknown_columns(material, case, asked),
        *_absent_classes(material, case, asked),
    ]
    return "; ".join(parts) or "no kept frame of train or val meets all of its condition"


def _absent_attributes(material: Material, case: CornerCaseSection, asked: Mask) -> Iterator[str]:
    frames = material.tables.frames.filter(pa.array(asked))
    for name, values in case.where.attributes.items():
        there = sorted(set(attribute(frames, name).tolist()) - {""})
        if not there:
            yield _no_attribute(name, _attribute_names(frames))
        elif not set(there) & set(values):
            yield f"no kept frame of train or val has {name} {' or '.join(values)}; there are {_listed(there)}"


def _unknown_columns(material: Material, case: CornerCaseSection, asked: Mask) -> Iterator[str]:
    """Yield what the condition on frames looks at that nothing is known of."""
    if not case.expression:
        return
    frames, sources = material.tables.frames.filter(pa.array(asked)), material.tables.sources
    mine = sources.filter(pc.is_in(sources["frame_id"], value_set=frames["frame_id"].combine_chunks()))
    condition = compile_where(case.expression, FRAME_COLUMNS)
    for name in sorted(condition.names & set(mine.column_names)):
        if mine[name].null_count == mine.num_rows:
            yield f"{name} is known of no kept frame of train or val"
    names = _attribute_names(frames)
    for name in sorted({name for name, _ in condition.attributes} - set(names)):
        yield _no_attribute(name, names)


def _no_attribute(name: str, known: list[str]) -> str:
    return f"no kept frame of train or val has an attribute {name}; known are {_listed(known) or 'none'}"


def _attribute_names(frames: pa.Table) -> list[str]:
    texts = frames["attributes"].unique().drop_null().to_pylist()
    return sorted({name for text in texts for name in json.loads(text)})


def _absent_classes(material: Material, case: CornerCaseSection, asked: Mask) -> Iterator[str]:
    if not case.where.classes:
        return
    boxes = evidence(material.tables, material.tables.classes, material.sure(), material.min_score)
    mine = pc.is_in(boxes["class_name"], value_set=pa.array(case.where.classes, pa.string()))
    rows = material.rows_of(boxes["frame_id"].filter(mine))
    if not asked[rows[rows >= 0]].any():
        seen = (
            "and the champion is sure of none where nobody looked"
            if material.predictions
            else "and no model is champion that could see one"
        )
        yield f"no label of {' or '.join(case.where.classes)} is in the kept frames of train and val, {seen}"


def _by_detections(material: Material, case: CornerCaseSection) -> str:
    return _nothing_scored(material, case) if material.predictions else _NO_CHAMPION


def _errors(material: Material, case: CornerCaseSection) -> str:
    if not (material.labeled() & material.in_splits("train", "val")).any():
        return "no kept frame of train or val is labeled"
    return _by_detections(material, case)


def _rare_objects(material: Material, case: CornerCaseSection) -> str:
    seen = material.objects is not None and len(material.objects.frame_ids)
    return _rare(material, case) if seen else "no object is labeled or seen"


def _rare(_: Material, case: CornerCaseSection) -> str:
    against = {"labeled": "is labeled", "other_drives": "is of another drive"}.get(case.settings.reference, "is there")
    return f"no frame has {case.settings.nearest} to be compared with: too few of what {against}"


def _like_labels(material: Material, case: CornerCaseSection) -> str:
    names = " or ".join(case.settings.classes)
    if material.objects is None:
        return "no object is labeled or seen"
    asked = material.in_splits("train", "val")[material.rows_of(material.objects.frame_ids)]
    like, unlike = labeled_as(material, material.objects, case.settings.classes)
    if not (like & asked).any():
        return (
            f"no label of {names} is in the kept frames of train and val; label a handful, or look for the first by "
            "the miner like_these with an example frame, or by rare_objects"
        )
    if not (unlike & asked).any():
        return f"no label of another class is in the kept frames of train and val to tell {names} from"
    return f"every frame in which an object is labeled or seen has a label of {names} already"


def _failed_slices(material: Material, _: CornerCaseSection) -> str:
    return "no frame meets what failed" if material.failed_slices else "no validation has left slices that failed"


def _nothing_scored(_: Material, __: CornerCaseSection) -> str:
    return "no kept frame of train or val has a score"


def _listed(words: list[str]) -> str:
    return ", ".join(words[:_SHOWN]) + (f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else "")


_LACKS: Final[Mapping[MinerName, Callable[[Material, CornerCaseSection], str]]] = {
    "rule": _unmet,
    "rare_frames": _rare,
    "rare_objects": _rare_objects,
    "uncertainty": _by_detections,
    "errors": _errors,
    "flicker": _by_detections,
    "like_labels": _like_labels,
    "failed_slices": _failed_slices,
}
