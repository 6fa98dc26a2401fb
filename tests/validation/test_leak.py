"""Whatever touches the hold-out is found, counted and shown."""

import pyarrow as pa

from driveflow import tables
from driveflow.snapshots import SnapshotTables
from tests.strategies import CLASSES, frame_row, source_row
from validation.leak import LeakReport, LeakRequest, check_leak


def _tables(groups: dict[str, str]) -> SnapshotTables:
    return SnapshotTables(
        pa.Table.from_pylist([frame_row(name, drive_group=group) for name, group in groups.items()], tables.FRAMES),
        pa.Table.from_pylist([source_row(name) for name in groups], tables.SOURCES),
        tables.BOXES.empty_table(),
        CLASSES,
    )


def _signals(codes: dict[str, int | None]) -> pa.Table:
    return pa.Table.from_pylist([{"frame_id": name, "phash64": code} for name, code in codes.items()], tables.SIGNALS)


def _check(train: dict, holdout: dict, max_bits: int = 2) -> LeakReport:
    """Each side is frame -> (drive group, hash)."""
    tables_of = [_tables({name: group for name, (group, _code) in side.items()}) for side in (train, holdout)]
    signals_of = [_signals({name: code for name, (_group, code) in side.items()}) for side in (train, holdout)]
    return check_leak(LeakRequest(*tables_of, *signals_of, max_bits))


def test_sides_that_do_not_touch_are_clean():
    report = _check({"a": ("g1", 0), "b": ("g2", 0xFF)}, {"c": ("g3", 0xFF00), "d": ("g4", 0xFF0000)})

    assert report.is_clean
    assert "No leak in 2 training frames against 2 hold-out frames" in report.summary()


def test_the_same_bytes_are_found_and_not_counted_as_near_duplicates_too():
    report = _check({"a": ("g1", 0)}, {"a": ("g1", 0), "b": ("g9", 1)})

    assert (report.equal_bytes, report.near_duplicates, report.same_drive_group) == (1, 0, 1)


def test_a_near_duplicate_is_found_up_to_the_limit_and_not_beyond():
    holdout = {"h": ("g9", 0b0)}

    near, far = _check({"a": ("g1", 0b11)}, holdout), _check({"a": ("g1", 0b111)}, holdout)

    assert (near.near_duplicates, near.examples[0].distance_bits) == (1, 2)
    assert (near.examples[0].training_frame, near.examples[0].holdout_frame) == ("a", "h")
    assert far.is_clean


def test_a_shared_drive_group_is_found():
    report = _check({"a": ("g1", 0), "b": ("g1", 0xF0)}, {"h": ("g1", 0xFFFF)})

    assert (report.same_drive_group, report.equal_bytes, report.near_duplicates) == (2, 0, 0)
    assert {item.kind for item in report.examples} == {"drive_group"}


def test_frames_without_a_hash_are_counted_and_said():
    report = _check({"a": ("g1", None)}, {"h": ("g2", 0)})

    assert report.is_clean
    assert report.unmeasured == 1
    assert "1 frame without a hash" in report.summary()


def test_examples_are_few_and_counts_complete():
    report = _check({f"t{k:03d}": (f"g{k}", 0) for k in range(50)}, {"h": ("gh", 1)})

    assert (report.near_duplicates, len(report.examples)) == (50, 5)


def test_empty_sides_are_clean():
    assert _check({}, {}).is_clean
