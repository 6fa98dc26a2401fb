"""Conditions on frames and boxes: what they mean, and that hostile text does nothing but be refused."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driveflow.errors import UsageError
from driveflow.where import BOX_COLUMNS, FRAME_COLUMNS, compile_where

FRAMES = pl.DataFrame(
    {
        "frame_id": ["a", "b", "c"],
        "width": [10, 20, 30],
        "height": [5, 5, 5],
        "media_type": ["image/jpeg", "image/png", "image/png"],
        "byte_count": [1, 2, 3],
        "split": ["train", "val", "train"],
        "drive_group": ["g", "g", "h"],
        "attributes": [
            '{"weather":"rain","n":3,"ok":true}',
            '{"weather":"dry","n":"3","time of day":"100% night"}',
            "{}",
        ],
    }
)
SOURCES = pl.DataFrame(
    {
        "frame_id": ["a", "a", "b", "c"],
        "batch": ["one", "two", "two", "two"],
        "path": ["1.jpg", "1.jpg", "2.jpg", "3.jpg"],
        "drive": ["d1", "d2", "d2", "d3"],
        "camera": ["front"] * 4,
        "captured_ns": [1_700_000_000_000_000_001, None, 1_700_000_000_000_000_000, None],
        "clock": ["utc", "none", "utc", "none"],
        "lat": [1.0, None, None, 2.0],
        "lon": [1.0, None, None, 2.0],
        "speed_mps": [0.0, None, None, 9.5],
        "heading_deg": pl.Series([None] * 4, dtype=pl.Float64),
        "source_split": [""] * 4,
    }
)
BOXES = pl.DataFrame(
    {
        "frame_id": ["a", "b"],
        "box_id": ["1", "2"],
        "class_name": ["car", "bus"],
        "x1": [0.0, 10.0],
        "y1": [0.0, 10.0],
        "x2": [4.0, 20.0],
        "y2": [5.0, 20.0],
        "score": [None, 0.7],
        "origin": ["batch:one", "model:x"],
        "annotator": ["ann", None],
        "guideline": pl.Series([None, None], dtype=pl.String),
        "ignore": [False, True],
        "attributes": ['{"occluded":2}', '{"occluded":"much"}'],
    }
)
HOSTILE = [
    "__import__('os').system('true')",
    "width in (select 1)",
    "exists (select * from frames)",
    "read_csv('/etc/passwd') = 1",
    "width > 1; drop table frames",
    "width > 1 -- and more",
    "width > 1 /* and more */",
    "case when true then true end",
    "cast(width as text) = '1'",
    "width = null",
    "width > 'a'",
    "lower(width) = 'a'",
    "width",
    "'a'",
    "attributes.a.b = 1",
    "attributes = 'x'",
    "width > ?",
    "@x = 1",
    "$1 = 1",
    "* = 1",
    "lambda x: x",
    "drive = 'a",
    "width > all (select 1)",
    "coalesce()",
    "drive like 'a' escape 'b'",
    "length(drive, 'x') = 1",
    "not " * 390 + "true",
    "-" * 390 + "1 = 1",
    "- " * 390 + "1 = 1",
    "(" * 10_000 + "true" + ")" * 10_000,
    "(" * 200 + "true" + ")" * 200,
    " and ".join(["true"] * 1_000),
    "x" * 10_000_000,
    "",
    " \n",
    "\x00",
    "width > 1 and",
    "1e",
    "\ud800 = 1",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("width > 10 and attributes.weather = 'dry'", "010"),
        ("width > 10 or split <> 'val'", "111"),
        ("not width between 15 and 25", "101"),
        ("width in (10, 30)", "101"),
        ("width not in (10, 30)", "010"),
        ("width + 5 * 2 >= abs(-40)", "001"),
        ("width / (height - 5) = 1", "000"),
        ("width / height = 2", "100"),
        ("attributes.n = 3", "100"),
        ("attributes.n = '3'", "010"),
        ("attributes.n is null", "001"),
        ("attributes.ok", "100"),
        ("attributes.ok is not true", "011"),
        ("attributes.\"time of day\" like '100%'", "010"),
        ("attributes.\"time of day\" like '1__. %'", "000"),
        ("lower(media_type) ilike '%PNG'", "011"),
        ("length(attributes.weather) = 4", "100"),
        ("coalesce(attributes.n, 7) > 5", "011"),
        ("attributes.n = attributes.weather", "000"),
        ("drive = 'd2'", "110"),
        ("lat is not null", "101"),
        ("coalesce(lat, 0) = 0", "110"),
        ("speed_mps >= 9.5 and drive = 'd3'", "001"),
        ("captured_ns > 1700000000000000000", "100"),
        ("1e999 > width", "111"),
        (f"1{'0' * 400} > width", "111"),
        ("true", "111"),
        (" and ".join(["width > 10"] * 90), "011"),
    ],
)
def test_a_condition_on_frames_means_what_it_means_in_sql(text, expected):
    mask = compile_where(text, FRAME_COLUMNS).mask(FRAMES, SOURCES)

    assert "".join(str(int(found)) for found in mask) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("width_px < 5 and height_px = 5", "10"),
        ("area_px >= 100", "01"),
        ("score is null or score >= 0.9", "10"),
        ("ignore", "01"),
        ("not ignore and class_name in ('car', 'bus')", "10"),
        ("attributes.occluded >= 2", "10"),
        ("attributes.occluded = 'much'", "01"),
        ("annotator <> 'bob'", "10"),
        ("class_name not like 'c%' and not annotator like 'b%'", "00"),
        ("class_name not ilike 'C_R'", "01"),
    ],
)
def test_a_condition_on_boxes_means_what_it_means_in_sql(text, expected):
    mask = compile_where(text, BOX_COLUMNS).mask(BOXES)

    assert "".join(str(int(found)) for found in mask) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attributes.a > attributes.b", "1000"),
        ("attributes.a = attributes.b", "0100"),
        ("attributes.a <> attributes.b", "1011"),
        ("attributes.a in (attributes.b)", "0100"),
        ("attributes.a between attributes.b and attributes.b", "0100"),
        ("attributes.a > attributes.c", "0000"),
    ],
)
def test_two_attributes_are_compared_as_what_both_are(text, expected):
    said = [{"a": 100, "b": 9}, {"a": 1, "b": 1.0}, {"a": "ant", "b": "bee"}, {"a": 2, "b": "1"}]
    boxes = pl.concat([BOXES, BOXES]).with_columns(attributes=pl.Series([json.dumps(one) for one in said]))

    mask = compile_where(text, BOX_COLUMNS).mask(boxes)

    assert "".join(str(int(found)) for found in mask) == expected


@pytest.mark.parametrize(("whole", "expected"), [(10**400, "01"), (-(10**400), "10")])
def test_a_whole_number_that_is_no_float_is_beyond_all_others(whole, expected):
    boxes = BOXES.with_columns(attributes=pl.Series([f'{{"occluded":{whole}}}'] * 2))

    masks = [compile_where(f"attributes.occluded {sign} 0", BOX_COLUMNS).mask(boxes) for sign in ("<", ">")]

    assert "".join(str(int(mask.all())) for mask in masks) == expected


def test_arrow_tables_and_empty_tables_are_asked_alike():
    where = compile_where("attributes.weather = 'rain' and drive = 'd1'", FRAME_COLUMNS)

    assert where.mask(FRAMES.to_arrow(), SOURCES.to_arrow()).tolist() == [True, False, False]
    assert where.mask(FRAMES.clear(), SOURCES).tolist() == []
    assert compile_where("true", FRAME_COLUMNS).mask(FRAMES.clear()).tolist() == []


def test_a_condition_that_looks_at_sources_is_not_answered_without_them():
    with pytest.raises(ValueError, match="looks at sources \\(drive\\)"):
        compile_where("drive = 'd1'", FRAME_COLUMNS).mask(FRAMES)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("height > 3 and wdth > 3", 'character 16 .*: there is no column "wdth"; did you mean "width"'),
        ("weather = 'rain'", "an attribute is attributes.weather"),
        ("width > 'a'", "a text stands where a number is asked for"),
        ("width > 1; true", "character 10 .*: a condition has no semicolons"),
        ("height = 5 and sqrt(width) = 2", "SQRT is no part of a condition"),
        ("height > 3 and", "something is missing after it"),
    ],
)
def test_a_wrong_condition_says_where_and_why(text, says):
    with pytest.raises(UsageError, match=says):
        compile_where(text, FRAME_COLUMNS)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused(text):
    with pytest.raises(UsageError):
        compile_where(text, FRAME_COLUMNS)


_WORDS = """width attributes.n attributes.weather drive 'x%' 3 0 1.5 null true and or not in between like is ( ) , = <
>= <> + - * / lower abs coalesce length case select . ; -- ::int [ ] % || interval"""


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)))
@example("width = drive.x")
@settings(max_examples=150)
def test_any_text_is_a_condition_with_an_answer_or_a_usage_error(text):
    try:
        where = compile_where(text, FRAME_COLUMNS)
    except UsageError:
        return
    mask = where.mask(FRAMES, SOURCES)
    assert mask.dtype == np.bool_
    assert len(mask) == 3
