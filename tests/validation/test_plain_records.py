"""Records that are read in columns are what they would be one by one; what is anything else is left alone."""

import json
import math
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.errors import InvalidInputError
from tests.validation.coco_files import annotation, document, kinds, measured, result
from validation.inputs.plain_records import Layout, read_plain

LAYOUT = Layout(whole=("id",), numbers=("score",), flags=("iscrowd",), nothing=("attributes",))
SPELLED = ["{!r}", "{:.2f}", "{:.12e}", "{:.17g}", "{:.0f}"]


def _record(**said):
    return {"id": 1, "bbox": [1, 2, 3, 4], **said}


def _read(*records):
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return read_plain(", ".join(texts).encode(), LAYOUT)


def _bits(value):
    return struct.pack("<d", value)


@given(st.floats(allow_nan=False, allow_infinity=False, width=64), st.sampled_from(SPELLED))
def test_a_number_is_the_double_nearest_to_what_is_written_or_is_not_read(value, spelled):
    text = spelled.format(value)

    columns, _ = _read(f'{{"id": 1, "bbox": [1, 2, 3, 4], "score": {text}}}')

    assert len(columns) in {0, 1}
    if len(columns):
        assert _bits(columns.numbers["score"][0]) == _bits(msgspec.json.decode(text, type=float))


@given(st.integers(0, 10**18 - 1), st.integers(-60, 60))
def test_every_mantissa_of_up_to_18_digits_is_read_with_any_power_up_to_60(mantissa, power):
    columns, _ = _read(f'{{"id": 1, "bbox": [{mantissa}e{power}, 1, 1, 1]}}')

    assert _bits(columns.corners[0, 0]) == _bits(float(f"{mantissa}e{power}"))


@given(st.text("0123456789.eE+-", min_size=1, max_size=30))
def test_a_number_that_is_not_asked_for_is_skipped_where_it_is_one_of_json(text):
    columns, _ = _read(f'{{"id": 1, "bbox": [1, 2, 3, 4], "other": {text}}}')

    try:
        json.loads(text)
    except ValueError:
        assert len(columns) == 0
    else:
        assert len(columns) == 1


@pytest.mark.parametrize("text", ["12345678901234567890", "0.1234567890123456789", "1e400", "-1.5E-0012"])
def test_a_number_that_is_not_asked_for_may_be_too_long_to_read(text):
    columns, _ = _read(f'{{"id": 1, "bbox": [1, 2, 3, 4], "other": {text}}}')

    assert len(columns) == 1


@pytest.mark.parametrize("text", ["01", "-", "1.", ".5", "1e", "+1", "1e400", "NaN", "Infinity", '"1"', "0x1", "1.e3"])
def test_what_is_no_number_of_json_is_left_alone(text):
    columns, end = _read(_record(), f'{{"id": 2, "bbox": [1, 2, 3, 4], "score": {text}}}')

    assert (len(columns), end) == (1, len(json.dumps(_record())))


@pytest.mark.parametrize(
    "record",
    [
        _record(id="1"), _record(id=1.0), _record(id=10**18), _record(bbox=[1, 2, 3]), _record(bbox=[1, 2, 3, 4, 5]),
        _record(bbox=None), {"id": 1}, {"bbox": [1, 2, 3, 4]}, _record(attributes={"a": 1}), _record(iscrowd="no"),
        _record(caption='a "word"'), _record(caption="å"), "{", '{"id": 1, "id": 1, "bbox": [1, 2, 3, 4]}', "[1]", "",
        '{"id": 1, "bbox": [1, 2, 3, 4],}', '{"id": 1 "bbox": [1, 2, 3, 4]}',
        '{"id": 1, "bbox": [1, 2, 3, 4], "a": [1,]}',
        '{"id": 1, "bbox": [1, 2, 3, 4], "a": {"b" 1}}', '{"id": 1, "bbox": [1, 2, 3, 4], "a": tru}',
    ],
)  # fmt: skip
def test_a_record_that_is_not_of_the_layout_ends_what_is_read(record):
    columns, end = _read(_record(), record, _record())

    assert (len(columns), end) == (1, len(json.dumps(_record())))


def test_fields_stand_in_any_order_and_what_nobody_asked_for_is_skipped():
    other = {
        "segmentation": [[1.5, -2], []],
        "rle": {"size": [1, {}], "counts": "ab"},
        "no": [True, False, None, [[{}]]],
    }
    records = [_record(score=0.25, iscrowd=True), {**other, "bbox": [5.5, -0.0, 1e1, 2], **_record(bbox=[0, 0, 1, 1])},
               {"iscrowd": None, "attributes": {}, "bbox": [1, 2, 3, 4], **other, "id": -7, "score": None}]  # fmt: skip

    columns, _ = read_plain(json.dumps(records, indent=1)[1:].encode(), LAYOUT)

    assert columns.whole["id"].tolist() == [1, 1, -7]
    assert columns.flags["iscrowd"].tolist() == [1, -1, -1]
    assert columns.numbers["score"][0] == 0.25
    assert all(map(math.isnan, columns.numbers["score"][1:]))
    assert columns.corners.tolist() == [[1, 2, 4, 6], [0, 0, 1, 1], [1, 2, 4, 6]]
    assert columns.size.tolist() == [[3, 4], [1, 1], [3, 4]]


@given(st.integers(0, 200))
def test_the_rest_begins_behind_the_last_whole_record_wherever_the_data_end(cut):
    data = ", ".join(json.dumps(_record(id=number)) for number in range(1, 5)).encode()

    first, end = read_plain(data[:cut], LAYOUT)
    second, rest = read_plain(data[end:], LAYOUT, comma=end > 0)

    assert [*first.whole["id"], *second.whole["id"]] == [1, 2, 3, 4]
    assert end + rest == len(data)


def test_records_of_all_kinds_in_one_file_keep_their_order_and_errors_name_their_line(tmp_path):
    truth = document([annotation(n, n, (10 * n, 0, 9, 9)) for n in range(1, 5)], images=4)
    truth["annotations"][2]["attributes"] = {"occluded": True}
    found = [result(n, (10 * n, 0, 9, 9)) for n in range(1, 5)]
    found[1]["image_id"], found[2]["caption"] = "2", 'a "word"'

    evaluation = measured(tmp_path, truth, found)

    assert (evaluation.numbers["AP"], kinds(evaluation)) == (pytest.approx(1.0), {"tied_scores": 4})
    found[3]["bbox"] = [1]
    with pytest.raises(InvalidInputError, match=r"predictions\.json:\d+: entry 3 of the list: .*length"):
        measured(tmp_path, truth, json.dumps(found, indent=1))
