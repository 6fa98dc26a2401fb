import re

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from filtering.natural_order import natural_ranks

PATHS = st.lists(st.text("0129a/é.b", max_size=9), max_size=12)


def plain(path: str) -> list[tuple[int, int, str]]:
    """Parts of a path, numbers as numbers and before text."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", path) if part]


@settings(max_examples=200)
@given(PATHS)
def test_ranks_are_those_of_a_plain_sort(paths):
    different = sorted({tuple(plain(path)) for path in paths})

    assert natural_ranks(pa.array(paths, pa.string())).tolist() == [different.index(tuple(plain(p))) for p in paths]


def test_a_part_of_a_longer_column_is_ranked_alone():
    column = pa.chunked_array([pa.array(["x", "f10", "f9"]).slice(1), pa.array(["f100"])])

    assert natural_ranks(column).tolist() == [1, 0, 2]
