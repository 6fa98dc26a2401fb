"""Write frames and boxes as tasks of Label Studio."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, nothing, something, spellings
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, picture_path, write_pictures
from driveflow.formats.frame_walk import Box, Frame
from driveflow.formats.label_set import IGNORE_REGION
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import json_list, whole_file
from driveflow.formats.xml_text import opening, xml_name

_HOME: Final = "images/{split}"
_SERVED: Final = "/data/local-files/?d="  # where Label Studio serves files of its own disk, seen from the export

_LONGEST: Final = 200  # letters of an attribute; what is longer is no word about the picture


def _of_task(name: str, value: Json) -> bool:
    short = isinstance(value, str) and 0 < len(value) <= _LONGEST and "://" not in value
    return bool(name) and name != "image" and (short or isinstance(value, bool | int | float))


LABEL_STUDIO: Final = Carries(
    title="Label Studio", ignore="every class", scores=True, frame_attributes=_of_task,
    attributes={"text": nothing}, other_attributes=something, spelled=xml_name,
)  # fmt: skip


def write_label_studio(export: Export, folder: Path) -> Written:
    """Write images/<split>/, tasks_<split>.json and label_config.xml, and say what Label Studio cannot carry.

    A labeled frame without boxes has an annotation without results, an unlabeled frame has no annotation. Boxes with a
    score are predictions.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, _HOME)
    names = spellings(export.classes, LABEL_STUDIO.spelled)
    ids, regions, boxes = count(1), 0, 0

    def tasks(split: str) -> Iterator[Json]:
        nonlocal regions, boxes
        for frame in walk.frames(split):
            regions += len(frame.ignore_regions)
            boxes += len(frame.plain) + len(frame.ignore_regions) + len(frame.predictions)
            yield _task(frame, names, ids)

    for split in walk.splits():
        with whole_file(folder / f"tasks_{SPLIT_FOLDERS[split]}.json") as stream:
            stream.writelines(json_list(tasks(split)))
            stream.write("\n")
    with whole_file(folder / "label_config.xml") as stream:
        stream.writelines(_config([*names.values(), *([IGNORE_REGION] if regions else [])]))
    return Written(export.frames.num_rows, boxes, left_out(export, LABEL_STUDIO))


def _config(labels: Sequence[str]) -> Iterator[str]:
    yield '<View>\n  <Image name="image" value="$image"/>\n  <RectangleLabels name="label" toName="image">\n'
    yield from (f"    {opening('Label', {'value': label}, '/>')}\n" for label in labels)
    yield "  </RectangleLabels>\n</View>\n"


def _task(frame: Frame, names: Mapping[str, str], ids: Iterator[int]) -> Json:
    drawn = [_region(frame, box, names[box.class_name]) for box in frame.plain]
    drawn += [_region(frame, box, IGNORE_REGION) for box in frame.ignore_regions]
    guessed = [_region(frame, box, names[box.class_name]) for box in frame.predictions]
    path = picture_path(frame, _HOME)
    said = {key: value for key, value in frame.attributes.items() if _of_task(key, value)}
    return {
        "id": frame.number,
        "data": {"image": f"{_SERVED}{path}", **said},
        "annotations": [{"id": next(ids), "result": drawn}] if frame.is_labeled else [],
        "predictions": [{"id": next(ids), "result": guessed}] if guessed else [],
    }


def _region(frame: Frame, box: Box, name: str) -> Json:
    across, down = 100 / frame.width, 100 / frame.height
    region: dict[str, Json] = {
        "id": box.box_id,
        "type": "rectanglelabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": frame.width,
        "original_height": frame.height,
        "image_rotation": 0,
        "value": {
            "x": box.x1 * across,
            "y": box.y1 * down,
            "width": (box.x2 - box.x1) * across,
            "height": (box.y2 - box.y1) * down,
            "rotation": 0,
            "rectanglelabels": [name],
        },
    }
    region |= {} if box.score is None else {"score": box.score}
    said = {} if box.ignore else LABEL_STUDIO.fitting(box.attributes)
    return {**region, "meta": said} if said else region
