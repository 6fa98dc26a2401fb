"""Read tables with a box a line: Udacity's two, VoTT's, TensorFlow's, Kaggle's, with and without a header."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Final

from driveflow.canonical import Json, canonical_json
from driveflow.formats.box_shapes import SLACK
from driveflow.formats.corner_columns import Layout, layout_of, rows_of
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.json_text import number_of
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.open_images import open_images_files
from driveflow.formats.picture_finder import Found, stem_of
from driveflow.formats.plain_text import plain_text
from driveflow.formats.shapes import Corners, has_area
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import spell_split, split_of_file_name, split_of_folders

_MAX_TEXTS: Final = 100  # more of them are labels of a picture each
_FLAGS: Final = frozenset(["occluded", "truncated", "difficult"])
_MOST: Final = 0.95  # of the boxes; who gets fewer of them by the header should not believe it
_NEARLY_ALL: Final = 0.99
_NANOSECONDS: Final = re.compile(r"1\d{18}")


def udacity_files(sniffer: Sniffer) -> list[str]:
    """Return the tables with columns for picture, class and corners, by header or content."""
    texts = sniffer.ending_in(".txt")
    others = set(open_images_files(sniffer))
    tables = [*sniffer.ending_in(".csv", ".tsv"), *(texts if len(texts) <= _MAX_TEXTS else [])]
    return [path for path in tables if path not in others and layout_of(_text(sniffer.head(path), is_head=True)[0])]


def read_udacity(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the boxes of the tables in the batch, or of those at `annotations`.

    Corners are taken as edges. A table lists pictures with boxes; one without is unlabeled, but where a line names it
    and has nothing more: then it is labeled and empty.
    """
    collector = LabelCollector(files)
    for path in label_files(files, annotations, udacity_files):
        collector.builder.files.add(path)
        text, taken_for = _text(files.read(path))
        if taken_for:
            collector.builder.notes.append(f"{path} is no UTF-8 text and is read as {taken_for}.")
        layout = layout_of(text)
        if layout is None:
            collector.problem(path, "label_syntax", "no columns for picture, class and corners")
        else:
            _Table(collector, path, layout).read(text)
    collector.note_unlisted()
    return collector.build()


def _text(data: bytes, *, is_head: bool = False) -> tuple[str, str]:
    text, taken_for = plain_text(data, is_head=is_head)
    return text.replace("\x00", ""), taken_for


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with its cells; there are as many cells as the layout needs."""

    line: int
    cells: Sequence[str]
    corners: Corners = (math.nan, math.nan, math.nan, math.nan)


@dataclass(slots=True)
class _Table:
    """One table on its way into the collector."""

    collector: LabelCollector
    path: str
    layout: Layout
    normalised: bool = False
    by_picture: dict[str, list[_Row]] = field(default_factory=dict)

    def read(self, text: str) -> None:
        rows = list(self._rows(text))
        if self.layout.box is None:
            detail = "one column holds the whole box and does not say whether that is two corners or a size"
            self.collector.problem(self.path, "label_syntax", detail, boxes=len(rows))
            return
        rows = self._believe_shares(self._believe_order(rows))
        for row in rows:
            self.by_picture.setdefault(self._cell(row, "picture"), []).append(row)
        for name, found in self.by_picture.items():
            self._picture(name, found)

    def _rows(self, text: str) -> Iterator[_Row]:
        """Yield the lines that hold something, filled up where they are short."""
        needed = max(self.layout.at.values()) + 1
        rows = rows_of(text, self.layout.separator)
        for line, found in islice(rows, int(self.layout.has_header), None):
            yield _Row(line, [*found, *[""] * (needed - len(found))])

    def _cell(self, row: _Row, what: str) -> str:
        place = self.layout.at.get(what)
        return row.cells[place] if place is not None else ""

    def _believe_order(self, rows: Sequence[_Row]) -> list[_Row]:
        """Return the rows with corners: as x, y, x, y where the header says otherwise and only so nearly all are boxes.

        The table of Udacity's first set was published with such a header.
        """
        found = [_Row(row.line, row.cells, self.layout.corners(row.cells)) for row in rows]
        if self.layout.is_sized or self.layout.box is None or self.layout.box == tuple(sorted(self.layout.box)):
            return found
        first, second, third, fourth = sorted(self.layout.box)
        layout = replace(self.layout, at={**self.layout.at, "x1": first, "y1": second, "x2": third, "y2": fourth})
        other = [_Row(row.line, row.cells, layout.corners(row.cells)) for row in rows]
        good, better = (sum(has_area(row.corners) for row in way) for way in (found, other))
        if good >= _MOST * len(rows) or better <= _NEARLY_ALL * len(rows):
            return found
        note = "the header names the corners in an order that the numbers deny; they are read as x, y, x, y."
        self.collector.builder.notes.append(f"{self.path}: {note}")
        self.layout = layout
        return other

    def _believe_shares(self, rows: list[_Row]) -> list[_Row]:
        """Take numbers of which none is above 1 but by rounding, and not all are whole, as shares; return the rows."""
        sides = {side for row in rows for side in row.corners if not math.isnan(side)}
        self.normalised = bool(sides - {0, 1}) and all(-SLACK <= side <= 1 + SLACK for side in sides)
        if self.normalised:
            note = "no number is above 1, but by rounding; they are read as shares of the sides."
            self.collector.builder.notes.append(f"{self.path}: {note}")
        return rows

    def _picture(self, name: str, rows: Sequence[_Row]) -> None:
        found = self._find(name)
        drawn = [row for row in rows if self._cell(row, "label") or not all(map(math.isnan, row.corners))]
        if not found.path:
            self.collector.lose(self.path, found, boxes=len(drawn), line=rows[0].line)
            return
        boxes = [box for row in drawn if (box := self._box(row))]
        stem = stem_of(found.path).rpartition("/")[2]
        captured_ns = int(stem) if _NANOSECONDS.fullmatch(stem) else None  # Udacity's pictures are named by their time
        width, height = (number_of(self._cell(rows[0], side)) for side in ("width", "height"))
        usable = width and height and 0 < width < 2**31 and 0 < height < 2**31
        split = spell_split(self._cell(rows[0], "split"))
        image = ImageLabels(
            path=found.path,
            label_file=self.path,
            listing=self.collector.listing(self.path, found.path),
            width=int(width) if usable and width else None,
            height=int(height) if usable and height else None,
            captured_ns=captured_ns,
            clock="utc" if captured_ns else "",
            source_split=split or split_of_folders(found.path) or split_of_file_name(self.path),
        )
        looked = any(box["score"] is None for box in boxes) if drawn else True
        self.collector.add(image, boxes, looked=looked)

    def _find(self, name: str) -> Found:
        found = self.collector.finder.named(self.path, name)
        if found.path or kind_of(name) == "picture":
            return found
        bare = self.collector.finder.stemmed(self.path, name)
        return bare if bare.path else found

    def _box(self, row: _Row) -> BoxRow | None:
        """Return the box of a line; report one that is none."""
        corners, name = row.corners, self._cell(row, "label")
        text = self._cell(row, "score")
        score = number_of(text)
        reason, detail = "", ""
        if not has_area(corners):
            shown = ", ".join(row.cells[place] for place in self.layout.box or ())
            reason, detail = "label_bad_box", f"{shown} are no numbers of a box with an area"
        elif not name:
            reason, detail = "label_no_class", "the box has no class"
        elif text and (score is None or not 0 <= score <= 1):
            reason, detail = "label_bad_score", f"score {text} is not within 0 to 1"
        if reason:
            self.collector.problem(self.path, reason, detail, boxes=1, line=row.line)
            return None
        return {
            "line": row.line,
            "class_name": name,
            **dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True)),
            "normalised": self.normalised,
            "attributes": self._attributes(row),
            "score": score,
        }

    def _attributes(self, row: _Row) -> str:
        """Return what the other columns say, under their own names."""
        others = tuple((name, row.cells[place]) for name, place in self.layout.others.items() if place < len(row.cells))
        return _attributes_text(others, self._cell(row, "track_id"))


@lru_cache(maxsize=4096)
def _attributes_text(said: tuple[tuple[str, str], ...], track: str) -> str:
    found: dict[str, Json] = {"track_id": track} if track else {}
    for name, text in said:
        small = name.lower()
        if text:
            found[small if small in _FLAGS else name] = _flag(text) if small in _FLAGS else text
    return canonical_json(found)


def _flag(text: str) -> Json:
    """Return a yes or no, a number, or the text of a flag."""
    known: dict[str, Json] = {"0": False, "1": True, "false": False, "true": True}
    number = number_of(text)
    return known.get(text.lower(), text if number is None else number)
