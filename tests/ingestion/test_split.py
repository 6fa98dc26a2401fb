from dataclasses import replace

import pyarrow as pa
import pytest

from driveflow import tables as columns
from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import SnapshotTables
from ingestion.split import SplitRequest, split_counts, split_snapshot
from tests.strategies import box_row, frame_row, source_row

HALF = HoldoutSection(fraction=0.5)


def _tables(*frames):
    """A snapshot of frames (id, drive, split, what else the source says)."""
    return SnapshotTables(
        pa.Table.from_pylist(
            [frame_row(name, split=split, drive_group=drive) for name, drive, split, _ in frames], columns.FRAMES
        ),
        pa.Table.from_pylist(
            [source_row(name, drive=drive, **more) for name, drive, _, more in frames], columns.SOURCES
        ),
        pa.Table.from_pylist([box_row(name, "1", "car") for name, *_ in frames], columns.BOXES),
        ("bus", "car", "person"),
    )


def _fresh(count, **more):
    return _tables(*((f"f{number:02d}", f"d{number // 2:02d}", "train", more) for number in range(count)))


def _splits(made):
    return dict(zip(made.tables.frames["frame_id"].to_pylist(), made.tables.frames["split"].to_pylist(), strict=True))


def test_a_snapshot_without_splits_gets_all_three_and_keeps_every_frame():
    made = split_snapshot(SplitRequest(tables=_fresh(40), holdout=HALF, splits=SplitSection(val_fraction=0.5)))

    assert set(_splits(made).values()) == {"train", "val", "holdout"}
    assert made.tables.frames.num_rows == 40
    assert made.tables.boxes.equals(_fresh(40).boxes)
    assert made.decisions.num_rows == 0


def test_the_frames_of_a_drive_group_go_together():
    splits = _splits(split_snapshot(SplitRequest(tables=_fresh(40), holdout=HALF)))

    assert all(splits[f"f{number:02d}"] == splits[f"f{number + 1:02d}"] for number in range(0, 40, 2))


def test_splitting_twice_is_splitting_once():
    request = SplitRequest(tables=_fresh(20), holdout=HALF, splits=SplitSection(balance=True))

    assert split_snapshot(request) == split_snapshot(request)


def test_a_hold_out_that_is_there_stays_whatever_the_seed():
    tables = _tables(*((f"f{n}", f"d{n}", "holdout" if n < 3 else "train", {}) for n in range(20)))
    for seed in range(5):
        splits = _splits(split_snapshot(SplitRequest(tables=tables, splits=SplitSection(val_fraction=0.5, seed=seed))))
        assert {name for name, split in splits.items() if split == "holdout"} == {"f0", "f1", "f2"}


def test_redo_draws_the_hold_out_anew():
    tables = _tables(*((f"f{n}", f"d{n}", "holdout", {}) for n in range(20)))

    made = split_snapshot(SplitRequest(tables=tables, holdout=HALF, redo=True))

    assert "train" in _splits(made).values()


def test_a_share_for_a_hold_out_that_stays_is_refused():
    with pytest.raises(UsageError, match="1 frames are hold-out already"):
        split_snapshot(SplitRequest(tables=_tables(("a", "d", "holdout", {}), ("b", "e", "train", {})), holdout=HALF))


def test_what_turns_out_to_be_at_a_place_of_the_hold_out_is_left_out_with_a_reason():
    here, there = {"lat": 48.0, "lon": 11.0}, {"lat": 49.0, "lon": 11.0}
    tables = _tables(("a", "d1", "holdout", here), ("b", "d2", "train", here), ("c", "d3", "train", there))

    made = split_snapshot(SplitRequest(tables=tables, splits=SplitSection(by="place", val_fraction=0.0)))

    assert _splits(made) == {"a": "holdout", "c": "train"}
    (row,) = made.decisions.to_pylist()
    assert (row["frame_id"], row["verdict"], row["reason"]) == ("b", "dropped", "leak")
    assert row["detail"] == "its place is that of hold-out frames, which stay as they are"


def test_a_withdrawn_frame_is_left_out_and_moves_no_other():
    request = SplitRequest(tables=_fresh(20), holdout=HALF, splits=SplitSection(balance=True))
    made = split_snapshot(replace(request, withdrawn=frozenset({"f03"})))

    assert _splits(made) == {name: split for name, split in _splits(split_snapshot(request)).items() if name != "f03"}
    assert [(row["frame_id"], row["reason"]) for row in made.decisions.to_pylist()] == [("f03", "withdrawn")]


def test_sources_of_unknown_place_are_counted():
    made = split_snapshot(SplitRequest(tables=_fresh(4), splits=SplitSection(by="place")))

    assert made.untied == 4


def test_nothing_left_to_train_on_is_refused():
    with pytest.raises(InvalidInputError, match="left to train on: of 1 frames train 0, val 0, holdout 1"):
        split_snapshot(SplitRequest(tables=_tables(("a", "d", "holdout", {}))))


def test_counts_are_of_frames_groups_and_boxes_of_every_class():
    counts = split_counts(_tables(("a", "d1", "train", {}), ("b", "d1", "train", {}), ("c", "d2", "val", {})))

    assert counts["train"] == {"frames": 2, "labeled": 2, "drive_groups": 1, "boxes": {"bus": 0, "car": 2, "person": 0}}
    assert counts["holdout"]["frames"] == 0
