"""Write frames and boxes as YOLO with a data.yaml."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from driveflow.formats.export import Export, write_pictures

_KEYS = {"train": "train", "val": "val", "holdout": "test"}


def write_yolo(export: Export, folder: Path) -> tuple[str, ...]:
    """Write data.yaml, images/<split>/ and labels/<split>/, and return what YOLO cannot carry, as sentences.

    A labeled frame without boxes gets an empty file, an unlabeled frame gets none. Boxes are cut at the edge of the
    picture, since trainers throw away pictures with a box beyond it.
    """
    for _ in write_pictures(export, folder):
        pass
    boxes = export.boxes_by_frame()
    numbers = {name: number for number, name in enumerate(export.classes)}
    for split in export.splits():
        home = folder / "labels" / split
        home.mkdir(parents=True, exist_ok=True)
        for frame in export.frames_of(split):
            found = boxes.get(frame["frame_id"], [])
            if found or frame["annotated_classes"]:
                text = label_text(frame, found, numbers)
                (home / f"{frame['frame_id']}.txt").write_text(text, encoding="utf-8")
    (folder / "data.yaml").write_text(_settings(export), encoding="utf-8")
    return _left_out(export)


def label_text(frame: Mapping[str, Any], boxes: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]) -> str:
    """Return the label file of one frame: a line "class x y width height" for each box that is no ignore region."""
    lines = []
    for box in boxes:
        x1, x2 = (min(max(box[name] / frame["width"], 0.0), 1.0) for name in ("x1", "x2"))
        y1, y2 = (min(max(box[name] / frame["height"], 0.0), 1.0) for name in ("y1", "y2"))
        if not box["ignore"]:
            values = ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
            lines.append(" ".join([str(numbers[box["class_name"]]), *(f"{value:.9f}" for value in values)]))
    return "".join(line + "\n" for line in lines)


def _settings(export: Export) -> str:
    settings: dict[str, object] = {"path": "."}
    settings |= {_KEYS[split]: f"images/{split}" for split in export.splits()}
    settings |= {"nc": len(export.classes), "names": dict(enumerate(export.classes))}
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)


def _left_out(export: Export) -> tuple[str, ...]:
    everything = sorted(export.classes)
    partly = sum(1 for names in export.frames["annotated_classes"].to_pylist() if names and sorted(names) != everything)
    ignored = sum(export.boxes["ignore"].to_pylist())
    said = sum(1 for text in export.boxes["attributes"].to_pylist() if text != "{}")
    sentences = [
        (ignored, f"YOLO has no ignore regions: {ignored} boxes are left out."),
        (partly, f"YOLO cannot say which classes were looked for: {partly} frames seem complete and are not."),
        (said, f"YOLO has no attributes: those of {said} boxes are left out."),
    ]
    return tuple(text for number, text in sentences if number)
