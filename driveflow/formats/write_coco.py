"""Write frames and boxes as COCO, with ids that are dense and unique over all files of the export."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from driveflow.canonical import Json
from driveflow.formats.export import Export, picture_name, write_pictures


def write_coco(export: Export, folder: Path) -> tuple[str, ...]:
    """Write images/<split>/ and annotations/instances_<split>.json, and return what COCO cannot carry, as sentences.

    Beyond COCO, an image says its `annotated_classes` (none: unlabeled) and an annotation its `box_id`; `read_coco`
    takes both back.
    """
    for _ in write_pictures(export, folder):
        pass
    home = folder / "annotations"
    home.mkdir(parents=True, exist_ok=True)
    for split, document in coco_documents(export).items():
        (home / f"instances_{split}.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    lost = [name for name in ("annotator", "guideline") if export.boxes[name].null_count < export.boxes.num_rows]
    return tuple(f"COCO has no place for the {name} of a box." for name in lost)


def coco_documents(export: Export) -> dict[str, Json]:
    """Return one document for each split; image ids and annotation ids go on from split to split."""
    image_ids, annotation_ids = count(1), count(1)
    numbers = {name: number for number, name in enumerate(export.classes, start=1)}
    boxes = export.boxes_by_frame()
    documents: dict[str, Json] = {}
    for split in export.splits():
        images: list[Json] = []
        annotations: list[Json] = []
        for frame in export.frames_of(split):
            image_id = next(image_ids)
            images.append(_image(frame, image_id))
            annotations += _annotations(boxes.get(frame["frame_id"], ()), image_id, annotation_ids, numbers)
        documents[split] = {
            "info": {"description": f"driveflow export, split {split}"},
            "licenses": [],
            "images": images,
            "annotations": annotations,
            "categories": [{"id": number, "name": name, "supercategory": ""} for name, number in numbers.items()],
        }
    return documents


def _image(frame: Mapping[str, Any], image_id: int) -> Json:
    image: dict[str, Json] = {
        "id": image_id,
        "file_name": picture_name(dict(frame)),
        "width": frame["width"],
        "height": frame["height"],
        "annotated_classes": frame["annotated_classes"],
    }
    attributes = json.loads(frame["attributes"])
    return {**image, "attributes": attributes} if attributes else image


def _annotations(
    boxes: Sequence[Mapping[str, Any]], image_id: int, ids: Iterator[int], numbers: Mapping[str, int]
) -> Iterator[Json]:
    for box in boxes:
        attributes = json.loads(box["attributes"])
        crowd = bool(attributes.pop("iscrowd", False))
        width, height = box["x2"] - box["x1"], box["y2"] - box["y1"]
        yield {
            "id": next(ids),
            "image_id": image_id,
            "category_id": numbers[box["class_name"]],
            "bbox": [box["x1"], box["y1"], width, height],
            "area": width * height,
            "iscrowd": int(box["ignore"]),
            "ignore": int(box["ignore"] and not crowd),
            "box_id": box["box_id"],
            **({"attributes": attributes} if attributes else {}),
        }
