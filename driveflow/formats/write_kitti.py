"""Write frames and boxes as KITTI object labels, a tree for each split."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, is_number, number, plain_name, share, spellings
from driveflow.formats.dataset_meta import write_class_list
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, write_pictures
from driveflow.formats.frame_walk import Box, Frame
from driveflow.formats.label_set import IGNORE_REGION
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import pixels, write_text

_NO_3D: Final = "-1 -1 -1 -1000 -1000 -1000 -10"  # height, width, length, place and turn of a box that has none


def _occlusion(value: Json) -> bool:
    return value is False or (number(value) and value in {0, 1, 2, 3})


def _visibility(value: Json) -> bool:
    return value == "unknown"  # as our reader says of occlusion 3


def _three(value: Json, beyond: float) -> bool:
    """Tell whether a value is three numbers `beyond` one that stands for none."""
    return isinstance(value, list) and len(value) == 3 and all(number(part) and part > beyond for part in value)


def _word(class_name: str) -> str:
    """Return a class name as one word that begins with a letter and is no number."""
    word = re.sub(r"\s", "_", plain_name(class_name))
    return f"class_{word}" if is_number(word) or not word[:1].isalpha() else word


KITTI: Final = Carries(
    title="KITTI", ignore="every class", spelled=_word,
    attributes={
        "truncated": share, "occluded": _occlusion, "visibility": _visibility, "alpha": number,
        "dimensions": partial(_three, beyond=0), "location": partial(_three, beyond=-1000), "rotation_y": number,
    },
    together=frozenset(["dimensions", "location", "rotation_y"]),
)  # fmt: skip


def write_kitti(export: Export, folder: Path) -> Written:
    """Write <split>/image_2/, <split>/label_2/ and dataset_meta.json, and say what KITTI cannot carry.

    A labeled frame without boxes gets an empty file, an unlabeled frame gets none. What is not known of a box is -1.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, "{split}/image_2")
    names = spellings(export.classes, KITTI.spelled)
    write_class_list(folder, names.values())
    written = 0
    for frame in walk.frames():
        if frame.is_labeled:
            lines = label_lines(frame, names)
            path = folder / SPLIT_FOLDERS[frame.split] / "label_2" / f"{frame.frame_id}.txt"
            write_text(path, "".join(lines))
            written += len(lines)
    return Written(export.frames.num_rows, written, left_out(export, KITTI))


def label_lines(frame: Frame, names: Mapping[str, str]) -> list[str]:
    """Return a line of 15 columns for each box that is no prediction, then one for each ignore region."""
    lines = [_line(names[box.class_name], box) for box in frame.plain]
    return lines + [_line(IGNORE_REGION, box) for box in frame.ignore_regions]


def _line(name: str, box: Box) -> str:
    said = {} if box.ignore else KITTI.fitting(box.attributes)
    truncated = pixels(_number(said["truncated"])) if "truncated" in said else "-1"
    occluded = int(_number(said.get("occluded")))
    corners = " ".join(pixels(value) for value in box.corners)
    return f"{name} {truncated} {occluded} {said.get('alpha', -10)} {corners} {_in_3d(said)}\n"


def _number(value: Json) -> float:
    return float(value) if isinstance(value, bool | int | float) else -1.0


def _in_3d(said: Mapping[str, Json]) -> str:
    """Return height, width, length, place and turn; all of them or none."""
    if not KITTI.together <= said.keys():
        return _NO_3D
    dimensions, location = said["dimensions"], said["location"]
    assert isinstance(dimensions, list)
    assert isinstance(location, list)
    return " ".join(str(value) for value in (*dimensions, *location, said["rotation_y"]))
