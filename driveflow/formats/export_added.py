"""Know what a format made an export add, so that an import of it takes that for nothing that anybody said."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json, canonical_json
from driveflow.formats.carries import Carries
from driveflow.formats.label_set import LabelFiles, LabelSet
from driveflow.formats.path_index import folder_of
from driveflow.formats.writers import WRITERS

MARKER: Final = "export.json"
"""Written last: what the export is of, what it holds, what it adds to all boxes and what it leaves out."""

_MAX_BYTES: Final = 1 << 20


class _Marker(msgspec.Struct):
    snapshot_id: str
    format: str
    adds: list[str] = []


def added_to(boxes: pa.Table, carries: Carries) -> list[Json]:
    """Return the attributes that the format gives to all boxes and none of `boxes` (BOXES) has."""
    said = boxes["attributes"]
    return [key for key in carries.adds if not pc.any(pc.match_substring(said, f'"{key}":')).as_py()]


def without_added(labels: LabelSet, label_format: str, files: LabelFiles) -> LabelSet:
    """Return `labels` without what exports among `files` had to add to the boxes of their label files."""
    carries = WRITERS[label_format].carries if label_format in WRITERS else None
    if carries is None or not carries.adds:
        return labels
    boxes = labels.boxes
    for path in files.paths:
        if path.rpartition("/")[2] == MARKER and (adds := _adds_of(files.read(path), label_format, carries)):
            boxes = _cleaned(boxes, folder_of(path), adds)
    return replace(labels, boxes=boxes)


def _adds_of(data: bytes, label_format: str, carries: Carries) -> dict[str, Json]:
    """Return what a marker says was added; nothing where it is none of ours, or of another format."""
    try:
        said = msgspec.json.decode(data[:_MAX_BYTES], type=_Marker)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {key: value for key, value in carries.adds.items() if key in said.adds and said.format == label_format}


def _cleaned(boxes: pa.Table, folder: str, adds: Mapping[str, Json]) -> pa.Table:
    texts = boxes["attributes"]
    distinct = pc.unique(texts)
    clean = pa.array([_without(text, adds) for text in distinct.to_pylist()], pa.string())
    mine = pc.starts_with(boxes["label_file"], f"{folder}/" if folder else "")
    found = pc.if_else(mine, clean.take(pc.index_in(texts, value_set=distinct)), texts)
    return boxes.set_column(boxes.column_names.index("attributes"), "attributes", found)


def _without(text: str, adds: Mapping[str, Json]) -> str:
    said = json.loads(text)
    kept = {key: value for key, value in said.items() if key not in adds or adds[key] not in (None, value)}
    return text if len(kept) == len(said) else canonical_json(kept)
