"""Read ASAM OpenLABEL, and VCD that it came from: 2D boxes of objects in frames of camera streams."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.json_items import members_named
from driveflow.formats.json_text import (
    JsonTextError,
    list_of,
    object_of,
    strict_json,
    text_of,
    value_of,
)
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.openlabel_shapes import Drawn, drawn_in, frames_in, values_of
from driveflow.formats.openlabel_streams import FrameProperties, Streams
from driveflow.formats.picture_finder import Found, bare_stem
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_ROOTS: Final = ("openlabel", "vcd", "VCD")
_MAX_BYTES: Final = 2 << 30  # of a document, which is in memory as a whole
_NOT_READ: Final = ("actions", "events", "contexts", "relations", "tags")
Object = Mapping[str, object]


def openlabel_files(sniffer: Sniffer) -> list[str]:
    """Return the documents of OpenLABEL and VCD, by their root."""
    return [path for path in sniffer.ending_in(".json") if sniffer.json_shape(path).keys & {*_ROOTS}]


def read_openlabel(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the 2D boxes of the documents in the batch, or of those at `annotations`.

    A frame with `objects`, be they none, is labeled; a frame that only has properties is unlabeled.
    """
    collector = LabelCollector(files)
    for path in label_files(files, annotations, openlabel_files):
        collector.builder.files.add(path)
        try:
            _read(collector, path, files.read(path))
        except JsonTextError as error:
            collector.problem(path, "label_syntax", str(error), line=error.line)
    collector.note_repeats()
    return collector.build()


def _read(collector: LabelCollector, path: str, data: bytes) -> None:
    top = members_named(strict_json(data), _ROOTS)
    root = next((name for name in _ROOTS if name in top), "")
    if not root:
        collector.problem(path, "label_syntax", "no object with the root openlabel or vcd")
        return
    said = object_of(value_of(top[root], _MAX_BYTES))
    document = _Document(collector, path, said, top_left=root != "openlabel" and _is_before_4_3(said))
    document.read()
    classes = [name for entry in object_of(said.get("ontologies")).values() for name in _boundary(object_of(entry))]
    if classes:
        collector.settle(path, classes)
    not_read = {name: len(object_of(said.get(name))) for name in _NOT_READ}
    shown = ", ".join(f"{count} {name}" for name, count in not_read.items() if count)
    if shown:
        collector.builder.notes.append(f"{path}: {shown} are not read.")


def _is_before_4_3(said: Object) -> bool:
    """Tell whether boxes are given by their top left corner: from VCD 4.3 on they are by their centre."""
    version = text_of(object_of(said.get("metadata")).get("schema_version")) or text_of(said.get("version"))
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return bool(numbers) and numbers < [4, 3]


def _boundary(ontology: Object) -> Iterator[str]:
    """Yield the classes that an ontology limits the document to."""
    if text_of(ontology.get("boundary_mode")) == "include":
        yield from (_class_name(name) for name in list_of(ontology.get("boundary_list")))


def _class_name(kind: object) -> str:
    """Return the type of an object without the ontology before it."""
    return text_of(kind).rpartition("#")[2]


@dataclass(frozen=True, slots=True)
class _Box:
    """A shape with what its object says."""

    uid: str
    class_name: str
    drawn: Drawn
    said: Mapping[str, Json]


@dataclass(slots=True)
class _Document:
    """One document on its way into the collector."""

    collector: LabelCollector
    path: str
    said: Object
    top_left: bool
    streams: Streams = field(init=False)
    objects: Object = field(init=False)
    frames: dict[str, Object] = field(init=False)
    static: dict[str, list[_Box]] = field(init=False)  # by object: what holds in all frames of it

    def __post_init__(self) -> None:
        self.streams = Streams(object_of(self.said.get("streams")))
        self.objects = object_of(self.said.get("objects"))
        self.frames = {number: object_of(frame) for number, frame in object_of(self.said.get("frames")).items()}
        self.static = {uid: self._boxes(uid, object_of(entry)) for uid, entry in self.objects.items()}

    def read(self) -> None:
        where = {uid: self._frames_of(uid) for uid, boxes in self.static.items() if boxes}
        for number, frame in self.frames.items():
            entries = object_of(frame.get("objects"))
            boxes = [box for uid, entry in entries.items() for box in self._boxes(uid, object_of(entry))]
            boxes += [box for uid, frames in where.items() if number in frames for box in self.static[uid]]
            self._frame(number, frame, boxes)
        homeless = [box for uid in self.static if not where.get(uid) for box in self.static[uid]]
        if not self.frames:
            self._frame("", {"objects": self.objects} if self.objects else {}, homeless)
        elif homeless:
            self._lose("no frame has these objects", homeless)

    def _boxes(self, uid: str, entry: Object) -> list[_Box]:
        whole = object_of(self.objects.get(uid))
        data = object_of(entry.get("object_data"))
        name = _class_name(entry.get("type") or whole.get("type"))
        said = values_of(object_of(whole.get("object_data"))) | values_of(data)
        found = drawn_in(data, top_left=self.top_left, left_out=self.collector.left_out)
        return [_Box(uid, name, one, said) for one in found]

    def _frames_of(self, uid: str) -> set[str]:
        """Return the frames in which the static data of an object holds."""
        spans = list(frames_in(object_of(self.objects.get(uid)).get("frame_intervals")))
        naming = {number for number, frame in self.frames.items() if uid in object_of(frame.get("objects"))}
        inside = {
            number
            for number in self.frames
            if number.isdecimal() and any(first <= int(number) <= last for first, last in spans)
        }
        return (inside if spans else naming) or (set() if spans else set(self.frames))

    def _frame(self, number: str, frame: Object, boxes: list[_Box]) -> None:
        properties = FrameProperties(object_of(frame.get("frame_properties")))
        pictures = self._pictures(number, properties)
        by_picture: dict[str, list[_Box]] = {stream: [] for stream in pictures}
        unclear: dict[str, list[_Box]] = defaultdict(list)
        for box in boxes:
            stream = self._stream(box.drawn, pictures)
            if box.drawn.uri:
                pictures.setdefault(stream, box.drawn.uri)
            (by_picture.setdefault(stream, []) if stream in pictures else unclear[stream]).append(box)
        for stream, lost in unclear.items():
            of = f" of {stream!r}" if stream else ""
            self._lose(f"frame {number or 'of all'} names no picture{of} ({len(pictures)} others)", lost)
        for stream, found in by_picture.items():
            labeled = bool(found) or "objects" in frame
            self._picture((stream, pictures[stream]), properties, found, labeled=labeled)

    def _lose(self, detail: str, boxes: list[_Box]) -> None:
        self.collector.problem(self.path, "label_missing_picture", detail, boxes=len(boxes))

    def _pictures(self, number: str, properties: FrameProperties) -> dict[str, str]:
        """Return the picture of each stream in a frame: as the frame says, as the streams say, or by its own name."""
        found = properties.pictures()
        place = int(number) if number.isdecimal() and len(number) < 19 else None
        for stream in self.streams.cameras():
            seen = properties.number(stream)  # of the stream, whose frames may be others than those of the document
            shifted = place if place is None else place + self.streams.shift(stream)
            name = self.streams.picture(stream, shifted if seen is None else seen)
            if (
                name
                and stream not in found
                and (place is None or len(self.frames) == 1 or "%" in self.streams.uri(stream))
            ):
                found[stream] = name
        if not found and len(self.frames) < 2:
            own = self.collector.finder.stemmed(self.path, bare_stem(self.path))
            found = {"": own.path} if own.path else {}
        return found

    def _stream(self, drawn: Drawn, pictures: Mapping[str, str]) -> str:
        """Return the stream that a shape is drawn in; where it does not say and there is one picture, that of it."""
        if drawn.stream in pictures or drawn.uri:
            return drawn.stream
        cameras = [name for name in pictures if name]
        if len(pictures) == 1 and (not drawn.stream or drawn.stream not in self.streams.by_name or not cameras):
            return next(iter(pictures))
        return drawn.stream

    def _picture(
        self, named: tuple[str, str], properties: FrameProperties, boxes: list[_Box], *, labeled: bool
    ) -> None:
        stream, name = named
        found = self._find(stream, name)
        if not found.path:
            self.collector.lose(self.path, found, boxes=len(boxes))
            return
        uses = Counter(box.uid for box in boxes)
        rows = [row for box in boxes if (row := self._row(box, several=uses[box.uid] > 1))]
        captured_ns = properties.captured_ns(stream)
        width, height = self.streams.size(stream)
        image = ImageLabels(
            path=found.path,
            label_file=self.path,
            listing=self.collector.listing(self.path, found.path),
            width=width,
            height=height,
            sequence=self.path if len(self.frames) > 1 else "",
            camera=stream,
            captured_ns=captured_ns,
            clock="utc" if captured_ns is not None else "",
            source_split=split_of_folders(found.path) or split_of_file_name(self.path),
            attributes=properties.attributes(),
        )
        drawn = any(row["score"] is None for row in rows)
        self.collector.add(image, rows, looked=labeled and (drawn or not boxes))

    def _find(self, stream: str, name: str) -> Found:
        home = self.streams.uri(stream)
        joined = self.collector.finder.named(self.path, f"{home}/{name}") if home and home != name else Found()
        return joined if joined.path else self.collector.finder.named(self.path, name)

    def _row(self, box: _Box, *, several: bool) -> BoxRow | None:
        """Return the row of a box; report one that is none or has no class."""
        drawn = box.drawn
        if drawn.corners is None or not box.class_name:
            detail = drawn.detail if drawn.corners is None else "it has no type"
            reason = "label_bad_box" if drawn.corners is None else "label_no_class"
            self.collector.problem(self.path, reason, f"object {box.uid} ({drawn.name}): {detail}", boxes=1)
            return None
        attributes = {**box.said, **drawn.attributes}
        attributes |= {"part": drawn.name} if several and drawn.name else {}
        if self.frames:
            attributes.setdefault("track_id", box.uid)  # what the shape says of its own track goes before
        return {
            "own_id": drawn.own_id or (f"{box.uid}/{drawn.name}" if several else box.uid),
            "class_name": box.class_name,
            **dict(zip(("x1", "y1", "x2", "y2"), drawn.corners, strict=True)),
            "ignore": drawn.ignore,
            "attributes": canonical_json(attributes),
            "score": drawn.score,
            "annotator": text_of(object_of(self.said.get("metadata")).get("annotator")) or None,
        }
