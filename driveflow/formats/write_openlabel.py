"""Write frames and boxes as ASAM OpenLABEL 1.0, a file for each split."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, number, plain_name, spellings, text, yes_or_no
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, picture_path, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.label_set import IGNORE_REGION
from driveflow.formats.losses import left_out
from driveflow.formats.whole_file import json_members, json_text, whole_file

_HOME: Final = "images/{split}"
_CAMERA: Final = "camera"
Spans: TypeAlias = list[tuple[int, int]]


def _value(value: Json) -> bool:
    return yes_or_no(value) or number(value) or text(value)


OPENLABEL: Final = Carries(
    title="OpenLABEL", ignore="every class", scores=False, other_attributes=_value, spelled=plain_name
)


def write_openlabel(export: Export, folder: Path) -> Written:
    """Write images/<split>/ and openlabel_<split>.json, and say what OpenLABEL cannot carry.

    An object is one box, or all boxes of a drive and class that share a track_id. A labeled frame without boxes has no
    objects in it, an unlabeled frame is not listed.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, _HOME)
    names = spellings(export.classes, OPENLABEL.spelled)
    written = 0
    for split in walk.splits():
        scene = _Scene(walk, split, names)
        with whole_file(folder / f"openlabel_{SPLIT_FOLDERS[split]}.json") as stream:
            stream.write('{"openlabel": {\n"metadata": {"schema_version": "1.0.0"},\n')
            stream.write(f'"coordinate_systems": {json_text({_CAMERA: {"type": "sensor_cs", "parent": ""}})},\n')
            stream.write(f'"streams": {json_text({_CAMERA: {"type": "camera"}})},\n"frames": ')
            stream.writelines(json_members(scene.frames()))
            stream.write(',\n"objects": ')
            stream.writelines(json_members(scene.objects()))
            stream.write(f',\n"frame_intervals": {json_text(intervals(scene.spans))}\n}}}}\n')
        written += scene.written
    return Written(export.frames.num_rows, written, left_out(export, OPENLABEL))


class _Scene:
    """The labeled frames of one file and their objects; one writer owns it."""

    def __init__(self, walk: FrameWalk, split: str, names: Mapping[str, str]) -> None:
        self.written = 0
        self.spans: Spans = []
        self._walk = walk
        self._split = split
        self._names = names
        self._tracked: dict[int, Spans] = {}  # object -> where it is seen, of those that are tracks

    def frames(self) -> Iterator[tuple[str, Json]]:
        """Yield the frames by number."""
        numbers = _Numbers(self._names)
        for frame in self._labeled():
            _extend(self.spans, frame.number)
            objects: dict[str, Json] = {}
            for number_, box in numbers.of(frame):
                if numbers.is_track(box):
                    _extend(self._tracked.setdefault(number_, []), frame.number)
                objects[str(number_)] = {"object_data": {"bbox": [_shape(box)]}}
            self.written += len(objects)
            stream: Json = {_CAMERA: {"uri": picture_path(frame, _HOME)}}
            yield str(frame.number), {"frame_properties": {"streams": stream}, "objects": objects}

    def objects(self) -> Iterator[tuple[str, Json]]:
        """Yield every object once, by number; call it after `frames`."""
        numbers, told = _Numbers(self._names), 0
        for frame in self._labeled():
            for number_, box in numbers.of(frame):
                if number_ > told:
                    told = number_
                    spans = self._tracked.get(number_, [(frame.number, frame.number)])
                    name = numbers.name(box)
                    known: dict[str, Json] = {"name": f"{name} {number_}", "type": name}
                    yield str(number_), {**known, "frame_intervals": intervals(spans)}

    def _labeled(self) -> Iterator[Frame]:
        return (frame for frame in self._walk.frames(self._split) if frame.is_labeled)


class _Numbers:
    """Numbers the objects from 1 in the order they are seen, the same in every pass through the frames."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._last = 0
        self._tracks: dict[tuple[str, str, str], tuple[int, int]] = {}  # -> its object, the last frame it was seen in

    def name(self, box: Box) -> str:
        """Return the type of the object that a box shows."""
        return IGNORE_REGION if box.ignore else self._names[box.class_name]

    def is_track(self, box: Box) -> bool:
        """Tell whether a box shows an object that other frames may show."""
        return not box.ignore and OPENLABEL.fits("track_id", box.attributes.get("track_id"))

    def of(self, frame: Frame) -> Iterator[tuple[int, Box]]:
        """Yield the boxes of the next frame with the numbers of their objects."""
        for box in (*frame.plain, *frame.ignore_regions):
            if not self.is_track(box):
                self._last += 1
                yield self._last, box
                continue
            track = (frame.place.drive, self.name(box), str(box.attributes["track_id"]))
            number_, seen = self._tracks.get(track, (0, frame.number))
            if seen == frame.number:  # a new track, or one that is twice in one frame
                self._last += 1
                number_ = self._last
            self._tracks[track] = (number_, frame.number)
            yield number_, box


def intervals(spans: Spans) -> list[Json]:
    """Return first and last frames as OpenLABEL says them."""
    return [{"frame_start": first, "frame_end": last} for first, last in spans]


def _extend(spans: Spans, number_: int) -> None:
    """Add a frame to spans of frames that follow each other."""
    if spans and spans[-1][1] in {number_ - 1, number_}:
        spans[-1] = (spans[-1][0], number_)
    else:
        spans.append((number_, number_))


def _shape(box: Box) -> Json:
    width, height = box.x2 - box.x1, box.y2 - box.y1
    shape: dict[str, Json] = {
        "name": box.box_id,
        "val": [box.x1 + width / 2, box.y1 + height / 2, width, height],
        "coordinate_system": _CAMERA,
    }
    said = {} if box.ignore else OPENLABEL.fitting(box.attributes)
    kinds: dict[str, list[Json]] = {}
    for key, value in sorted(said.items()):
        kind = "boolean" if isinstance(value, bool) else "num" if number(value) else "text"
        kinds.setdefault(kind, []).append({"name": key, "val": value})
    return {**shape, "attributes": kinds} if kinds else shape
