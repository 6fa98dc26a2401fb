"""What touches the hold-out never trains, and every frame is accounted for."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow import tables
from driveflow.errors import InvalidInputError
from driveflow.snapshots import SnapshotTables
from tests.strategies import CLASSES, box_row, frame_row, snapshot_tables, source_row
from training.dataset import build_training_set


def _tables(*frames):
    ids = [frame["frame_id"] for frame in frames]
    return SnapshotTables(
        pa.Table.from_pylist(list(frames), tables.FRAMES),
        pa.Table.from_pylist([source_row(name) for name in ids], tables.SOURCES),
        pa.Table.from_pylist([box_row(name, "box", "car") for name in ids], tables.BOXES),
        CLASSES,
    )


def _frame(letter, split="train", group=None, annotated=CLASSES):
    return frame_row(
        letter * 64, split=split, drive_group=group or f"drive-{letter}", annotated_classes=list(annotated)
    )


def _signals(**hashes):
    rows = [{"frame_id": letter * 64, "phash64": code} for letter, code in hashes.items()]
    return pa.Table.from_pylist(rows, tables.SIGNALS)


def _of(built, letter):
    rows = built.decisions.filter(pc.equal(built.decisions["frame_id"], letter * 64)).to_pylist()
    assert len(rows) == 1
    return rows[0]


def test_a_frame_of_a_held_out_drive_group_is_dropped():
    frames = _tables(_frame("a", group="one"), _frame("b", group="two"), _frame("c", "holdout", group="one"))

    built = build_training_set(frames, _signals(a=0, b=2**20 - 1, c=2**40 - 1), 2)

    row = _of(built, "a")
    assert (row["verdict"], row["reason"], row["rule"], row["twin"]) == ("dropped", "leak", "drive_group", "c" * 64)
    assert built.training.frames["frame_id"].to_pylist() == ["b" * 64]


@pytest.mark.parametrize(("code", "verdict"), [(0b1, "dropped"), (0b11, "dropped"), (0b111, "kept")])
def test_a_near_duplicate_of_a_held_out_frame_is_dropped_up_to_the_limit(code, verdict):
    frames = _tables(_frame("a"), _frame("b"), _frame("c", "holdout"))

    built = build_training_set(frames, _signals(a=code, b=2**64 - 1, c=0), 2)

    assert _of(built, "a")["verdict"] == verdict


def test_a_dropped_near_duplicate_names_its_twin_the_distance_and_the_limit():
    frames = _tables(_frame("a"), _frame("b"), _frame("c", "holdout"), _frame("d", "holdout"))

    row = _of(build_training_set(frames, _signals(a=0b1, b=2**64 - 1, c=0b111, d=0), 3), "a")

    assert (row["reason"], row["rule"], row["twin"]) == ("leak", "near_duplicate", "d" * 64)
    assert (row["score"], row["limit"]) == (1.0, 3.0)


def test_val_frames_pass_the_firewall_too():
    frames = _tables(_frame("a", "val"), _frame("b"), _frame("c", "holdout"))

    built = build_training_set(frames, _signals(a=0, b=2**64 - 1, c=0), 2)

    assert built.training.frames["frame_id"].to_pylist() == ["b" * 64]


def test_a_frame_in_which_nobody_looked_for_anything_does_not_train():
    frames = _tables(frame_row("a" * 64, annotated_classes=[]), _frame("b", annotated=["car"]))

    built = build_training_set(frames, _signals(), 2)

    assert _of(built, "a")["reason"] == "unlabeled"
    assert built.training.frames["frame_id"].to_pylist() == ["b" * 64]


def test_a_frame_without_a_hash_is_counted_as_unmeasured():
    built = build_training_set(_tables(_frame("a"), _frame("b"), _frame("c", "holdout")), _signals(a=7, c=2**64 - 1), 2)

    assert built.counts["unmeasured"] == 1
    assert built.counts["train"] == 2


def test_nothing_left_to_train_on_is_an_error_that_says_why():
    with pytest.raises(InvalidInputError, match="train 0, val 0, holdout 1, unlabeled 0, leak 1"):
        build_training_set(_tables(_frame("a"), _frame("c", "holdout")), _signals(a=0, c=0), 2)


@pytest.mark.parametrize(
    ("frames", "would"),
    [
        ((_frame("a", annotated=()),), "collect what annotators answered"),
        ((_frame("a", "holdout"),), "hold out fewer drives"),
        ((_frame("a", group="g"), _frame("b", "holdout", group="g"), _frame("c", group="g")), "bring drives"),
        ((_frame("a", "val"),), "make splits.val_fraction smaller"),
    ],
)
def test_where_nothing_is_left_to_train_on_what_would_do_is_said_of_the_reason_that_took_most(frames, would):
    with pytest.raises(InvalidInputError, match=f"What would do: {would}"):
        build_training_set(_tables(*frames), _signals(), 2)


@given(snapshot_tables(min_frames=1), st.data())
def test_every_frame_is_decided_once_and_no_trained_frame_touches_the_hold_out(made, data):
    ids = made.frames["frame_id"].to_pylist()
    splits = {name: data.draw(st.sampled_from(tables.SPLITS)) for name in ids}
    rows = [row | {"split": splits[row["frame_id"]]} for row in made.frames.to_pylist()]
    frames = SnapshotTables(pa.Table.from_pylist(rows, tables.FRAMES), made.sources, made.boxes, made.classes)
    codes = {name: data.draw(st.integers(0, 15)) for name in ids}
    signals = pa.Table.from_pylist(
        [{"frame_id": name, "phash64": code} for name, code in codes.items()], tables.SIGNALS
    )
    limit = data.draw(st.integers(0, 2))
    try:
        built = build_training_set(frames, signals, limit)
    except InvalidInputError:
        return

    kept = built.training.frames.to_pylist()
    held = built.holdout.frames.to_pylist()
    assert sorted(built.decisions["frame_id"].to_pylist()) == sorted(ids)
    assert built.counts["frames_in"] == sum(
        built.counts[name] for name in ("train", "val", "holdout", "unlabeled", "leak")
    )
    assert not {row["drive_group"] for row in kept} & {row["drive_group"] for row in held}
    assert all(
        (codes[one["frame_id"]] ^ codes[other["frame_id"]]).bit_count() > limit for one in kept for other in held
    )


def test_a_withdrawn_frame_neither_trains_nor_judges_and_is_told_so():
    frames = _tables(_frame("a"), _frame("b"), _frame("c", "holdout"), _frame("e", "holdout"))
    built = build_training_set(frames, _signals(a=0, b=2**20 - 1, c=2**40 - 1, e=2**64 - 1), 2, {"b" * 64, "c" * 64})

    assert built.training.frames["frame_id"].to_pylist() == ["a" * 64]
    assert built.holdout.frames["frame_id"].to_pylist() == ["e" * 64]
    assert [_of(built, name)["reason"] for name in ("b", "c")] == ["withdrawn", "withdrawn"]
    assert (built.counts["frames_in"], built.counts["withdrawn"]) == (4, 2)


def test_predictions_of_a_snapshot_neither_train_nor_judge():
    made = _tables(_frame("a"), _frame("b", "holdout"))
    guesses = [box_row(name * 64, "guess", "car", score=0.9) for name in "ab"]
    boxes = pa.concat_tables([made.boxes, pa.Table.from_pylist(guesses, tables.BOXES)])

    built = build_training_set(SnapshotTables(made.frames, made.sources, boxes, CLASSES), _signals(), 2)

    assert built.training.boxes["box_id"].to_pylist() == built.holdout.boxes["box_id"].to_pylist() == ["box"]
