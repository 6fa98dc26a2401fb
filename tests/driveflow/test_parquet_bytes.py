import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driveflow.parquet_bytes import table_of


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=100)
    return bytes(sink.getvalue())


def test_the_table_that_was_written_is_read():
    table = pa.table({"frame_id": ["a", "b", None] * 100, "score": [1.0, 2.0, None] * 100})

    assert table_of(parquet(table)) == table
    assert table_of(parquet(table), columns=["score"]).column_names == ["score"]


def test_no_thread_holds_the_bytes_once_they_are_read():
    """One that did would need Python to drop them, and abort a process that ends meanwhile."""
    data = parquet(pa.table({f"column {number}": [str(number)] * 1_000 for number in range(30)}))
    held = sys.getrefcount(data)

    after = [sys.getrefcount(data) for _ in range(30) if table_of(data).num_rows]

    assert set(after) == {held}


def test_bytes_that_are_no_table_are_refused():
    with pytest.raises(pa.ArrowInvalid):
        table_of(b"no table")


def test_bytes_that_were_damaged_are_a_table_or_refused_as_no_table():
    whole = parquet(pa.table({"frame_id": ["a", "b", None] * 9, "score": [1.0, 2.0, None] * 9}))
    refused = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        try:
            table_of(bytes(damaged))
        except pa.ArrowException:
            refused += 1

    assert refused > len(whole) / 4
