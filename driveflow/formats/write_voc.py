"""Write frames and boxes as Pascal VOC: one XML file a picture, and the lists of the splits."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, label, share, spellings
from driveflow.formats.dataset_meta import write_class_list
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.label_set import IGNORE_REGION
from driveflow.formats.losses import left_out
from driveflow.formats.shapes import turn_deg
from driveflow.formats.whole_file import pixels, whole_file
from driveflow.formats.xml_text import element, is_xml, xml_file, xml_name

_FLAGS: Final = ("truncated", "difficult", "occluded")


def _text(value: Json) -> bool:
    return isinstance(value, str) and is_xml(value)


def _no_turn(value: Json) -> bool:
    """Tell whether the text of an attribute called rotation is no number of degrees, by which a box would be turned."""
    return _text(value) and not turn_deg(value)


VOC: Final = Carries(
    title="Pascal VOC", ignore="every class", beyond_edge=False, spelled=xml_name, keys=is_xml,
    attributes={**dict.fromkeys(_FLAGS, share), "track_id": label, "rotation": _no_turn}, other_attributes=_text,
    adds={"difficult": False},
)  # fmt: skip


def write_voc(export: Export, folder: Path) -> Written:
    """Write JPEGImages/, Annotations/, ImageSets/Main/<split>.txt and dataset_meta.json, and say what VOC cannot carry.

    A labeled frame without boxes gets a file without objects, an unlabeled frame is only listed. Corners count from 1
    and include the last pixel, as VOC has them, and keep their fractions.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, "JPEGImages")
    names = spellings(export.classes, VOC.spelled)
    write_class_list(folder, names.values())
    written = sum(_write_split(walk, split, folder, names) for split in walk.splits())
    return Written(export.frames.num_rows, written, left_out(export, VOC))


def _write_split(walk: FrameWalk, split: str, folder: Path, names: Mapping[str, str]) -> int:
    written = 0
    with whole_file(folder / "ImageSets" / "Main" / f"{SPLIT_FOLDERS[split]}.txt") as listed:
        for frame in walk.frames(split):
            listed.write(f"{frame.frame_id}\n")
            if frame.is_labeled:
                with xml_file(folder / "Annotations" / f"{frame.frame_id}.xml", "annotation") as stream:
                    stream.writelines(_head(frame))
                    for lines in _objects(frame, names):
                        stream.writelines(lines)
                        written += 1
    return written


def _head(frame: Frame) -> Iterator[str]:
    size = "".join(
        element(tag, value) for tag, value in (("width", frame.width), ("height", frame.height), ("depth", 3))
    )
    yield f"  {element('folder', 'JPEGImages')}\n"
    yield f"  {element('filename', frame.picture_name)}\n"
    yield f"  <size>{size}</size>\n"
    yield f"  {element('segmented', 0)}\n"


def _objects(frame: Frame, names: Mapping[str, str]) -> Iterator[list[str]]:
    for box in (*frame.plain, *frame.ignore_regions):
        x1, x2 = (min(max(value, 0.0), float(frame.width)) for value in (box.x1, box.x2))
        y1, y2 = (min(max(value, 0.0), float(frame.height)) for value in (box.y1, box.y2))
        if x2 > x1 and y2 > y1:
            corners = {"xmin": x1 + 1, "ymin": y1 + 1, "xmax": x2, "ymax": y2}
            bndbox = "".join(element(tag, pixels(value)) for tag, value in corners.items())
            name = IGNORE_REGION if box.ignore else names[box.class_name]
            lines = [element("name", name), *_said(box), f"<bndbox>{bndbox}</bndbox>"]
            yield ["  <object>\n", *(f"    {line}\n" for line in lines), "  </object>\n"]


def _said(box: Box) -> Iterator[str]:
    """Yield what is known beyond the corners; `difficult` is always there, since readers of VOC count on it."""
    said = {} if box.ignore else VOC.fitting(box.attributes)
    for key in _FLAGS:
        if key in said or key == "difficult":
            value = said.pop(key, False)
            yield element(key, int(value) if value in (0, 1) else value)
    pairs = "".join(f"<attribute>{element('name', key)}{element('value', value)}</attribute>"
                    for key, value in sorted(said.items()))  # fmt: skip
    if pairs:
        yield f"<attributes>{pairs}</attributes>"
