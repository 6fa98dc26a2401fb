"""Read the CSV that says where and when each picture was taken."""

import _csv
import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.formats.label_set import LabelFiles, LabelProblem
from driveflow.formats.path_index import plain_path
from driveflow.tables import CLOCKS

_TEXTS = ("drive", "camera")
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class PictureData:
    """What the CSV says of one picture; what it does not say, or says wrongly, is empty or null."""

    drive: str = ""
    camera: str = ""
    captured_ns: int | None = None
    clock: str = ""
    lat: float | None = None
    lon: float | None = None
    speed_mps: float | None = None
    heading_deg: float | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metadata:
    """All rows by the place of their picture, and what was wrong in which line."""

    rows: Mapping[str, PictureData]
    problems: tuple[LabelProblem, ...]
    note: str = ""  # why the file was not read at all


class _CellError(ValueError):
    """A cell that cannot be used."""


def read_metadata(files: LabelFiles, path: str, places: Mapping[str, str]) -> Metadata:
    """Return what the CSV at `path` says; `places` gives the place of each file by its name.

    Columns: path, and any of drive, camera, captured_ns, clock, lat, lon, speed_mps, heading_deg; every other column is
    an attribute of the frame. A cell that makes no sense is left out and named by its line; the others count.
    """
    try:
        text = files.read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Metadata({}, (LabelProblem(path, "metadata_syntax", f"no UTF-8 text: byte {error.start}"),))
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        if "path" not in header:
            return Metadata({}, (), f"{path} has no column 'path', only {header[:10]}; it is not read as metadata.")
        return _read_rows(_Sheet(path, header, places), reader)
    except csv.Error as error:
        detail = f"no CSV: {error}"
        return Metadata({}, (LabelProblem(path, "metadata_syntax", detail, reader.line_num),))


@dataclass(slots=True)
class _Sheet:
    """The CSV as it is read."""

    path: str
    header: list[str]
    places: Mapping[str, str]
    rows: dict[str, PictureData] = field(default_factory=dict)
    problems: list[LabelProblem] = field(default_factory=list)

    def report(self, line: int, reason: str, detail: str) -> None:
        self.problems.append(LabelProblem(self.path, reason, detail, line))


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return max(",;\t", key=header.count)


def _read_rows(sheet: _Sheet, reader: "_csv.Reader") -> Metadata:
    line = reader.line_num + 1
    for cells in reader:
        if cells:
            _read_row(sheet, line, cells)
        line = reader.line_num + 1  # a cell may hold line breaks: a row is known by the line it starts on
    return Metadata(sheet.rows, tuple(sheet.problems))


def _read_row(sheet: _Sheet, line: int, cells: Sequence[str]) -> None:
    if len(cells) != len(sheet.header):
        sheet.report(line, "metadata_syntax", f"{len(cells)} cells under {len(sheet.header)} columns")
        return
    row = {name: cell.strip() for name, cell in zip(sheet.header, cells, strict=True)}
    name = row.pop("path")
    place = sheet.places.get(name) or sheet.places.get(plain_path(name))
    if place is None:
        sheet.report(line, "metadata_unknown_path", f"path {name!r} is no file of the batch")
    elif place in sheet.rows:
        sheet.report(line, "metadata_repeated_path", f"path {name!r} has a row already; that one counts")
    else:
        sheet.rows[place] = _picture_data(sheet, line, row)


def _picture_data(sheet: _Sheet, line: int, row: dict[str, str]) -> PictureData:
    def take(name: str, read: Callable[[str], object]) -> object:
        text = row.pop(name, "")
        if not text:
            return None
        try:
            return read(text)
        except _CellError as error:
            sheet.report(line, "metadata_bad_value", f"{name} {text!r} {error}")
            return None

    known = {name: take(name, str) or "" for name in _TEXTS}
    known |= {name: take(name, read) for name, read in _READERS.items()}
    known["clock"] = take("clock", _clock) or ""
    attributes = {name: text for name, text in row.items() if name and text}
    return PictureData(**known, attributes=attributes)  # type: ignore[arg-type]


def _nanoseconds(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise _CellError("is no whole number of nanoseconds") from None
    if not -_INT64 <= value < _INT64:
        raise _CellError("does not fit into 64 bits")
    return value


def _clock(text: str) -> str:
    if text.lower() not in CLOCKS:
        raise _CellError(f"is none of {', '.join(CLOCKS)}")
    return text.lower()


def _within(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise _CellError("is no number") from None
        if not math.isfinite(value) or not least <= value <= most:
            raise _CellError(f"is not within {least:g} and {most:g}")
        return value

    return read


_READERS: Mapping[str, Callable[[str], object]] = {
    "captured_ns": _nanoseconds,
    "lat": _within(-90, 90),
    "lon": _within(-180, 180),
    "speed_mps": _within(-200, 500),
    "heading_deg": _within(-360, 360),
}
