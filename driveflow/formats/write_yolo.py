"""Write frames and boxes as YOLO with a data.yaml."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from driveflow.formats.carries import Carries, plain_name, spellings
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, write_pictures
from driveflow.formats.frame_walk import Frame, FrameWalk
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import write_text

YOLO: Final = Carries(title="YOLO", beyond_edge=False, spelled=plain_name)


def write_yolo(export: Export, folder: Path) -> Written:
    """Write data.yaml, images/<split>/ and labels/<split>/, and say what YOLO cannot carry.

    A labeled frame without boxes gets an empty file, an unlabeled frame gets none. Boxes are cut at the edge of the
    picture, since trainers throw away pictures with a box beyond it.
    """
    walk = export.walk()
    write_pictures(export, walk, folder)
    numbers = {name: number for number, name in enumerate(export.classes)}
    written = 0
    for frame in walk.frames():
        if frame.annotated_classes or frame.plain:
            lines = label_lines(frame, numbers)
            home = folder / "labels" / SPLIT_FOLDERS[frame.split]
            write_text(home / f"{frame.frame_id}.txt", "".join(lines))
            written += len(lines)
    write_text(folder / "data.yaml", _settings(export, walk))
    return Written(export.frames.num_rows, written, left_out(export, YOLO))


def label_lines(frame: Frame, numbers: Mapping[str, int]) -> list[str]:
    """Return a line "class x y width height" for each box that is no prediction and no ignore region."""
    lines = []
    for box in frame.plain:
        x1, x2 = (min(max(value / frame.width, 0.0), 1.0) for value in (box.x1, box.x2))
        y1, y2 = (min(max(value / frame.height, 0.0), 1.0) for value in (box.y1, box.y2))
        if x2 > x1 and y2 > y1:
            values = ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
            lines.append(" ".join([str(numbers[box.class_name]), *(f"{value:.9f}" for value in values)]) + "\n")
    return lines


def _settings(export: Export, walk: FrameWalk) -> str:
    settings: dict[str, object] = {"path": "."}
    settings |= {SPLIT_FOLDERS[split]: f"images/{SPLIT_FOLDERS[split]}" for split in walk.splits()}
    names = spellings(export.classes, YOLO.spelled).values()
    settings |= {"nc": len(export.classes), "names": dict(enumerate(names))}
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
