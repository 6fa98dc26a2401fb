from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from driveflow import tables
from driveflow.signal_store import SignalStore


def signals(*frame_ids: str, phash64: int = 1) -> pa.Table:
    rows = [{"frame_id": name, "phash64": phash64, "brightness": 1.5} for name in frame_ids]
    return pa.Table.from_pylist(rows, tables.SIGNALS)


@pytest.fixture
def store(tmp_path: Path) -> SignalStore:
    return SignalStore(tmp_path.as_uri())


def test_what_was_kept_is_found_again(store):
    store.append(signals("b", "a"))

    assert store.load(["a", "b", "c"]).equals(signals("a", "b"))


def test_an_empty_store_knows_nothing(store):
    assert store.load(["a"]).num_rows == 0


def test_keeping_twice_changes_nothing(store, tmp_path):
    store.append(signals("a", "b"))
    store.append(signals("b", "a"))

    assert store.load(["a", "b"]).equals(signals("a", "b"))
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_frame_in_two_parts_is_one_row(store):
    store.append(signals("a", "b"))
    store.append(signals("b", "c"))

    assert store.load(pa.chunked_array([["a", "b", "c"]])).equals(signals("a", "b", "c"))


def test_signals_of_another_extractor_are_not_mixed_in(tmp_path):
    SignalStore(tmp_path.as_uri(), "old").append(signals("a"))

    assert SignalStore(tmp_path.as_uri(), "new").load(["a"]).num_rows == 0


def test_a_damaged_part_counts_as_missing_until_it_is_written_again(store, tmp_path):
    store.append(signals("a"))
    (part,) = tmp_path.rglob("*.parquet")
    part.write_bytes(part.read_bytes()[:-9])

    assert store.load(["a"]).num_rows == 0

    store.append(signals("a"))

    assert store.load(["a"]).equals(signals("a"))


def test_many_may_append_at_once(store):
    names = [f"frame-{number:03d}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: store.append(signals(name)), names))

    assert store.load(names)["frame_id"].to_pylist() == names
