"""Look at the beginnings of label files, each once, so that every format can say which files are its own."""

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from driveflow.formats.json_items import JsonItems, is_balanced, names_in
from driveflow.formats.label_set import LabelFiles

_HEAD_BYTES: Final = 64 << 10
_LARGE_BYTES: Final = 4 << 20
_MARKS_OF_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ROOT: Final = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_NO_ELEMENT: Final = re.compile(rb"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[.*?\])?\s*>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Only:
    """A batch of which only some files can be seen."""

    files: LabelFiles
    paths: Sequence[str]

    def read(self, path: str) -> bytes:
        return self.files.read(path)


def within(files: LabelFiles, annotations: str) -> LabelFiles:
    """Return the batch as if it had only the file or the folder `annotations`; all of it where that is empty."""
    folder = annotations.rstrip("/") + "/"
    if not annotations:
        return files
    return _Only(files, [path for path in files.paths if path == annotations or path.startswith(folder)])


@dataclass(frozen=True, slots=True)
class JsonShape:
    """What kind of JSON a file holds; `keys` are those of the object, or of the first object of the list."""

    kind: Literal["object", "array", "none"]
    keys: frozenset[str] = frozenset()
    first: str = ""  # of a list: the text of its first item, at most 64 KiB of it


@dataclass(slots=True)
class Sniffer:
    """The files of a batch with a memory of what was seen in them; itself `LabelFiles`."""

    files: LabelFiles
    _shapes: dict[str, JsonShape] = field(default_factory=dict)
    _heads: dict[str, bytes] = field(default_factory=dict)  # of large files, which every format asks for
    _headers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def paths(self) -> Sequence[str]:
        """Every file, sorted."""
        return self.files.paths

    def read(self, path: str) -> bytes:
        """Return the bytes of one file."""
        return self.files.read(path)

    def ending_in(self, *endings: str) -> list[str]:
        """Return the files whose names end so, in any case."""
        return [path for path in self.paths if path.lower().endswith(endings)]

    def head(self, path: str) -> bytes:
        """Return the first 64 KiB of a file, in UTF-8 where that is UTF-16 with its mark."""
        data = self._heads.get(path)
        if data is None:
            whole = self.read(path)
            data = whole[:_HEAD_BYTES]
            if len(whole) > _LARGE_BYTES:
                self._heads[path] = data
        return data.decode("utf-16", "replace").encode() if data.startswith(_MARKS_OF_UTF_16) else data

    def json_shape(self, path: str) -> JsonShape:
        """Return what kind of JSON the file holds; `none` where that is no JSON list or object."""
        if path not in self._shapes:
            self._shapes[path] = _shape(self.read(path))
        return self._shapes[path]

    def xml_root(self, path: str) -> str:
        """Return the name of the root element by the head of the file, empty where that is no XML."""
        head = self.head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
        if not head.startswith(b"<"):
            return ""
        found = _ROOT.match(_NO_ELEMENT.sub(b"", head).lstrip())
        return found[1].decode() if found else ""

    def csv_header(self, path: str) -> tuple[str, ...]:
        """Return the cells of the first line, by the separator (comma, semicolon, tab) that it has most of."""
        if path not in self._headers:
            lines = self.head(path).decode("utf-8-sig", "replace").splitlines()
            line = lines[0] if lines else ""
            row = next(csv.reader([line], delimiter=separator_of(line)), [])
            self._headers[path] = tuple(cell.strip() for cell in row)
        return self._headers[path]


def separator_of(line: str) -> str:
    """Return what separates the cells of a line: comma, semicolon or tab."""
    return max(",;\t", key=line.count)


def _shape(data: bytes) -> JsonShape:
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if len(text) > _LARGE_BYTES:
        return _shape_of_large(text)
    try:
        if text.startswith(b"{"):
            return JsonShape("object", _keys(text))
        if text.startswith(b"["):
            first = next(iter(msgspec.json.decode(text, type=list[msgspec.Raw])), msgspec.Raw(b""))
            item = bytes(first).strip()
            return JsonShape("array", _keys(item) if item.startswith(b"{") else frozenset(),
                             item[:_HEAD_BYTES].decode("utf-8", "replace"))  # fmt: skip
    except (msgspec.DecodeError, RecursionError):
        return JsonShape("none")
    return JsonShape("none")


def _shape_of_large(text: bytes) -> JsonShape:
    """Return the same of JSON whose items are not all to be in memory; it may have items that are to be repaired."""
    if not text.startswith((b"{", b"[")) or not is_balanced(text):
        return JsonShape("none")
    if text.startswith(b"{"):
        return JsonShape("object", names_in(text))
    first = next(iter(JsonItems(memoryview(text))), memoryview(b""))
    return JsonShape("array", names_in(first), bytes(first[:_HEAD_BYTES]).strip().decode("utf-8", "replace"))


def _keys(text: bytes) -> frozenset[str]:
    return frozenset(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
