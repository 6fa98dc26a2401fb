"""Read the camera labels of the Waymo Open Dataset v2, as the import tells them table by table."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from driveflow.canonical import Json, canonical_json
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelProblem, LabelSet, LabelSetBuilder
from driveflow.formats.path_index import folder_of
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.waymo_text import MARK, MEMBER, WaymoText, camera_name, parse_waymo

_CLASSES: Final = {0: "unknown", 1: "vehicle", 2: "pedestrian", 3: "sign", 4: "cyclist"}
_ALWAYS: Final = frozenset([1, 2, 4])  # what is looked for in every camera picture; signs are of the lidar
_TIMES_OF_DAY: Final = {"Day": "daytime", "Night": "night", "Dawn/Dusk": "dawn/dusk"}
_Key = tuple[str, int, int]  # segment, microseconds, camera


def waymo_files(sniffer: Sniffer) -> list[str]:
    """Return the texts that stand for tables, by their mark."""
    return [path for path in sniffer.ending_in(f"!/{MEMBER}") if MARK in sniffer.json_shape(path).keys]


def read_waymo(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the tables say; all pictures of a segment that has a table of boxes are labeled.

    Times are int64 nanoseconds since 1970, made of microseconds.
    """
    builder = LabelSetBuilder()
    walk = _Walk(builder)
    texts = {path: _parse(builder, path, files.read(path)) for path in waymo_files(Sniffer(within(files, annotations)))}
    builder.files |= set(texts)
    found = [(path, text) for path, text in texts.items() if text is not None]
    for _, text in found:
        walk.learn(text)
    for path, text in found:
        if text.component == "camera_image":
            walk.add_pictures(path, text)
    for path, text in found:
        if text.component == "camera_box":
            walk.add_boxes(path, text)
    return builder.build()


@dataclass(slots=True)
class _Walk:
    """The tables on their way into the builder."""

    builder: LabelSetBuilder
    labeled: set[str] = field(default_factory=set)  # segments
    kinds: set[int] = field(default_factory=set)
    broken: dict[_Key, str] = field(default_factory=dict)
    stats: dict[tuple[str, int], dict[str, Json]] = field(default_factory=dict)
    pictures: dict[_Key, tuple[str, str]] = field(default_factory=dict)  # picture and the table that lists it

    def learn(self, text: WaymoText) -> None:
        """Note what has to be known before the first picture."""
        if text.component == "camera_box":
            self.labeled |= set(text.segment)
            self.kinds |= set(text.kind)
            for number, kind in enumerate(text.kind):
                if kind not in _CLASSES:
                    key = (text.segment[number], text.micros[number], text.camera[number])
                    self.broken[key] = f"row {number + 1} has the type {kind}; there are 0 to 4"
        for number, segment in enumerate(text.segment if text.component == "stats" else ()):
            self.stats[segment, text.micros[number]] = _said(text, number)

    def add_pictures(self, table: str, text: WaymoText) -> None:
        """Add the pictures of one table; one that is there twice is labeled once."""
        classes = [name for kind, name in _CLASSES.items() if kind in _ALWAYS or kind in self.kinds]
        class_list = self.builder.class_list(classes)
        for number, (segment, micros, camera, path) in enumerate(
            zip(text.segment, text.micros, text.camera, text.path, strict=True)
        ):
            key, picture = (segment, micros, camera), f"{folder_of(table)}/{path}"
            labeled = segment in self.labeled and key not in self.pictures
            if key not in self.pictures:
                self.pictures[key] = (picture, table)
            timed = 0 < micros < 2**63 // 1000
            self.builder.add_image(
                ImageLabels(
                    path=picture,
                    label_file=table,
                    class_list=class_list if labeled else None,
                    drive=segment,
                    camera=camera_name(camera),
                    captured_ns=micros * 1000 if timed else None,
                    clock="utc" if timed else "",
                    speed_mps=text.speed_mps[number] if text.speed_mps else None,
                    attributes=self.stats.get((segment, micros), {}),
                    broken=self.broken.get(key, "") if labeled else "",
                )
            )

    def add_boxes(self, table: str, text: WaymoText) -> None:
        """Add the boxes of one table; those without a picture are counted by segment."""
        lost: Counter[str] = Counter()
        rows = []
        for number, box in enumerate(_boxes(text)):
            key = (text.segment[number], text.micros[number], text.camera[number])
            if key not in self.pictures:
                lost[key[0]] += 1
            elif isinstance(box, str):
                self._report_row(table, number + 1, box)
            else:
                picture, label_file = self.pictures[key]
                rows.append({**box, "path": picture, "label_file": label_file, "line": number + 1})
        self.builder.add_box_rows(rows)
        for segment, boxes in lost.items():
            detail = f"segment {segment}: boxes of pictures that are in no table of this batch"
            self.builder.problems.append(LabelProblem(table, "label_missing_picture", detail, None, boxes))

    def _report_row(self, table: str, row: int, reason: str) -> None:
        detail = {
            "label_bad_box": "its center or its size is no number, or nothing",
            "label_class_out_of_range": "its type is none of 0 to 4",
        }[reason]
        self.builder.problems.append(LabelProblem(table, reason, f"row {row} is no box: {detail}", row, 1))


def _parse(builder: LabelSetBuilder, path: str, data: bytes) -> WaymoText | None:
    try:
        return parse_waymo(data)
    except msgspec.MsgspecError as error:
        builder.problems.append(LabelProblem(path, "label_syntax", f"columns are not those of Waymo v2: {error}"[:200]))
        return None


def _boxes(text: WaymoText) -> Iterator[Mapping[str, object] | str]:
    """Yield each row as a box, or why it is none: its size along x is what Waymo calls length, along y its width."""
    sides = zip(text.center_x, text.center_y, text.size_x, text.size_y, strict=True)
    for number, numbers in enumerate(sides):
        x, y, width, height = (math.nan if value is None else value for value in numbers)
        if not (0 < width < math.inf and 0 < height < math.inf and abs(x) < math.inf and abs(y) < math.inf):
            yield "label_bad_box"
            continue
        if text.kind[number] not in _CLASSES:
            yield "label_class_out_of_range"
            continue
        yield {
            "own_id": text.object_id[number] or "" if text.object_id else "",
            "class_name": _CLASSES[text.kind[number]],
            "x1": x - width / 2,
            "y1": y - height / 2,
            "x2": x + width / 2,
            "y2": y + height / 2,
            "attributes": canonical_json(_attributes(text, number)),
        }


def _attributes(text: WaymoText, number: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if text.object_id and text.object_id[number]:
        found["track_id"] = text.object_id[number]
    for name, levels in (("difficulty_detection", text.detection), ("difficulty_tracking", text.tracking)):
        if levels and levels[number]:
            found[name] = levels[number]
    if text.detection and text.detection[number] == 2:
        found["difficult"] = True
    return found


def _said(text: WaymoText, number: int) -> dict[str, Json]:
    columns = {"time_of_day": text.time_of_day, "location": text.location, "weather": text.weather}
    found: dict[str, Json] = {name: values[number] for name, values in columns.items() if values and values[number]}
    if "time_of_day" in found:
        found["time_of_day"] = _TIMES_OF_DAY.get(str(found["time_of_day"]), found["time_of_day"])
    return found
