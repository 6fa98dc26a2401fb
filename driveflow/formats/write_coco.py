"""Write frames and boxes as COCO, with ids that are dense and unique over all files of the export."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, any_named, anything, plain_name, spellings
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import json_list, json_text, whole_file

COCO: Final = Carries(
    title="COCO", ignore="yes", scores=True, partly=True, frame_attributes=any_named, other_attributes=anything,
    flags=frozenset(["iscrowd"]),
    spelled=plain_name,
)  # fmt: skip


def write_coco(export: Export, folder: Path) -> Written:
    """Write images/<split>/ and annotations/instances_<split>.json, and say what COCO cannot carry.

    Beyond COCO, an image says its `annotated_classes` (none: unlabeled) and an annotation its `box_id`; `read_coco`
    takes both back. Boxes with a score are no truth: they go to annotations/predictions_<split>.json.
    """
    walk = export.walk()
    write_pictures(export, walk, folder)
    documents = _Documents(walk, spellings(export.classes, COCO.spelled), count(1))
    for split in walk.splits():
        home = folder / "annotations"
        documents.write(home / f"instances_{SPLIT_FOLDERS[split]}.json", split, scored=False)
        if walk.has_predictions(split):
            documents.write(home / f"predictions_{SPLIT_FOLDERS[split]}.json", split, scored=True)
    return Written(export.frames.num_rows, next(documents.annotation_ids) - 1, left_out(export, COCO))


@dataclass(frozen=True, slots=True)
class _Documents:
    """The files of one export: their annotation ids go on from file to file."""

    walk: FrameWalk
    names: Mapping[str, str]
    annotation_ids: Iterator[int]

    def write(self, path: Path, split: str, *, scored: bool) -> None:
        """Write the truth of a split, or its predictions."""
        categories: list[Json] = [
            {"id": number, "name": name, "supercategory": ""} for number, name in enumerate(self.names.values(), 1)
        ]
        about = {"description": f"driveflow export, {'predictions' if scored else 'truth'} of split {split}"}
        with whole_file(path) as stream:
            stream.write(f'{{"info": {json_text(about)}, "licenses": [],\n"categories": {json_text(categories)},\n')
            stream.write('"images": ')
            stream.writelines(json_list(self._images(split, scored=scored)))
            stream.write(',\n"annotations": ')
            stream.writelines(json_list(self._annotations(split, scored=scored)))
            stream.write("}\n")

    def _images(self, split: str, *, scored: bool) -> Iterator[Json]:
        for frame in self.walk.frames(split, with_boxes=scored):
            if not scored:
                yield _image(frame, [self.names[name] for name in frame.annotated_classes])
            elif frame.predictions:
                yield _image(frame, [])

    def _annotations(self, split: str, *, scored: bool) -> Iterator[Json]:
        numbers = {name: number for number, name in enumerate(self.names, start=1)}
        for frame in self.walk.frames(split):
            for box in frame.predictions if scored else frame.truth:
                yield _annotation(box, next(self.annotation_ids), frame.number, numbers[box.class_name])


def _image(frame: Frame, annotated: Sequence[str]) -> Json:
    image: dict[str, Json] = {
        "id": frame.number,
        "file_name": frame.picture_name,
        "width": frame.width,
        "height": frame.height,
        "annotated_classes": annotated,
    }
    return {**image, "attributes": frame.attributes} if frame.attributes else image


def _annotation(box: Box, number: int, image_id: int, category_id: int) -> Json:
    attributes = dict(box.attributes)
    crowd = bool(attributes.pop("iscrowd", False))
    width, height = box.x2 - box.x1, box.y2 - box.y1
    return {
        "id": number,
        "image_id": image_id,
        "category_id": category_id,
        "bbox": [box.x1, box.y1, width, height],
        "area": width * height,
        "iscrowd": int(box.ignore),
        "ignore": int(box.ignore and not crowd),
        "box_id": box.box_id,
        **({"score": box.score} if box.score is not None else {}),
        **({"attributes": attributes} if attributes else {}),
    }
