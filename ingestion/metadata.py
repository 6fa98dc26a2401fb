"""Read the tables that say where and when each picture was taken."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.formats.csv_rows import CsvRowError, csv_rows
from driveflow.formats.label_set import LabelFiles, LabelProblem, ProblemList
from driveflow.formats.near_time import NearTimes
from driveflow.formats.path_index import folder_of, plain_path, under
from driveflow.formats.plain_text import bad_byte, open_text
from driveflow.formats.sniff import separator_of
from driveflow.tables import CLOCKS
from ingestion.capture_times import COUNTS, MOMENT, OFFSET, CaptureTime, TimeCellError, count_ns, moment_ns
from ingestion.column_names import misnamed
from ingestion.parquet_rows import NoParquetError, parquet_rows

_NAMES = ("metadata.csv", "metadata.parquet")
_TEXTS = ("drive", "camera")
_SHOWN = 10  # notes on tables: each folder may have one
_INT64 = 2**63
_HEAD_CHARACTERS = 64 << 10


@dataclass(frozen=True, slots=True)
class PictureData:
    """What the tables say of one picture; what they do not say, or say wrongly, is empty or null."""

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
    note: str = ""  # why a file was not read at all, and what times are made of
    files: tuple[str, ...] = ()  # places of the tables
    unread: tuple[str, ...] = ()  # why a table was not read at all


class _CellError(ValueError):
    """A cell that cannot be used."""


def is_metadata(path: str) -> bool:
    """Tell whether the file at `path` bears the name of a table of metadata."""
    return path.rpartition("/")[2] in _NAMES


@dataclass(slots=True)
class _Sheet:
    """The tables as they are read; `path` is the one at hand."""

    places: Mapping[str, str]
    near: NearTimes
    beside: bool  # paths are as seen from the table's folder first, then from the batch; else the other way round
    known: frozenset[str] = field(init=False)
    path: str = ""
    rows: dict[str, PictureData] = field(default_factory=dict)
    problems: ProblemList = field(default_factory=ProblemList)
    notes: list[str] = field(default_factory=list)
    units: Counter[str] = field(default_factory=Counter)  # columns that times are of
    unread: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = frozenset(self.places.values())

    def find(self, name: str) -> str | None:
        """Return the place of the file that a row calls `name`."""
        here = under(folder_of(self.path), plain_path(name))
        ways = [here if here in self.known else None, self.places.get(name) or self.places.get(plain_path(name))]
        return next(filter(None, ways if self.beside else ways[::-1]), None)

    def report(self, line: int | None, reason: str, detail: str) -> None:
        self.problems.append(LabelProblem(self.path, reason, detail, line))
        self.unread += [f"cannot be read, {detail}"] if line is None else []


def read_metadata(
    files: LabelFiles, paths: Sequence[str], places: Mapping[str, str], tolerance_ns: int = 0, *, beside: bool = True
) -> Metadata:
    """Return what the CSV and Parquet files at `paths` say; `places` gives the place of each file by its name.

    Columns: path, and any of drive, camera, clock, lat, lon, speed_mps, heading_deg and those of times; every other
    column is an attribute of the frame. A cell that makes no sense is left out and named by its line; the others count.
    A path is as seen from the folder of its table, else from the batch, or the other way round where not `beside`; one
    that no file has means the file whose name has the nearest time, at most `tolerance_ns` away; it is listed.
    """
    sheet = _Sheet(places, NearTimes(places, tolerance_ns), beside)
    for path in paths:
        sheet.path = path
        if path.lower().endswith(".parquet"):
            _read_parquet(sheet, files.read(path))
        else:
            _read_csv(sheet, files.read(path))
    units = [f"Times of {count} pictures are of {column}." for column, count in sorted(sheet.units.items())]
    more = len(sheet.notes) - _SHOWN
    left_out = [f"{more} more notes on tables of metadata are left out."] if more > 0 else []
    note = " ".join([*sheet.notes[:_SHOWN], *left_out, *units])
    return Metadata(sheet.rows, tuple(iter(sheet.problems)), note, tuple(paths), tuple(sheet.unread))


def _read_csv(sheet: _Sheet, data: bytes) -> None:
    place = bad_byte(data)
    if place is not None:
        sheet.report(None, "metadata_syntax", f"no UTF-8 text: byte {place}")
        return
    separator = separator_of(open_text(data).readline(_HEAD_CHARACTERS))
    rows = csv_rows(open_text(data, newline=""), separator)
    try:
        _, _, names = next(rows, (0, 0, ()))
        header = [name.strip() for name in names]
        if _has_paths(sheet, header):
            for line, _, cells in rows:
                if cells:
                    _read_cells(sheet, line, header, cells)
    except CsvRowError as error:
        sheet.report(error.line, "metadata_syntax", f"no CSV: {error}")


def _read_parquet(sheet: _Sheet, data: bytes) -> None:
    try:
        rows = parquet_rows(data)
        if _has_paths(sheet, rows.columns):
            for number, row in enumerate(rows, 1):
                _read_row(sheet, number, row)
    except NoParquetError as error:
        sheet.report(None, "metadata_syntax", str(error))


def _has_paths(sheet: _Sheet, header: Sequence[str]) -> bool:
    if "path" in header:
        sheet.notes += misnamed(sheet.path, header)
        twice = sorted(name for name, count in Counter(header).items() if count > 1)
        sheet.notes += [f"{sheet.path} has the column {name!r} more than once; the last counts." for name in twice]
        return True
    why = f"has no column 'path', only {list(header[:10])}"
    sheet.notes.append(f"{sheet.path} {why}; it is not read as metadata.")
    sheet.unread.append(why)
    return False


def _read_cells(sheet: _Sheet, line: int, header: Sequence[str], cells: Sequence[str]) -> None:
    if len(cells) != len(header):
        sheet.report(line, "metadata_syntax", f"{len(cells)} cells under {len(header)} columns")
    else:
        _read_row(sheet, line, {name: cell.strip() for name, cell in zip(header, cells, strict=True)})


def _read_row(sheet: _Sheet, line: int, row: dict[str, str]) -> None:
    name = row.pop("path")
    place = sheet.find(name) or _nearest(sheet, line, name)
    if place is None:
        sheet.report(line, "metadata_unknown_path", f"path {name!r} is no file of the batch")
    elif place in sheet.rows:
        sheet.report(line, "metadata_repeated_path", f"path {name!r} has a row already; that one counts")
    else:
        sheet.rows[place] = _picture_data(sheet, line, row)


def _nearest(sheet: _Sheet, line: int, name: str) -> str | None:
    here = under(folder_of(sheet.path), plain_path(name)).replace("!/", "!")  # the name of a member
    joined = sheet.near.find(here) or sheet.near.find(plain_path(name))
    if joined is None:
        return None
    sheet.report(line, "metadata_nearest_path", joined.detail)
    return sheet.places[joined.found]


def _picture_data(sheet: _Sheet, line: int, row: dict[str, str]) -> PictureData:
    def take(name: str, read: Callable[[str], object]) -> object:
        text = row.pop(name, "")
        if not text:
            return None
        try:
            return read(text)
        except (_CellError, TimeCellError) as error:
            sheet.report(line, "metadata_bad_value", f"{name} {text!r} {error}")
            return None

    known = {name: take(name, str) or "" for name in _TEXTS}
    known |= {name: take(name, read) for name, read in _READERS.items()}
    times = [_time(name, take(name, read)) for name, read in _TIMES.items()]
    captured = _captured(sheet, line, [time for time in times if time is not None], take(OFFSET, _offset))
    known["captured_ns"] = captured.captured_ns if captured else None
    known["clock"] = take("clock", _clock) or (captured.clock if captured else "")
    attributes = {name: text for name, text in row.items() if name and text}
    return PictureData(**known, attributes=attributes)  # type: ignore[arg-type]


def _time(column: str, value: object) -> CaptureTime | None:
    return CaptureTime(value, column, "utc" if column == MOMENT else "") if isinstance(value, int) else None


def _captured(sheet: _Sheet, line: int, times: Sequence[CaptureTime], offset: object) -> CaptureTime | None:
    """Return the time of the finest column, moved by the row's epoch where it is a count; others must agree with it."""
    if not times:
        return None
    moved = [
        CaptureTime(time.captured_ns + offset, time.column)
        if isinstance(offset, int) and time.column != MOMENT
        else time
        for time in times
    ]
    first = moved[0]
    for other in moved[1:]:
        if abs(other.captured_ns - first.captured_ns) >= COUNTS.get(other.column, 1):
            sheet.report(
                line, "metadata_bad_value", f"{other.column} is another time than {first.column}, which counts"
            )
    if not -_INT64 <= first.captured_ns < _INT64:
        sheet.report(line, "metadata_bad_value", f"{first.column} with {OFFSET} does not fit into 64 bits")
        return None
    sheet.units[first.column] += 1
    return first


def _offset(text: str) -> int:
    return count_ns(text, 1)


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


def _count(unit_ns: int) -> Callable[[str], int]:
    return lambda text: count_ns(text, unit_ns)


_TIMES: Mapping[str, Callable[[str], int]] = {
    **{column: _count(unit_ns) for column, unit_ns in COUNTS.items()},
    MOMENT: moment_ns,
}
_READERS: Mapping[str, Callable[[str], object]] = {
    "lat": _within(-90, 90),
    "lon": _within(-180, 180),
    "speed_mps": _within(-200, 500),
    "heading_deg": _within(-360, 360),
}
