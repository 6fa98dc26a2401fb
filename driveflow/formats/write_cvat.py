"""Write frames and boxes as CVAT's XML for images, version 1.1."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, label, number, spellings, yes_or_no
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.label_set import IGNORE_REGION
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import pixels
from driveflow.formats.xml_text import element, is_xml, opening, xml_file, xml_name

_KINDS: Final = {bool: "checkbox", int: "number", float: "number", str: "text"}
_RANGE: Final = "-1e9;1e9;1e-6"  # least, most and step of a number, which CVAT wants to know


def _cell(value: Json) -> bool:
    return yes_or_no(value) or number(value) or (isinstance(value, str) and is_xml(value))


def _kind(key: str, value: Json) -> str:
    """Return the kind of input that CVAT has for an attribute; none where it has a place of its own."""
    return "" if key == "occluded" and yes_or_no(value) else _KINDS[type(value)]


CVAT: Final = Carries(
    title="CVAT", ignore="every class", spelled=xml_name, keys=is_xml,
    attributes={"track_id": label}, other_attributes=_cell, kind=_kind, adds={"occluded": False},
)  # fmt: skip


def write_cvat(export: Export, folder: Path) -> Written:
    """Write images/<split>/ and annotations.xml, and say what CVAT cannot carry.

    A labeled frame without boxes is listed without boxes, an unlabeled frame is not listed.
    """
    walk = export.walk()
    write_pictures(export, walk, folder)
    names = spellings(export.classes, CVAT.spelled)
    written = 0
    with xml_file(folder / "annotations.xml", "annotations") as stream:
        stream.writelines(_meta(walk, names))
        for number_, frame in enumerate((frame for frame in walk.frames() if frame.is_labeled), start=1):
            stream.write(f"  {opening('image', _image(frame, number_))}\n")
            for box in (*frame.plain, *frame.ignore_regions):
                stream.writelines(_box(box, IGNORE_REGION if box.ignore else names[box.class_name]))
                written += 1
            stream.write("  </image>\n")
    return Written(export.frames.num_rows, written, left_out(export, CVAT))


def _meta(walk: FrameWalk, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the labels with the attributes of their boxes, since CVAT takes no others, and a task for each split."""
    kinds: dict[str, dict[str, str]] = {word: {} for word in names.values()}
    labeled: Counter[str] = Counter()
    regions = 0
    for frame in walk.frames():
        labeled[frame.split] += frame.is_labeled
        regions += len(frame.ignore_regions)
        for box in frame.plain:
            for key, value in _said(box).items():
                kind, known = _kind(key, value), kinds[names[box.class_name]]
                known[key] = kind if known.get(key, kind) == kind else "text"
    yield "  <version>1.1</version>\n  <meta>\n    <project>\n      <labels>\n"
    for word, attributes in {**kinds, **({IGNORE_REGION: {}} if regions else {})}.items():
        yield f"        <label>{element('name', word)}<type>rectangle</type>\n          <attributes>\n"
        for key, kind in sorted(attributes.items()):
            values = {"number": _RANGE, "checkbox": "false"}.get(kind, "")
            what = element("name", key) + element("mutable", "False") + element("input_type", kind)
            default = {"number": "0", "checkbox": "false"}.get(kind, "")
            told = what + element("default_value", default) + element("values", values)
            yield f"            <attribute>{told}</attribute>\n"
        yield "          </attributes>\n        </label>\n"
    yield "      </labels>\n      <tasks>\n"
    for number_, split in enumerate(walk.splits(), start=1):
        name = SPLIT_FOLDERS[split]
        said = {"id": number_, "name": name, "size": labeled[split], "mode": "annotation", "subset": name}
        yield f"        <task>{''.join(element(tag, value) for tag, value in said.items())}</task>\n"
    yield "      </tasks>\n    </project>\n  </meta>\n"


def _image(frame: Frame, number_: int) -> Mapping[str, object]:
    split = SPLIT_FOLDERS[frame.split]
    name = f"{split}/{frame.picture_name}"
    return {"id": number_, "name": name, "subset": split, "width": frame.width, "height": frame.height}


def _box(box: Box, name: str) -> Iterator[str]:
    corners = dict(zip(("xtl", "ytl", "xbr", "ybr"), map(pixels, box.corners), strict=True))
    level = box.attributes.get("occluded")
    occluded = int(isinstance(level, bool | int | float) and level > 0)
    yield f"    {opening('box', {'label': name, 'source': 'manual', 'occluded': occluded, **corners, 'z_order': 0})}\n"
    for key, value in sorted(_said(box).items()):
        word = str(value).lower() if isinstance(value, bool) else value
        yield f"      {element('attribute', word, {'name': key})}\n"
    yield "    </box>\n"


def _said(box: Box) -> dict[str, Json]:
    """Return the attributes of a box; a level of occlusion goes before the yes or no that every box has."""
    said = {} if box.ignore else CVAT.fitting(box.attributes)
    return {key: value for key, value in said.items() if _kind(key, value)}
