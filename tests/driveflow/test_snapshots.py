"""Snapshots: identity by content."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables
from driveflow.errors import IntegrityError, InvalidInputError, NotFoundError
from driveflow.snapshots import Beside, SnapshotTables, open_snapshot, snapshot_id, write_snapshot
from driveflow.storage.objects import delete, join, list_objects
from tests.strategies import snapshot_tables


def _shuffled(table: pa.Table, order: list[int]) -> pa.Table:
    return table.take(pa.array(order, pa.int64()))


@given(tables_=snapshot_tables(), data=st.data())
@settings(max_examples=30)
def test_the_id_does_not_depend_on_the_order_or_the_chunks_of_rows(tables_, data):
    order = data.draw(st.permutations(range(tables_.frames.num_rows)))
    frames = _shuffled(tables_.frames, list(order))
    cut = data.draw(st.integers(0, frames.num_rows))
    chunked = pa.concat_tables([frames.slice(0, cut), frames.slice(cut)])

    again = SnapshotTables(chunked, tables_.sources, tables_.boxes, tables_.classes)

    assert snapshot_id(again) == snapshot_id(tables_)


@given(tables_=snapshot_tables(min_frames=1))
@settings(max_examples=20)
def test_the_id_changes_with_one_value(tables_):
    first = tables_.frames.to_pylist()
    first[0]["width"] += 1
    changed = SnapshotTables(
        pa.Table.from_pylist(first, tables.FRAMES), tables_.sources, tables_.boxes, tables_.classes
    )

    assert snapshot_id(changed) != snapshot_id(tables_)


@given(tables_=snapshot_tables())
@settings(max_examples=10)
def test_what_is_written_reads_back_equal(tables_, tmp_path_factory):
    store = tmp_path_factory.mktemp("store").as_uri()

    snapshot = write_snapshot(store, tables_, Beside(), {"step": "test"})

    assert open_snapshot(snapshot.uri).tables() == tables_
    assert snapshot.snapshot_id == snapshot_id(tables_)


def test_writing_twice_changes_nothing(tmp_path, small_tables):
    store = tmp_path.as_uri()
    first = write_snapshot(store, small_tables, Beside(), {"step": "test"})
    before = _identity_files(store)

    second = write_snapshot(store, small_tables, Beside(), {"step": "test"})

    assert second.uri == first.uri
    assert _identity_files(store) == before


def _identity_files(store):
    found = list_objects(join(store, "snapshots"))
    return {item.path: item.version for item in found if "made_by" not in item.path}


def test_a_part_that_was_deleted_is_made_again(tmp_path, small_tables):
    store = tmp_path.as_uri()
    snapshot = write_snapshot(store, small_tables, Beside(), {"step": "test"})
    delete(join(snapshot.folder, "boxes", "part-00000.parquet"))
    with pytest.raises(NotFoundError):
        snapshot.verify()

    again = write_snapshot(store, small_tables, Beside(), {"step": "test"})

    again.verify()


def test_a_part_that_was_changed_is_noticed(tmp_path, small_tables):
    snapshot = write_snapshot(tmp_path.as_uri(), small_tables, Beside(), {"step": "test"})
    part = tmp_path / "snapshots" / snapshot.snapshot_id / "frames" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")

    with pytest.raises(IntegrityError, match="is not what was written there"):
        snapshot.verify()


@pytest.mark.parametrize("data", [b"", b"PAR1", b"{}", b"[1]"])
def test_a_damaged_file_is_named_by_whoever_reads_it_with_what_mends_it(tmp_path, small_tables, data):
    snapshot = write_snapshot(tmp_path.as_uri(), small_tables, Beside(), {"step": "test"})
    home = tmp_path / "snapshots" / snapshot.snapshot_id
    record = home / "made_by" / snapshot.record_id
    damaged = [
        (snapshot.boxes, home / "boxes" / "part-00000.parquet"),
        (snapshot.quarantine, record / "quarantine.parquet"),
        (snapshot.made_by, record / "record.json"),
    ]
    for read, path in damaged:
        path.write_bytes(data if path.suffix == ".parquet" else data[:-1])
        with pytest.raises(IntegrityError, match=rf"{path.name}.* is not what was written there; the import or merge"):
            read()


@pytest.mark.parametrize(
    "damage",
    [("parts", "partz"), ("quarantine.parquet", "quarantine.parquez"), ("sha256", "sha257"), ("bytes", "bytez")],
)
def test_a_record_that_no_longer_names_its_files_is_damaged(tmp_path, small_tables, damage):
    snapshot = write_snapshot(tmp_path.as_uri(), small_tables, Beside(), {"step": "test"})
    record = tmp_path / "snapshots" / snapshot.snapshot_id / "made_by" / snapshot.record_id / "record.json"
    record.write_text(record.read_text().replace(*damage))

    with pytest.raises(IntegrityError, match=r"record\.json.* is not what was written there; the import or merge"):
        snapshot.quarantine()


@given(data=st.data())
@settings(max_examples=20)
def test_no_bit_of_a_table_changes_unnoticed(tmp_path_factory, data):
    tables_ = data.draw(snapshot_tables(min_frames=1))
    folder = tmp_path_factory.mktemp("store")
    snapshot = write_snapshot(folder.as_uri(), tables_, Beside(), {"step": "test"})
    part = folder / "snapshots" / snapshot.snapshot_id / "frames" / "part-00000.parquet"
    flipped = bytearray(part.read_bytes())
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    part.write_bytes(flipped)

    with pytest.raises(IntegrityError, match="is not what was written there"):
        open_snapshot(snapshot.uri).frames()


def test_two_rows_of_one_key_are_refused(small_tables):
    twice = pa.concat_tables([small_tables.frames, small_tables.frames.slice(0, 1)])

    with pytest.raises(InvalidInputError, match="each key must be there once"):
        SnapshotTables(twice, small_tables.sources, small_tables.boxes, small_tables.classes)


def test_a_box_of_an_unknown_frame_is_refused(small_tables):
    rows = small_tables.boxes.to_pylist()
    rows[0]["frame_id"] = "0" * 64

    with pytest.raises(InvalidInputError, match="Unknown frame of boxes"):
        SnapshotTables(
            small_tables.frames, small_tables.sources, pa.Table.from_pylist(rows, tables.BOXES), small_tables.classes
        )


def test_a_class_outside_the_taxonomy_is_refused(small_tables):
    with pytest.raises(InvalidInputError, match=r"Unknown class of a box: \['car'\]"):
        SnapshotTables(small_tables.frames, small_tables.sources, small_tables.boxes, ("bus",))


def test_a_missing_snapshot_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match="There is no snapshot at"):
        open_snapshot((tmp_path / "snapshots" / "nothing").as_uri())
