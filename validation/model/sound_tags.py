"""Take out of slices by time of day the frames whose tag is doubted, before anything is sliced, and say which."""

import json
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import canonical_json
from driveflow.time_of_day import TagCheck, check_tags
from validation.model.scene import Correction, EvaluationRequest

KIND = "time_of_day_doubted"
_DONE = "counted, but in no slice by time of day: the sun or the picture speaks against the tag"
_EXAMPLES = 5


def with_sound_tags(request: EvaluationRequest) -> tuple[EvaluationRequest, tuple[Correction, ...]]:
    """Return `request` without the tags of a time of day that its sources or signals speak against, and a correction.

    Every way to cut slices (predicates, conditions, dimensions) reads the tags of frames, so a tag that is gone is in
    no slice; the frame itself counts as before.
    """
    frames, found = without_doubted_tags(request.frames, request.sources, request.signals)
    if not found.against.height:
        return request, ()
    told = Correction(KIND, len(found.frame_ids()), _examples(found), _DONE)
    return replace(request, frames=frames), (told,)


def without_doubted_tags(
    frames: pa.Table, sources: pa.Table | None, signals: pa.Table | None
) -> tuple[pa.Table, TagCheck]:
    """Return `frames` without the tags of a time of day that are doubted, and which those are."""
    found = check_tags(frames, sources, signals)
    return (_without(frames, found) if found.against.height else frames), found


def _examples(found: TagCheck) -> tuple[str, ...]:
    first = found.against.unique("frame_id", keep="first", maintain_order=True).head(_EXAMPLES)
    text = pl.format("{} said to be {}, but {} is {}", "frame_id", "said", "rule", pl.col("value").round(1))
    return tuple(first.select(text.alias("text"))["text"].to_list())


def _without(frames: pa.Table, found: TagCheck) -> pa.Table:
    doubted: dict[str, set[str]] = {}
    for frame_id, key in found.against.select("frame_id", "key").iter_rows():
        doubted.setdefault(frame_id, set()).add(key)
    rows = pc.is_in(frames["frame_id"], value_set=pa.array(sorted(doubted), pa.string()))
    chosen = frames.filter(rows).select(["frame_id", "attributes"]).to_pylist()
    kept = [_dropped(row["attributes"], doubted[row["frame_id"]]) for row in chosen]
    column = pc.replace_with_mask(frames["attributes"].combine_chunks(), rows.combine_chunks(), pa.array(kept))
    return frames.set_column(frames.schema.get_field_index("attributes"), "attributes", column)


def _dropped(attributes: str, keys: set[str]) -> str:
    return canonical_json({key: value for key, value in json.loads(attributes).items() if key not in keys})
