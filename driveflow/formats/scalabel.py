"""Read Scalabel labels: lists of frames or documents with a configuration, of stills or videos."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from driveflow.canonical import Json
from driveflow.formats.bdd100k_names import is_bdd100k
from driveflow.formats.capture_time import milliseconds
from driveflow.formats.json_text import JsonTextError, number_of, object_of, plain_object
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.picture_finder import Found
from driveflow.formats.scalabel_frames import ScalabelDocument, ScalabelFrame, read_document, scalabel_documents
from driveflow.formats.scalabel_labels import category_of, corners_of, row_of
from driveflow.formats.shapes import has_area
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_SPELLINGS = {"timeofday": "time_of_day"}
_UNKNOWN = "undefined"


def scalabel_files(sniffer: Sniffer) -> list[str]:
    """Return the Scalabel documents, by content, but for those of BDD100K's stills."""
    return [path for path, document in scalabel_documents(sniffer) if not is_bdd100k(document)]


def read_scalabel(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return what the Scalabel documents of the batch say, or those at `annotations`.

    A frame with `labels` is labeled, also where that is an empty list; without them, or with null, it is unlabeled.
    """
    collector = LabelCollector(files)
    for path in label_files(files, annotations, scalabel_files):
        document = ScalabelReader(collector, path).read(files.read(path))
        if document and document.classes:
            collector.settle(path, document.classes)
    collector.note_repeats()
    return collector.build()


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one publisher means by the format.

    `silent_is_empty`: a frame that does not speak of labels was looked at and is empty. `ignore_as` names categories
    that are ignore regions of a class. `folders` are looked into first for pictures.
    """

    silent_is_empty: bool = False
    ignore_as: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    drive_of: Callable[[ScalabelFrame], str] = lambda frame: frame.video


@dataclass(slots=True)
class ScalabelReader:
    """One document on its way into the collector."""

    collector: LabelCollector
    path: str
    dialect: Dialect = field(default_factory=Dialect)
    names: frozenset[str] | None = None  # the categories that the document knows; None: it states none
    scored: int = 0
    drawn: int = 0
    timeless: int = 0

    def read(self, data: bytes) -> ScalabelDocument | None:
        """Hand on all frames; return the document, None where the file is none."""
        self.collector.builder.files.add(self.path)
        try:
            document = read_document(data)
        except JsonTextError as error:
            self.collector.problem(self.path, "label_syntax", str(error), line=error.line)
            return None
        self.names = frozenset(document.classes) | document.parents if document.classes else None
        for frame in document.frames():
            if frame.broken:
                self.collector.problem(self.path, "label_syntax", frame.broken)
            else:
                self._frame(frame)
        self._close(document)
        return document

    def _close(self, document: ScalabelDocument) -> None:
        notes = self.collector.builder.notes
        if self.scored and not self.drawn:
            notes.append(f"{self.path} holds predictions only: it makes no picture labeled.")
            self.collector.settle(self.path, (), labeled=False)
        if self.timeless:
            notes.append(
                f"{self.path}: {self.timeless} timestamps are no milliseconds, as the format has it; left out."
            )
        if document.groups:
            notes.append(f"{self.path}: {document.groups} groups of frames are not read, their frames are.")

    def _frame(self, frame: ScalabelFrame) -> None:
        found = self._find(frame)
        boxes, lost, wrong = self._boxes(frame)
        if not found.path:
            self.collector.lose(self.path, found, boxes=len(boxes))
            return
        looked = frame.labels is not None or self.dialect.silent_is_empty
        captured_ns, clock = milliseconds(frame.timestamp)
        self.timeless += frame.timestamp is not None and captured_ns is None
        image = ImageLabels(
            path=found.path,
            label_file=self.path,
            listing=self.collector.listing(self.path, found.path),
            width=frame.size[0],
            height=frame.size[1],
            drive=self.dialect.drive_of(frame),
            sequence=self.path if frame.numbered and not frame.video else "",
            camera=frame.camera,
            captured_ns=captured_ns,
            clock=clock,
            source_split=split_of_folders(found.path) or split_of_file_name(self.path),
            attributes=frame_attributes(frame.attributes),
            broken=wrong,
        )
        drawn = any(box["score"] is None for box in boxes)
        self.collector.add(image, boxes, looked=looked and (drawn or not (boxes or lost)))

    def _find(self, frame: ScalabelFrame) -> Found:
        """Return the picture by its url, by its video and name, by its name."""
        names = [frame.url] if frame.url and "://" not in frame.url else []
        names += [f"{frame.video}/{frame.name}"] if frame.video else []
        for name in [*names, frame.name]:
            found = self.collector.finder.named(self.path, name, self.dialect.folders)
            if found.path:
                return found
        bare = self.collector.finder.stemmed(self.path, frame.name, self.dialect.folders)
        return bare if bare.path else found

    def _boxes(self, frame: ScalabelFrame) -> tuple[list[BoxRow], int, str]:
        """Return the boxes of a frame, how many were of no use, and why the picture must not be used at all."""
        rows: list[BoxRow] = []
        lost, wrong = 0, ""
        for number, entry in enumerate(frame.labels or ()):
            label = object_of(entry)
            corners, shape = corners_of(label)
            if corners is None:
                self.collector.left_out[shape] += 1
                continue
            reason, detail = self._complaint(label, corners)
            if reason:
                lost += 1
                told = f"{frame.name}, label {number}: {detail}"
                self.collector.problem(self.path, reason, told, boxes=1)
                wrong = wrong or (f"{self.path}: {told}" if reason == "label_class_out_of_range" else "")
                continue
            row = row_of(label, corners, shape, self.dialect.ignore_as, tracked=bool(frame.video))
            self.scored += row["score"] is not None
            self.drawn += row["score"] is None
            rows.append(row)
        return rows, lost, wrong

    def _complaint(self, label: Mapping[str, object], corners: tuple[float, float, float, float]) -> tuple[str, str]:
        name = category_of(label)
        if not name:
            return "label_no_class", "it has no category"
        if self.names is not None and name not in self.names:
            return "label_class_out_of_range", f"category {name!r}, but the file lists {len(self.names)} others"
        if not has_area(corners):
            return "label_bad_box", f"{corners} are no corners of a box with an area"
        score = number_of(label.get("score"))
        if score is not None and not 0 <= score <= 1:
            return "label_bad_score", f"score {score} is not within 0 to 1"
        return "", ""


def frame_attributes(said: Mapping[str, object]) -> dict[str, Json]:
    """Return the attributes of a frame under the names used here; what is undefined is left out."""
    return {_SPELLINGS.get(name, name): value for name, value in plain_object(said).items() if value != _UNKNOWN}
