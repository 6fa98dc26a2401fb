import io
import tracemalloc
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow.formats import csv_rows, label_set, plain_text
from driveflow.formats.export import has_cell
from ingestion.capture_times import COUNTS, MOMENT, OFFSET
from ingestion.metadata import PictureData, read_metadata
from tests.driveflow.formats.in_memory import InMemory

PLACES = {"a.jpg": "a.jpg", "x/b.jpg": "x/b.jpg", "s.zip!c.jpg": "s.zip!/c.jpg"}


def _read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return read_metadata(InMemory({"m.csv": data}), ["m.csv"], PLACES)


def _cell(column, value, **others):
    names, values = zip((column, value), *others.items(), strict=True)
    return _read(f"path,{','.join(names)}\na.jpg,{','.join(values)}\n")


def _read_parquet(columns, **tables):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    files = {"m.parquet": stream.getvalue()} | tables
    return read_metadata(InMemory(files), sorted(files), PLACES)


def _problems(found):
    return [(problem.line, problem.reason, problem.detail) for problem in found.problems]


def test_all_columns_are_read_and_others_are_attributes():
    found = _read(
        "path,drive,camera,captured_ns,clock,lat,lon,speed_mps,heading_deg,weather\n"
        "a.jpg,d1,front,1700000000000000123,utc,52.5,13.4,8.5,270,rain\n"
    )

    data = PictureData("d1", "front", 1700000000000000123, "utc", 52.5, 13.4, 8.5, 270.0, {"weather": "rain"})
    assert (found.rows, found.problems) == ({"a.jpg": data}, ())


@pytest.mark.parametrize(
    "text", ["\ufeffpath;drive\r\na.jpg;d\r\n", "path\tdrive\na.jpg\td\n", 'path,drive\n"a.jpg","d"\n']
)
def test_spreadsheets_of_all_countries_are_read(text):
    assert _read(text).rows["a.jpg"].drive == "d"


@pytest.mark.parametrize(
    ("path", "place"), [("x/m.csv", "x/b.jpg"), ("s.zip!/m.csv", "s.zip!/b.jpg"), ("m.csv", "b.jpg")]
)
def test_paths_are_as_seen_from_the_folder_or_the_archive_of_the_table(path, place):
    places = {"b.jpg": "b.jpg", "x/b.jpg": "x/b.jpg", "s.zip!b.jpg": "s.zip!/b.jpg"}

    found = read_metadata(InMemory({path: b"path,drive\nb.jpg,d\n"}), [path], places)

    assert set(found.rows) == {place}


def test_paths_of_a_table_that_is_stated_are_as_seen_from_the_batch_before():
    places = {"b.jpg": "b.jpg", "x/b.jpg": "x/b.jpg", "x/c.jpg": "x/c.jpg"}

    found = read_metadata(InMemory({"x/m.csv": b"path\nb.jpg\nc.jpg\n"}), ["x/m.csv"], places, beside=False)

    assert set(found.rows) == {"b.jpg", "x/c.jpg"}


def test_names_with_backslashes_and_names_in_archives_are_found():
    assert set(_read("path\nx\\b.jpg\ns.zip!c.jpg\n").rows) == {"x/b.jpg", "s.zip!/c.jpg"}


@pytest.mark.parametrize(
    ("column", "value", "detail"),
    [
        ("captured_ns", "1.5", "is no whole number of nanoseconds"),
        ("captured_ns", "99999999999999999999", "does not fit into 64 bits"),
        ("lat", "91", "is not within -90 and 90"),
        ("lon", "nan", "is not within -180 and 180"),
        ("speed_mps", "fast", "is no number"),
        ("clock", "cet", "is none of utc, gps, drive_relative, none"),
    ],
)
def test_a_cell_that_makes_no_sense_is_named_by_its_line_and_the_rest_counts(column, value, detail):
    found = _read(f'path,note,drive,{column}\nx/b.jpg,"two\nlines",d0,\na.jpg,,d1,{value}\n')

    assert _problems(found) == [(4, "metadata_bad_value", f"{column} {value!r} {detail}")]
    assert found.rows["a.jpg"] == PictureData(drive="d1")


def test_rows_that_fit_nothing_are_named():
    found = _read("path,drive\nnowhere.jpg,d\na.jpg,d\na.jpg,e\nx/b.jpg\n\n")

    assert [(line, reason) for line, reason, _ in _problems(found)] == [
        (2, "metadata_unknown_path"),
        (4, "metadata_repeated_path"),
        (5, "metadata_syntax"),
    ]
    assert found.rows["a.jpg"].drive == "d"


def test_of_very_many_wrong_rows_some_are_listed_and_all_are_counted():
    found = _read("path\n" + "a.jpg\n" * 10_003)

    assert len(found.problems) == 10_001
    assert _problems(found)[-1] == (None, "metadata_repeated_path", "2 more")


def test_parquet_of_more_rows_than_any_batch_has_files_is_not_read():
    found = _read_parquet({"path": pa.DictionaryArray.from_arrays(pa.array([0] * 5_000_001, pa.int8()), ["a.jpg"])})

    assert found.rows == {}
    assert [problem.detail for problem in found.problems] == ["5,000,001 rows; at most 5,000,000"]


def test_of_very_many_tables_that_are_no_metadata_some_are_told():
    files = {f"drive{number:03}/metadata.csv": b"file\na.jpg\n" for number in range(100)}

    found = read_metadata(InMemory(files), sorted(files), {})

    assert found.note.count("is not read as metadata.") == 10
    assert found.note.endswith(" 90 more notes on tables of metadata are left out.")


def test_a_table_without_paths_is_not_metadata_and_that_is_said():
    found = _read("file,drive\na.jpg,d\n")

    assert found.rows == {}
    assert "m.csv has no column 'path'" in found.note


def test_bytes_that_are_no_text_are_a_problem_not_a_crash():
    assert [reason for _, reason, _ in _problems(_read(b"path\n\xff\xfe\n"))] == ["metadata_syntax"]


@pytest.mark.parametrize(
    ("column", "value", "captured_ns"),
    [
        ("captured_ns", "1700000000000000123", 1700000000000000123),
        ("captured_us", "1700000000000001", 1700000000000001000),
        ("captured_ms", "1700000000000.5", 1700000000000500000),
        ("captured_s", "1700000000.123456789", 1700000000123456789),
        ("captured_s", "1.700000000123456789e9", 1700000000123456789),
        ("captured_s", "1700000000", 1700000000000000000),
        ("captured_s", "-0.5", -500000000),
        ("captured_at", "2023-11-14T22:13:20.123456789Z", 1700000000123456789),
        ("captured_at", "2023-11-14 23:13:20+01:00", 1700000000000000000),
        ("captured_at", "2023-11-14T17:13-0500", 1699999980000000000),
    ],
)
def test_times_of_any_unit_become_whole_nanoseconds_without_a_float_between(column, value, captured_ns):
    found = _cell(column, value)

    assert (found.rows["a.jpg"].captured_ns, found.problems) == (captured_ns, ())
    assert found.note == f"Times of 1 pictures are of {column}."


def test_a_moment_with_a_zone_is_of_the_clock_utc():
    assert _cell("captured_at", "2023-11-14T22:13:20Z").rows["a.jpg"].clock == "utc"


@pytest.mark.parametrize(
    ("column", "value", "detail"),
    [
        ("captured_at", "2023-11-14T22:13:20", "has no time zone; write Z or an offset such as +01:00"),
        ("captured_at", "2023-02-30T00:00:00Z", "is no time: day is out of range for month"),
        ("captured_at", "14.11.2023", "is no time as ISO 8601 has it"),
        ("captured_s", "soon", "is no decimal number"),
        ("captured_s", "NaN", "is no decimal number"),
        ("captured_s", "1e999999", "does not fit into 64 bits"),
        ("captured_ms", "9300000000000000", "does not fit into 64 bits"),
        ("captured_us", "1" * 100, "is no decimal number"),
    ],
)
def test_a_time_that_cannot_be_known_is_refused_and_said(column, value, detail):
    found = _cell(column, value)

    assert _problems(found) == [(2, "metadata_bad_value", f"{column} {value!r} {detail}")]
    assert found.rows["a.jpg"].captured_ns is None


def test_of_two_times_the_finer_counts_and_a_disagreement_is_named():
    agreed = _cell("captured_s", "1700000000.5", captured_ns="1700000000500000001")
    disagreed = _cell("captured_s", "1700000002", captured_ns="1700000000500000001")

    assert (agreed.rows["a.jpg"].captured_ns, agreed.problems) == (1700000000500000001, ())
    assert disagreed.rows["a.jpg"].captured_ns == 1700000000500000001
    assert _problems(disagreed)[0][2] == "captured_s is another time than captured_ns, which counts"


def test_a_row_may_say_what_its_count_begins_at():
    found = _cell("captured_ns", "315969904359876000", epoch_ns="315964800000000000")

    assert found.rows["a.jpg"].captured_ns == 631934704359876000


def test_parquet_metadata_is_read_like_csv_with_exact_times():
    moments = pa.array([1700000000123456789], pa.timestamp("ns", "Europe/Berlin"))
    found = _read_parquet({"path": ["a.jpg"], "captured_at": moments, "lat": [52.5], "rain": [True], "n": [None]})

    assert found.rows == {"a.jpg": PictureData("", "", 1700000000123456789, "utc", 52.5, attributes={"rain": "true"})}
    assert (found.problems, found.files) == ((), ("m.parquet",))


def test_parquet_times_without_a_zone_are_refused():
    found = _read_parquet({"path": ["a.jpg"], "captured_at": [datetime(2023, 11, 14)]})  # noqa: DTZ001 that is the fault

    assert "has no time zone" in _problems(found)[0][2]


def test_parquet_counts_may_be_any_integer_type():
    later = datetime(2023, 11, 14, 22, 13, 20, 5, tzinfo=timezone(timedelta(hours=0)))
    found = _read_parquet({"path": ["a.jpg", "x/b.jpg"], "captured_us": pa.array([7, None], pa.int32()),
                           "captured_at": pa.array([None, later])})  # fmt: skip

    assert [row.captured_ns for row in found.rows.values()] == [7000, 1700000000000005000]


def test_csv_and_parquet_are_joined_by_path_and_the_first_row_counts():
    found = _read_parquet({"path": ["a.jpg", "x/b.jpg"], "drive": ["p", "p"]}, **{"a.csv": b"path,drive\na.jpg,c\n"})

    assert {place: row.drive for place, row in found.rows.items()} == {"a.jpg": "c", "x/b.jpg": "p"}
    assert _problems(found) == [(1, "metadata_repeated_path", "path 'a.jpg' has a row already; that one counts")]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1 nothing PAR1", b"path\na.jpg"])
def test_parquet_that_is_none_is_a_problem_not_a_crash(data):
    found = read_metadata(InMemory({"m.parquet": data}), ["m.parquet"], PLACES)

    assert [reason for _, reason, _ in _problems(found)] == ["metadata_syntax"]


def _near(name, tolerance_ns, *files):
    places = {file: file for file in files}
    return read_metadata(InMemory({"m.csv": f"path,drive\n{name},d\n"}), ["m.csv"], places, tolerance_ns)


ZOD = "cam/000001_2022-02-14T13:23:32.140954Z.jpg"


def test_a_path_whose_time_is_off_by_microseconds_means_the_nearest_file_and_is_listed():
    found = _near("cam/000001_2022-02-14T13:23:32.140952Z.jpg", 5000, ZOD, ZOD.replace("0954Z", "0999Z"))

    assert list(found.rows) == [ZOD]
    assert [(line, reason) for line, reason, _ in _problems(found)] == [(2, "metadata_nearest_path")]
    assert "+0.002 ms away" in _problems(found)[0][2]


@pytest.mark.parametrize(
    ("name", "tolerance_ns"),
    [
        ("cam/000001_2022-02-14T13:23:32.140952Z.jpg", 0),  # not asked for
        ("cam/000001_2022-02-14T13:23:32.140000Z.jpg", 5000),  # too far
        ("cam/000002_2022-02-14T13:23:32.140952Z.jpg", 5000),  # another thing
        ("other/000001_2022-02-14T13:23:32.140952Z.jpg", 5000),  # another folder
    ],
)
def test_nothing_is_joined_that_is_not_near_and_alike(name, tolerance_ns):
    found = _near(name, tolerance_ns, ZOD)

    assert (found.rows, [reason for _, reason, _ in _problems(found)]) == ({}, ["metadata_unknown_path"])


def test_a_column_that_stands_twice_is_told():
    found = _read("path,weather,weather\na.jpg,rain,dry\n")

    assert "m.csv has the column 'weather' more than once; the last counts." in found.note


@pytest.mark.parametrize("column", [*COUNTS, MOMENT, OFFSET])
def test_no_export_writes_an_attribute_into_a_column_of_which_times_are_made(column):
    assert not has_cell(column, "2024-05-01T10:00:00Z")
    assert has_cell(f"{column}_raw", "2024-05-01T10:00:00Z")


@pytest.mark.parametrize("row", ["x,1\n", "x\n", "a.jpg,1\n", "x,"])
def test_a_large_table_is_not_held_in_memory(monkeypatch, row):
    monkeypatch.setattr(label_set, "_LISTED", 10)
    monkeypatch.setattr(csv_rows, "_MAX_ROW_CHARACTERS", 50_000)
    monkeypatch.setattr(plain_text, "_CHUNK_BYTES", 10_000)
    files = InMemory({"m.csv": b"path,lat\n" + row.encode() * (300_000 // len(row))})

    tracemalloc.start()
    read_metadata(files, ["m.csv"], PLACES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_200_000


def test_a_row_longer_than_any_table_has_ends_the_reading_with_its_limit(monkeypatch):
    monkeypatch.setattr(csv_rows, "_MAX_ROW_CHARACTERS", 100)

    found = _read("path,lat\na.jpg,5\n" + "x," * 60 + "\nb.jpg,7\n")

    assert _problems(found) == [(2, "metadata_syntax", "no CSV: a row is longer than 0 MiB")]
    assert list(found.rows) == ["a.jpg"]
