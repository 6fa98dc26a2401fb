"""Read DOTA's text files of oriented boxes, as Roboflow exports them: four corners in pixels and a class a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from driveflow.canonical import canonical_json
from driveflow.formats.json_text import number_of
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.path_index import folder_of
from driveflow.formats.plain_text import text_lines
from driveflow.formats.shapes import around, has_area
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import split_of_folders

_ABOUT: Final = ("imagesource:", "gsd:", "acquisition dates:")  # lines about the whole picture
_HEAD_LINES: Final = 10


def dota_files(sniffer: Sniffer) -> list[str]:
    """Return the text files of the folders whose first file with labels has lines of DOTA."""
    by_folder: dict[str, list[str]] = {}
    for path in sniffer.ending_in(".txt"):
        by_folder.setdefault(folder_of(path), []).append(path)
    return [path for paths in by_folder.values() if _first_tells(sniffer, paths) for path in paths]


def read_dota(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the boxes around what the text files of the batch, or those at `annotations`, say.

    An empty file is a labeled picture without objects; the classes looked for are all that the files name.
    """
    collector = LabelCollector(files)
    for path in label_files(files, annotations, dota_files):
        collector.builder.files.add(path)
        _read(collector, path, files.read(path))
    collector.note_unlisted()
    return collector.build()


def _first_tells(sniffer: Sniffer, paths: Sequence[str]) -> bool:
    for path in paths:
        lines = list(islice(_lines(sniffer.head(path)), _HEAD_LINES))
        if lines:
            return all(_Line.of(number, text) is not None for number, text in lines[:-1] or lines)
    return False


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines that may be boxes with their numbers."""
    for number, line in text_lines(data):
        if line.strip() and not line.strip().lower().startswith(_ABOUT):
            yield number, line.strip()


@dataclass(frozen=True, slots=True)
class _Line:
    """Eight numbers, a class and how hard it is to see: 0, or 1 where the file says so."""

    number: int
    points: tuple[tuple[float, float], ...]
    class_name: str
    difficult: str

    @classmethod
    def of(cls, number: int, text: str) -> "_Line | None":
        """Return what a line says, None where it is no line of DOTA; class names may hold spaces."""
        fields = text.split()
        values = [value for field in fields[:8] if (value := number_of(field)) is not None]
        words = fields[8:]
        difficult = words.pop() if len(words) > 1 and words[-1] in {"0", "1", "2"} else ""
        if len(values) < 8 or not words or number_of(words[0]) is not None:
            return None
        return cls(number, tuple(zip(values[::2], values[1::2], strict=True)), " ".join(words), difficult)


def _read(collector: LabelCollector, path: str, data: bytes) -> None:
    found = collector.finder.of(path, "")
    if not found.path:
        collector.lose(path, found, boxes=sum(1 for _ in _lines(data)))
        return
    image = ImageLabels(path=found.path, label_file=path, source_split=split_of_folders(found.path))
    boxes = (box for number, line in _lines(data) if (box := _box(collector, path, number, line)))
    drawn = collector.add_boxes(image, boxes)
    collector.add_image(image, looked=bool(drawn) or next(_lines(data), None) is None)


def _box(collector: LabelCollector, path: str, number: int, text: str) -> BoxRow | None:
    """Return the box around a line; report one that is none."""
    line = _Line.of(number, text)
    if line is None:
        collector.problem(path, "label_syntax", "no eight numbers and a class", boxes=1, line=number)
        return None
    corners = around(line.points)
    if not has_area(corners):
        collector.problem(path, "label_bad_box", "its corners make no box with an area", boxes=1, line=number)
        return None
    attributes = {"shape": "polygon"} | ({"difficult": line.difficult != "0"} if line.difficult else {})
    return {
        "line": number,
        "class_name": line.class_name,
        **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)),
        "attributes": canonical_json(attributes),
    }
