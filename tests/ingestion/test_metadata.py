import pytest

from ingestion.metadata import PictureData, read_metadata
from tests.driveflow.formats.in_memory import InMemory

PLACES = {"a.jpg": "a.jpg", "x/b.jpg": "x/b.jpg", "s.zip!c.jpg": "s.zip!/c.jpg"}


def _read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return read_metadata(InMemory({"m.csv": data}), "m.csv", PLACES)


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


def test_a_table_without_paths_is_not_metadata_and_that_is_said():
    found = _read("file,drive\na.jpg,d\n")

    assert found.rows == {}
    assert "m.csv has no column 'path'" in found.note


def test_bytes_that_are_no_text_are_a_problem_not_a_crash():
    assert [reason for _, reason, _ in _problems(_read(b"path\n\xff\xfe\n"))] == ["metadata_syntax"]
