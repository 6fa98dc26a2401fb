"""Read tables with a box a line: Udacity's two, VoTT's, TensorFlow's, Kaggle's, with and without a header."""

import io
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
from driveflow.formats.picture_finder import Found, bare_stem
from driveflow.formats.plain_text import open_plain_text, plain_text
from driveflow.formats.shapes import Corners, has_area
from driveflow.formats.sniff import Sniffer
from driveflow.formats.source_split import spell_split, split_of_file_name, split_of_folders

_MAX_TEXTS: Final = 100  # more of them are labels of a picture each
_FLAGS: Final = frozenset(["occluded", "truncated", "difficult"])
_MOST: Final = 0.95  # of the boxes; who gets fewer of them by the header should not believe it
_NEARLY_ALL: Final = 0.99
_MOST_NAMES: Final = 500_000  # of pictures; of what more of them name that are not there, each line counts alone
_NANOSECONDS: Final = re.compile(r"1\d{18}")


def udacity_files(sniffer: Sniffer) -> list[str]:
    """Return the tables with columns for picture, class and corners, by header or content."""
    texts = sniffer.ending_in(".txt")
    others = set(open_images_files(sniffer))
    tables = [*sniffer.ending_in(".csv", ".tsv"), *(texts if len(texts) <= _MAX_TEXTS else [])]
    return [path for path in tables if path not in others and _layout_of_head(sniffer.head(path))]


def read_udacity(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the boxes of the tables in the batch, or of those at `annotations`.

    Corners are taken as edges. A table lists pictures with boxes; one without is unlabeled, but where a line names it
    and has nothing more: then it is labeled and empty.
    """
    collector = LabelCollector(files)
    for path in label_files(files, annotations, udacity_files):
        collector.builder.files.add(path)
        data = files.read(path)
        _, taken_for = open_plain_text(data)
        if taken_for:
            collector.builder.notes.append(f"{path} is no UTF-8 text and is read as {taken_for}.")
        layout = layout_of(lambda data=data: open_plain_text(data)[0])  # type: ignore[misc]
        if layout is None:
            collector.problem(path, "label_syntax", "no columns for picture, class and corners")
        else:
            _Table(collector, path, data, layout).read()
    collector.note_unlisted()
    return collector.build()


def _layout_of_head(head: bytes) -> Layout | None:
    text, _ = plain_text(head, is_head=True)
    return layout_of(lambda: io.StringIO(text, newline=""))


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with its cells; there are as many cells as the layout needs."""

    line: int
    cells: Sequence[str]
    corners: Corners = (math.nan, math.nan, math.nan, math.nan)


@dataclass(slots=True)
class _Survey:
    """What all numbers of a table are like, read by one layout."""

    layout: Layout
    boxes: int = 0  # with an area
    is_whole: bool = True  # no side is anything but 0 and 1
    is_share: bool = True  # no side is beyond 0 to 1, but by rounding

    def add(self, cells: Sequence[str]) -> None:
        corners = self.layout.corners(cells)
        self.boxes += has_area(corners)
        for side in corners:
            self.is_whole = self.is_whole and (side in {0, 1} or math.isnan(side))
            self.is_share = self.is_share and (-SLACK <= side <= 1 + SLACK or math.isnan(side))


@dataclass(slots=True)
class _Named:
    """What the rows that name one picture have said so far."""

    found: Found
    line: int  # of the first
    image: ImageLabels | None = None  # where there is the picture
    drawn: int = 0  # boxes, good or bad
    is_truth: bool = False  # one of them is good and has no score


@dataclass(slots=True)
class _Table:
    """One table on its way into the collector."""

    collector: LabelCollector
    path: str
    data: bytes
    layout: Layout
    normalised: bool = False
    named: dict[str, _Named] = field(default_factory=dict)

    def read(self) -> None:
        if self.layout.box is None:
            detail = "one column holds the whole box and does not say whether that is two corners or a size"
            count = sum(1 for _ in self._rows())
            self.collector.problem(self.path, "label_syntax", detail, boxes=count)
            return
        self._believe()
        for row in self._rows():
            self._take(_Row(row.line, row.cells, self.layout.corners(row.cells)))
        for named in self.named.values():
            if named.image is None:
                self.collector.lose(self.path, named.found, boxes=named.drawn, line=named.line)
            else:
                self.collector.add_image(named.image, looked=named.is_truth or not named.drawn)

    def _rows(self) -> Iterator[_Row]:
        """Yield the lines that hold something, filled up where they are short."""
        needed = max(self.layout.at.values()) + 1
        rows = rows_of(open_plain_text(self.data)[0], self.layout.separator)
        for line, found in islice(rows, int(self.layout.has_header), None):
            yield _Row(line, [*found, *[""] * (needed - len(found))])

    def _cell(self, row: _Row, what: str) -> str:
        place = self.layout.at.get(what)
        return row.cells[place] if place is not None else ""

    def _believe(self) -> None:
        """Choose how to read corners.

        That is as x, y, x, y where the header says otherwise and only so nearly all are boxes: the table of Udacity's
        first set was published with such a header. Numbers of which none is above 1 but by rounding, and not all are
        whole, are shares.
        """
        ways, rows = [_Survey(layout) for layout in self._layouts()], 0
        for row in self._rows():
            rows += 1
            for way in ways:
                way.add(row.cells)
        best = ways[0]
        if ways[0].boxes < _MOST * rows and ways[-1].boxes > _NEARLY_ALL * rows:
            best = ways[-1]
            note = "the header names the corners in an order that the numbers deny; they are read as x, y, x, y."
            self.collector.builder.notes.append(f"{self.path}: {note}")
        self.layout = best.layout
        self.normalised = best.is_share and not best.is_whole
        if self.normalised:
            note = "no number is above 1, but by rounding; they are read as shares of the sides."
            self.collector.builder.notes.append(f"{self.path}: {note}")

    def _layouts(self) -> list[Layout]:
        """Return the layout of the header, and the one in order of the columns where that is another."""
        box = self.layout.box
        if self.layout.is_sized or box is None or box == tuple(sorted(box)):
            return [self.layout]
        first, second, third, fourth = sorted(box)
        at = {**self.layout.at, "x1": first, "y1": second, "x2": third, "y2": fourth}
        return [self.layout, replace(self.layout, at=at)]

    def _take(self, row: _Row) -> None:
        """Add one row to what is said of its picture."""
        name = self._cell(row, "picture")
        named = self.named.get(name)
        if named is None:
            found = self._find(name)
            named = _Named(found, row.line, self._image(found.path, row) if found.path else None)
            if found.path or len(self.named) < _MOST_NAMES:
                self.named[name] = named
        is_drawn = bool(self._cell(row, "label")) or not all(map(math.isnan, row.corners))
        named.drawn += is_drawn
        if named.image is not None:
            box = self._box(row) if is_drawn else None
            named.is_truth = named.is_truth or (box is not None and box["score"] is None)
            self.collector.add_boxes(named.image, [box] if box else [])
        elif name not in self.named:
            self.collector.lose(self.path, named.found, boxes=named.drawn, line=row.line)

    def _image(self, picture: str, row: _Row) -> ImageLabels:
        stem = bare_stem(picture)
        captured_ns = int(stem) if _NANOSECONDS.fullmatch(stem) else None  # Udacity's pictures are named by their time
        width, height = (number_of(self._cell(row, side)) for side in ("width", "height"))
        usable = width and height and 0 < width < 2**31 and 0 < height < 2**31
        split = spell_split(self._cell(row, "split"))
        return ImageLabels(
            path=picture,
            label_file=self.path,
            listing=self.collector.listing(self.path, picture),
            width=int(width) if usable and width else None,
            height=int(height) if usable and height else None,
            captured_ns=captured_ns,
            clock="utc" if captured_ns else "",
            source_split=split or split_of_folders(picture) or split_of_file_name(self.path),
        )

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
