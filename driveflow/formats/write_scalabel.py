"""Write frames and boxes as Scalabel documents."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, any_named, plain_name, something, spellings
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, picture_path, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.losses import left_out
from driveflow.formats.scalabel_labels import attribute_name
from driveflow.formats.whole_file import json_list, json_text, whole_file

_HOME: Final = "images/{split}"
_FLAGS: Final = frozenset(["crowd", "ignored", "ignore"])
_SPELLINGS: Final = {"time_of_day": "timeofday"}


def _said(name: str, value: Json) -> bool:
    return any_named(name, value) and value != "undefined"


def _key(name: str) -> bool:
    """Tell whether an attribute of a box is read under the name that it has: "Crowd" would be read as "crowd"."""
    return bool(name) and attribute_name(name) == name


SCALABEL: Final = Carries(
    title="Scalabel", ignore="yes", flags=_FLAGS, scores=True, frame_attributes=_said, other_attributes=something,
    spelled=plain_name, keys=_key,
)  # fmt: skip


def write_scalabel(export: Export, folder: Path) -> Written:
    """Write images/<split>/ and labels/det_<split>.json, and say what Scalabel cannot carry.

    A labeled frame without boxes has an empty list of labels, an unlabeled frame null. Boxes with a score are no truth:
    they go to labels/predictions_<split>.json.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, _HOME)
    names = spellings(export.classes, SCALABEL.spelled)
    for split in walk.splits():
        home = folder / "labels"
        _write(home / f"det_{SPLIT_FOLDERS[split]}.json", _frames(walk, split, names), names)
        if walk.has_predictions(split):
            _write(home / f"predictions_{SPLIT_FOLDERS[split]}.json", _predictions(walk, split, names), names)
    return Written(export.frames.num_rows, export.boxes.num_rows, left_out(export, SCALABEL))


def _write(path: Path, frames: Iterator[Json], names: Mapping[str, str]) -> None:
    config: Json = {"attributes": [], "categories": [{"name": name} for name in names.values()]}
    with whole_file(path) as stream:
        stream.write(f'{{"config": {json_text(config)},\n"frames": ')
        stream.writelines(json_list(frames))
        stream.write("}\n")


def _frames(walk: FrameWalk, split: str, names: Mapping[str, str]) -> Iterator[Json]:
    for frame in walk.frames(split):
        labels = [_label(box, names) for box in frame.truth]
        attributes = {_SPELLINGS.get(key, key): value for key, value in frame.attributes.items()}
        yield {**_head(frame), "attributes": attributes, "labels": labels if frame.is_labeled or labels else None}


def _predictions(walk: FrameWalk, split: str, names: Mapping[str, str]) -> Iterator[Json]:
    for frame in walk.frames(split):
        if frame.predictions:
            yield {**_head(frame), "labels": [_label(box, names) for box in frame.predictions]}


def _head(frame: Frame) -> Mapping[str, Json]:
    size: Json = {"width": frame.width, "height": frame.height}
    return {"name": frame.picture_name, "url": picture_path(frame, _HOME), "size": size}


def _label(box: Box, names: Mapping[str, str]) -> Json:
    attributes = SCALABEL.fitting(box.attributes, ignored=box.ignore)
    if box.ignore and not attributes.keys() & _FLAGS:
        attributes["ignored"] = True
    label: dict[str, Json] = {
        "id": box.box_id,
        "category": names[box.class_name],
        "attributes": attributes,
        "box2d": {"x1": box.x1, "y1": box.y1, "x2": box.x2, "y2": box.y2},
    }
    return label if box.score is None else {**label, "score": box.score}
