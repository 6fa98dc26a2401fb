"""Read Open Images: boxes as shares of the picture, classes by their ids, and which classes were verified where."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from driveflow.canonical import Json, canonical_json
from driveflow.formats.csv_table import CsvTableError, read_table
from driveflow.formats.json_text import number_of
from driveflow.formats.label_collector import BoxRow, LabelCollector, label_files
from driveflow.formats.label_set import ImageLabels, LabelFiles, LabelSet
from driveflow.formats.path_index import folder_of
from driveflow.formats.picture_finder import stem_of
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
            rows = csv.reader(io.StringIO(sniffer.read(path).decode("utf-8-sig", "replace")))
            names |= {row[0].strip(): row[1].strip() for row in rows if len(row) == 2 and row[1].strip()}
    return names


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
        self.stems = frozenset(stem_of(path).rpartition("/")[2] for path in self.collector.finder.pictures)

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
        table = self._table(path, _VERIFIED)
        if table is None:
            return
        known = table.filter(pl.col("imageid").is_in(self.stems) & (pl.col("source") != "machine"))
        for key, name, confidence in known.select("imageid", "labelname", "confidence").iter_rows():
            self.spoken_of.setdefault(key, path)
            if number_of(confidence) == 0:
                self.absent[key].add(self.names.get(name, name))

    def _table(self, path: str, needed: frozenset[str]) -> pl.DataFrame | None:
        try:
            table = read_table(self.files.read(path))
        except CsvTableError as error:
            self.collector.problem(path, "label_syntax", str(error))
            return None
        missing = sorted(needed - set(table.columns))
        if missing:
            self.collector.problem(path, "label_syntax", f"no column {missing[0]}", boxes=table.height)
            return None
        return table

    def read_boxes(self, path: str) -> None:
        """Hand on the pictures of one table with their boxes."""
        self.collector.builder.files.add(path)
        table = self._table(path, _BOXES)
        if table is None:
            return
        here = pl.col("imageid").is_in(self.stems)
        self._lose(path, table.filter(~here))
        for key, rows in table.filter(here).group_by("imageid", maintain_order=True):
            self._picture(path, str(key[0]), rows)

    def _lose(self, path: str, rows: pl.DataFrame) -> None:
        """Report all boxes of pictures that are not there at once: who has a part of the set has all of its table."""
        keys = rows["imageid"].unique(maintain_order=True)
        if len(keys):
            shown = ", ".join(keys[:_SHOWN].to_list()) + (" ..." if len(keys) > _SHOWN else "")
            detail = f"{len(keys)} pictures are no files of this batch: {shown}"
            self.collector.problem(path, "label_missing_picture", detail, boxes=rows.height)

    def _picture(self, path: str, key: str, rows: pl.DataFrame) -> None:
        found = self.collector.finder.stemmed(path, key)
        if not found.path:
            self.collector.lose(path, found, boxes=rows.height)
            return
        self.pictures[key] = found.path
        boxes = [box for row in rows.iter_rows(named=True) if (box := self._box(path, row))]
        drawn = {str(box["class_name"]) for box in boxes if box["score"] is None}
        self._add(path, key, drawn | self.absent.get(key, set()), boxes)

    def _add(self, path: str, key: str, names: set[str], boxes: Sequence[BoxRow]) -> None:
        picture = self.pictures[key]
        image = ImageLabels(
            path=picture,
            label_file=path,
            listing=self.collector.listing(path, picture),
            class_list=self.collector.builder.class_list(sorted(names)) if names else None,
            source_split=split_of_folders(picture) or split_of_file_name(path),
        )
        self.collector.add(image, boxes, looked=False)

    def add_pictures_without_boxes(self) -> None:
        """Hand on the pictures of which only something was verified."""
        for key, path in self.spoken_of.items():
            found = self.collector.finder.stemmed(path, key)
            if key not in self.pictures and found.path:
                self.pictures[key] = found.path
                self._add(path, key, self.absent.get(key, set()), ())

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
