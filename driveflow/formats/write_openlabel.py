"""Write frames and boxes as ASAM OpenLABEL 1.0, a file for each split."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from driveflow.canonical import Json
from driveflow.formats.carries import Carries, nothing, number, plain_name, spellings, text, yes_or_no
from driveflow.formats.export import SPLIT_FOLDERS, Export, Written, picture_path, write_pictures
from driveflow.formats.frame_walk import Box, Frame, FrameWalk
from driveflow.formats.losses import left_out
from driveflow.formats.openlabel_shapes import SPELLINGS
from driveflow.formats.whole_file import json_members, json_text, whole_file

_HOME: Final = "images/{split}"
_CAMERA: Final = "camera"
_ONTOLOGY: Final = "urn:driveflow:classes"
_RESERVED: Final = ("score", "confidence", "stream")  # what readers take for something else
_FLAGS: Final = frozenset(["ignore", "ignored", "crowd", "iscrowd"])
_TAKEN: Final = frozenset(["uri", "file", "file_name", "filename", "image", "image_name", "path", "streams",
                           "transforms", "timestamp", "odometry"])  # fmt: skip
Spans: TypeAlias = list[tuple[int, int]]


def _value(value: Json) -> bool:
    return yes_or_no(value) or number(value) or text(value)


def _of_frame(name: str, value: Json) -> bool:
    return _value(value) and name not in _TAKEN and bool(name)


def _key(name: str) -> bool:
    """Tell whether an attribute is read under the name that it has: "Occluded" would be read as "occluded"."""
    return text(name) and name not in SPELLINGS


def _type(class_name: str) -> str:
    """Return a class name without the sign that stands between an ontology and its classes."""
    return plain_name(class_name.replace("#", "_"))


OPENLABEL: Final = Carries(
    title="OpenLABEL", ignore="yes", flags=_FLAGS, scores=True,
    attributes=dict.fromkeys(_RESERVED, nothing), other_attributes=_value,
    keys=_key, frame_attributes=_of_frame, spelled=_type, adds={"track_id": None},
)  # fmt: skip


def write_openlabel(export: Export, folder: Path) -> Written:
    """Write images/<split>/ and openlabel_<split>.json, and say what OpenLABEL cannot carry.

    An object is one box, or all boxes of a drive and class that share a track_id. A labeled frame without boxes has
    an empty list of objects, an unlabeled frame has only properties. Boxes with a score are no truth: they go to
    predictions_<split>.json.
    """
    walk = export.walk()
    write_pictures(export, walk, folder, _HOME)
    names = spellings(export.classes, OPENLABEL.spelled)
    written = 0
    for split in walk.splits():
        scenes = {"openlabel": _Scene(walk, split, names, scored=False)}
        if walk.has_predictions(split):
            scenes["predictions"] = _Scene(walk, split, names, scored=True)
        for kind, scene in scenes.items():
            with whole_file(folder / f"{kind}_{SPLIT_FOLDERS[split]}.json") as stream:
                stream.writelines(_document(scene, names))
            written += scene.written
    return Written(export.frames.num_rows, written, left_out(export, OPENLABEL))


def _document(scene: "_Scene", names: Mapping[str, str]) -> Iterator[str]:
    ontology: Json = {"uri": _ONTOLOGY, "boundary_mode": "include", "boundary_list": list(names.values())}
    yield '{"openlabel": {\n"metadata": {"schema_version": "1.0.0"},\n'
    yield f'"ontologies": {json_text({"1": ontology})},\n'
    yield f'"coordinate_systems": {json_text({_CAMERA: {"type": "sensor_cs", "parent": ""}})},\n'
    yield f'"streams": {json_text({_CAMERA: {"type": "camera"}})},\n"frames": '
    yield from json_members(scene.frames())
    yield ',\n"objects": '
    yield from json_members(scene.objects())
    yield f',\n"frame_intervals": {json_text(intervals(scene.spans))}\n}}}}\n'


class _Scene:
    """The frames of one file and their objects; one writer owns it."""

    def __init__(self, walk: FrameWalk, split: str, names: Mapping[str, str], *, scored: bool) -> None:
        self.written = 0
        self.spans: Spans = []
        self._walk = walk
        self._split = split
        self._names = names
        self._scored = scored
        self._tracked: dict[int, Spans] = {}  # object -> where it is seen, of those that are tracks

    def frames(self) -> Iterator[tuple[str, Json]]:
        """Yield the frames by number."""
        numbers = _Numbers()
        for frame, boxes in self._frames():
            _extend(self.spans, frame.number)
            objects: dict[str, Json] = {}
            for number_, box in numbers.of(frame, boxes):
                if is_track(box):
                    _extend(self._tracked.setdefault(number_, []), frame.number)
                objects[str(number_)] = {"object_data": {"bbox": [_shape(box)]}}
            self.written += len(objects)
            properties: dict[str, Json] = {"streams": {_CAMERA: {"uri": picture_path(frame, _HOME)}}}
            properties |= {key: value for key, value in frame.attributes.items() if _of_frame(key, value)}
            speaks = frame.is_labeled or self._scored
            yield str(frame.number), {"frame_properties": properties, **({"objects": objects} if speaks else {})}

    def objects(self) -> Iterator[tuple[str, Json]]:
        """Yield every object once, by number; call it after `frames`."""
        numbers, told = _Numbers(), 0
        for frame, boxes in self._frames():
            for number_, box in numbers.of(frame, boxes):
                if number_ > told:
                    told = number_
                    name = self._names[box.class_name]
                    spans = self._tracked.get(number_, [(frame.number, frame.number)])
                    known: dict[str, Json] = {"name": f"{name} {number_}", "type": name}
                    yield str(number_), {**known, "ontology_uid": "1", "frame_intervals": intervals(spans)}

    def _frames(self) -> Iterator[tuple[Frame, tuple[Box, ...]]]:
        for frame in self._walk.frames(self._split):
            boxes = frame.predictions if self._scored else frame.truth
            if boxes or not self._scored:
                yield frame, boxes


def is_track(box: Box) -> bool:
    """Tell whether a box shows an object that other frames may show."""
    return OPENLABEL.fits("track_id", box.attributes.get("track_id"))


class _Numbers:
    """Numbers the objects from 1 in the order they are seen, the same in every pass through the frames."""

    def __init__(self) -> None:
        self._last = 0
        self._tracks: dict[tuple[str, str, str], tuple[int, int]] = {}  # -> its object, the last frame it was seen in

    def of(self, frame: Frame, boxes: Iterable[Box]) -> Iterator[tuple[int, Box]]:
        """Yield the boxes of the next frame with the numbers of their objects."""
        for box in boxes:
            if not is_track(box):
                self._last += 1
                yield self._last, box
                continue
            track = (frame.place.drive, box.class_name, str(box.attributes["track_id"]))
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
    kinds: dict[str, list[Json]] = {}
    said = OPENLABEL.fitting(box.attributes, ignored=box.ignore)
    more: dict[str, Json] = {"ignore": True} if box.ignore and not said.keys() & _FLAGS else {}
    more |= {} if box.score is None else {"score": box.score}
    for key, value in sorted({**said, **more}.items()):
        kind = "boolean" if isinstance(value, bool) else "num" if number(value) else "text"
        kinds.setdefault(kind, []).append({"name": key, "val": value})
    return {
        "name": "shape",
        "uid": box.box_id,
        "val": [box.x1 + width / 2, box.y1 + height / 2, width, height],
        "coordinate_system": _CAMERA,
        **({"attributes": kinds} if kinds else {}),
    }
