"""Read Open Images: boxes as shares of the picture, classes by their ids, and which classes were verified where."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from driveflow.canonical import Json, canonical_json
from driveflow.formats.csv_table import CsvTableError, read_tables
from driveflow.formats.json_text import number_of
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import Found, bare_stem
from driveflow.formats.shapes import has_area
from driveflow.formats.sniff import Sniffer, within
from driveflow.formats.source_split import split_of_file_name, split_of_folders

_CORNERS: Final = ("xmin", "ymin", "xmax", "ymax")
_BOXES: Final = frozenset(["imageid", "labelname", *_CORNERS])
_VERIFIED: Final = frozenset(["imageid", "source", "labelname", "confidence"])
_OTHERS: Final = (
    (frozenset(["maskpath", "imageid", "labelname"]), "masks"),
    (frozenset(["imageid", "labelname1", "labelname2"]), "relationships"),
    (frozenset(["imageid", "subset", "originalurl"]), ""),
)
_FLAGS: Final[Mapping[str, str]] = {
    "isoccluded": "occluded",
    "istruncated": "truncated",
    "isgroupof": "IsGroupOf",
    "isdepiction": "IsDepiction",
    "isinside": "IsInside",
}
_CLASS_IDS: Final = ("/m/", "/g/", "/t/")
_SHOWN: Final = 5
_PARTS: Final = 64
_MAX_NAMES_BYTES: Final = 32 << 20  # Open Images has 20,000 classes, in half a megabyte


def open_images_files(sniffer: Sniffer) -> list[str]:
    """Return the tables of boxes of Open Images, by their header."""
    return [path for path in sniffer.ending_in(".csv") if _header(sniffer, path) >= _BOXES]


def read_open_images(files: LabelFiles, annotations: str = "") -> LabelSet:
    """Return the boxes of the batch, or of the tables at `annotations`, with what lies beside them.

    The classes looked for in a picture are those that have boxes there and those that people verified to be absent:
    Open Images labels each picture for a few classes only. A class that was verified to be there and has no box was
    not drawn, so it was not looked for.
    """
    paths = label_files(files, annotations, open_images_files)
    place = folder_of(annotations) if annotations in paths else annotations
    reader = _Reader(LabelCollector(files), files, Sniffer(within(files, place)))
    reader.names |= _names(Sniffer(files), reader.collector)
    reader.read_verified()
    for path in paths:
        reader.read_boxes(path)
    reader.add_pictures_without_boxes()
    reader.collector.note_unlisted()
    return reader.collector.build()


def _header(sniffer: Sniffer, path: str) -> frozenset[str]:
    return frozenset(cell.strip('"').lower() for cell in sniffer.csv_header(path))


def _names(sniffer: Sniffer, collector: LabelCollector) -> dict[str, str]:
    """Return the name of each class id, by the tables of two columns that say so."""
    names: dict[str, str] = {}
    for path in sniffer.ending_in(".csv"):
        header = sniffer.csv_header(path)
        if len(header) == 2 and (header[0].startswith(_CLASS_IDS) or header[0].lower() == "labelname"):
            collector.builder.files.add(path)
            names |= _two_columns(sniffer.read(path))
    return names


def _two_columns(data: bytes) -> dict[str, str]:
    """Return the names by id; of a table that is larger than any list of classes, none."""
    if len(data) > _MAX_NAMES_BYTES:
        return {}
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace")))
    return {row[0].strip(): row[1].strip() for row in rows if len(row) == 2 and row[1].strip()}


@dataclass(slots=True)
class _Lost:
    """The boxes of pictures that are not there, told of at once: who has a part of the set has all of its table."""

    rows: int = 0
    _shown: list[str] = field(default_factory=list)
    _hashes: list[npt.NDArray[np.uint64]] = field(default_factory=list)  # of the names: they may be millions

    def add(self, keys: pl.Series) -> None:
        """Add the ids of the pictures of some rows."""
        self.rows += len(keys)
        once = keys.unique(maintain_order=True)
        self._shown = list(dict.fromkeys([*self._shown, *once.head(2 * _SHOWN)]))[: _SHOWN + 1]
        self._hashes.append(once.hash().to_numpy())
        if len(self._hashes) > _PARTS:
            self._hashes = [np.unique(np.concatenate(self._hashes))]

    def describe(self) -> str:
        """Say how many pictures those are, and which are the first."""
        count = len(np.unique(np.concatenate(self._hashes)))
        shown = ", ".join(self._shown[:_SHOWN]) + (" ..." if count > _SHOWN else "")
        return f"{count} pictures are no files of this batch: {shown}"


@dataclass(slots=True)
class _Reader:
    """The tables of one batch on their way into the collector."""

    collector: LabelCollector
    files: LabelFiles
    beside: Sniffer
    names: dict[str, str] = field(default_factory=dict)  # class id -> name
    absent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # picture id -> names of classes
    spoken_of: dict[str, str] = field(
        default_factory=dict
    )  # picture id -> the first table that verifies something there
    pictures: dict[str, str] = field(default_factory=dict)  # picture id -> picture
    stems: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.stems = frozenset(bare_stem(path) for path in self.collector.finder.pictures)

    def read_verified(self) -> None:
        """Read which classes people verified to be in no part of which picture; models' guesses are no such thing."""
        for path in self.beside.ending_in(".csv"):
            header = _header(self.beside, path)
            what = next((what for keys, what in _OTHERS if header >= keys), None)
            if what is not None:
                self.collector.builder.files.add(path)
                self.collector.builder.notes += [f"{path} holds {what}, which are not read."] if what else []
            if header >= _VERIFIED and not header & {*_CORNERS, "maskpath"}:
                self.collector.builder.files.add(path)
                self._read_verified(path)

    def _read_verified(self, path: str) -> None:
        for table in self._tables(path, _VERIFIED):
            known = table.filter(pl.col("imageid").is_in(self.stems) & (pl.col("source") != "machine"))
            for key, name, confidence in known.select("imageid", "labelname", "confidence").iter_rows():
                self.spoken_of.setdefault(key, path)
                if number_of(confidence) == 0:
                    self.absent[key].add(self.names.get(name, name))

    def _tables(self, path: str, needed: frozenset[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table some at a time; report what makes it none."""
        lost, missing = 0, ""
        try:
            for table in read_tables(self.files.read(path)):
                missing = next(iter(sorted(needed - set(table.columns))), "")
                if missing:
                    lost += table.height
                else:
                    yield table
        except CsvTableError as error:
            self.collector.problem(path, "label_syntax", str(error))
            return
        if missing:
            self.collector.problem(path, "label_syntax", f"no column {missing}", boxes=lost)

    def read_boxes(self, path: str) -> None:
        """Hand on the pictures of one table with their boxes."""
        self.collector.builder.files.add(path)
        lost = _Lost()
        here = pl.col("imageid").is_in(self.stems)
        drawn: dict[str, tuple[ImageLabels, set[str]]] = {}  # by picture id: names of classes with boxes there
        unclear: dict[str, tuple[Found, int]] = {}
        for table in self._tables(path, _BOXES):
            lost.add(table.filter(~here)["imageid"])
            for keys, rows in table.filter(here).group_by("imageid", maintain_order=True):
                key = str(keys[0])
                found = self.collector.finder.stemmed(path, key)
                if not found.path:
                    unclear[key] = (found, unclear.get(key, (found, 0))[1] + rows.height)
                    continue
                self.pictures[key] = found.path
                if key not in drawn:
                    drawn[key] = (self._image(path, key), set())
                image, names = drawn[key]
                names |= self._draw(path, image, rows)
        if lost.rows:
            self.collector.problem(path, "label_missing_picture", lost.describe(), boxes=lost.rows)
        for found, count in unclear.values():
            self.collector.lose(path, found, boxes=count)
        for key, (image, names) in drawn.items():
            self._add(image, names | self.absent.get(key, set()))

    def _draw(self, path: str, image: ImageLabels, rows: pl.DataFrame) -> set[str]:
        """Hand on boxes of one picture, and return the classes that are drawn there."""
        boxes = [box for row in rows.iter_rows(named=True) if (box := self._box(path, row))]
        self.collector.add_boxes(image, boxes)
        return {str(box["class_name"]) for box in boxes if box["score"] is None}

    def _image(self, path: str, key: str) -> ImageLabels:
        picture = self.pictures[key]
        return ImageLabels(
            path=picture,
            label_file=path,
            listing=self.collector.listing(path, picture),
            source_split=split_of_folders(picture) or split_of_file_name(path),
        )

    def _add(self, image: ImageLabels, names: set[str]) -> None:
        number = self.collector.builder.class_list(sorted(names)) if names else None
        self.collector.add_image(replace(image, class_list=number), looked=False)

    def add_pictures_without_boxes(self) -> None:
        """Hand on the pictures of which only something was verified."""
        for key, path in self.spoken_of.items():
            found = self.collector.finder.stemmed(path, key)
            if key not in self.pictures and found.path:
                self.pictures[key] = found.path
                self._add(self._image(path, key), self.absent.get(key, set()))

    def _box(self, path: str, row: Mapping[str, object]) -> BoxRow | None:
        """Return the box of a row; report one that is none."""
        line = number_of(row["line"])
        corners = [number_of(row[name]) for name in _CORNERS]
        x1, y1, x2, y2 = (corner if corner is not None else float("nan") for corner in corners)
        score = number_of(row.get("confidence")) if row.get("source") == "machine" else None
        reason, detail = "", ""
        if not has_area((x1, y1, x2, y2)):
            shown = ", ".join(str(row[name]) for name in _CORNERS)
            reason, detail = "label_bad_box", f"{row['imageid']}: {shown} are no corners of a box with an area"
        if not row["labelname"]:
            reason, detail = "label_no_class", f"{row['imageid']}: the box has no class"
        if score is not None and not 0 <= score <= 1:
            reason, detail = "label_bad_score", f"{row['imageid']}: score {score} is not within 0 to 1"
        if reason:
            self.collector.problem(path, reason, detail, boxes=1, line=int(line or 0))
            return None
        flags = dict(_flags(row))
        name = str(row["labelname"])
        return {
            "line": int(line or 0),
            "class_name": self.names.get(name, name),
            **dict(zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)),
            "normalised": True,
            "ignore": flags.get("IsGroupOf") is True,
            "attributes": canonical_json(flags),
            "score": score,
        }


def _flags(row: Mapping[str, object]) -> Iterator[tuple[str, Json]]:
    """Yield the flags that a row states; -1 is none."""
    for column, name in _FLAGS.items():
        value = number_of(row.get(column))
        if value in {0, 1}:
            yield name, value == 1
    if row.get("source") not in {None, "", "machine"}:
        yield "source", str(row["source"])
