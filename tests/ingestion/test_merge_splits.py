import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import HoldoutSection, SplitSection
from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots
from ingestion.merge_splits import place_frames
from ingestion.split_board import Sighting, SplitRules
from tests.ingestion.test_merge_rules import person, rows_of, snapshot_of

ALL_TRAIN = SplitSection(val_fraction=0.0)
_sightings = st.lists(
    st.builds(Sighting, st.sampled_from("abcdefgh"), st.sampled_from(["d0", "d1", "d2", "d3", "d4"]),
              st.sampled_from(["", "train", "valid"])),
    max_size=8,
)  # fmt: skip
_arrivals = st.lists(_sightings, min_size=1, max_size=5).map(
    lambda found: [(f"batch{number}", seen) for number, seen in enumerate(found)]
)
_fixed = st.dictionaries(st.sampled_from([f"batch{n}" for n in range(5)]), st.sampled_from(["train", "val", "holdout"]))
_rules = st.builds(
    SplitRules,
    st.builds(HoldoutSection, fraction=st.sampled_from([0.0, 0.4]), seed=st.integers(0, 5)),
    st.builds(SplitSection, val_fraction=st.sampled_from([0.0, 0.5])),
    _fixed,
)


def _seen(*rows):
    return [Sighting(*row) if len(row) == 3 else Sighting(*row, "") for row in rows]


def _place(*batches, holdout=None, fixed=None, splits=ALL_TRAIN):
    named = [(f"b{number}", seen) for number, seen in enumerate(batches)]
    return place_frames(named, SplitRules(holdout or HoldoutSection(), splits, fixed or {}))


@given(_arrivals, _rules)
@settings(max_examples=100)
def test_a_new_batch_moves_no_old_frame_unless_hold_out_is_stated(arrivals, rules):
    before, after = place_frames(arrivals[:-1], rules), place_frames(arrivals, rules)

    if rules.fixed.get(arrivals[-1][0]) == "holdout":
        moved = {frame for frame, split in before.splits.items() if after.splits.get(frame) != split}
        assert all(after.splits.get(frame, "holdout") == "holdout" for frame in moved)
    else:
        assert {frame: after.splits.get(frame) for frame in before.splits} == before.splits


@given(_arrivals, _rules)
@settings(max_examples=100)
def test_a_drive_group_lies_in_one_split_and_every_frame_is_placed_or_left_out(arrivals, rules):
    placement = place_frames(arrivals, rules)

    by_group = {}
    for frame, group in placement.groups.items():
        by_group.setdefault(group, set()).add(placement.splits[frame])
    assert all(len(splits) == 1 for splits in by_group.values())
    seen = {sighting.frame_id for _, sightings in arrivals for sighting in sightings}
    assert set(placement.splits) | set(placement.leaks) == seen
    assert not set(placement.splits) & set(placement.leaks)


@given(_arrivals, _rules, st.integers(0, 4))
@settings(max_examples=100)
def test_a_batch_that_comes_twice_changes_nothing(arrivals, rules, which):
    once = place_frames(arrivals, rules)
    twice = place_frames([*arrivals, arrivals[which % len(arrivals)]], rules)

    assert (twice.splits, twice.groups, twice.leaks.keys()) == (once.splits, once.groups, once.leaks.keys())


@given(_arrivals)
@settings(max_examples=100)
def test_no_frame_in_the_hold_out_shares_a_drive_of_its_batch_with_a_frame_in_training(arrivals):
    rules = SplitRules(HoldoutSection(fraction=0.4), SplitSection(val_fraction=0.0))
    placement = place_frames(arrivals, rules)

    for _, sightings in arrivals[:1]:
        by_drive = {}
        for sighting in sightings:
            by_drive.setdefault(sighting.drive, set()).add(placement.splits[sighting.frame_id])
        assert all(len(splits) == 1 for splits in by_drive.values())


@given(_arrivals, _rules)
@settings(max_examples=100)
def test_every_frame_that_somebody_states_as_hold_out_is_in_the_hold_out(arrivals, rules):
    placement = place_frames(arrivals, rules)

    for name, sightings in arrivals:
        for sighting in sightings:
            if rules.stated(name, sighting) == "holdout":
                assert placement.splits[sighting.frame_id] == "holdout"


def test_a_frame_left_out_still_links_its_drives():
    batches = [_seen(("b", "d0")), _seen(("a", "d0")), _seen(("b", "d1"), ("c", "d1"))]
    placement = _place(*batches, fixed={"b0": "train", "b1": "holdout"})

    assert placement.splits == {"a": "holdout", "c": "holdout"}
    assert set(placement.leaks) == {"b"}


def test_drives_that_share_a_frame_are_one_group():
    placement = _place(_seen(("a", "d1"), ("b", "d1")), _seen(("b", "d2"), ("c", "d2")))

    assert set(placement.groups.values()) == {"d1"}


def test_equal_drive_names_in_two_batches_are_one_group():
    placement = _place(_seen(("a", "drive")), _seen(("b", "drive")))

    assert placement.groups == {"a": "drive", "b": "drive"}


def test_a_source_split_stated_as_hold_out_takes_the_whole_group():
    placement = _place(
        _seen(("a", "d", "train"), ("b", "d", "valid"), ("c", "e", "train")),
        holdout=HoldoutSection(source_splits=("val",)),
    )

    assert placement.splits == {"a": "holdout", "b": "holdout", "c": "train"}


def test_a_drive_stated_as_hold_out_is_hold_out():
    placement = _place(_seen(("a", "d"), ("b", "e")), holdout=HoldoutSection(drives=("e",)))

    assert placement.splits == {"a": "train", "b": "holdout"}


def test_what_a_batch_states_beats_the_hold_out_by_source_split():
    placement = _place(
        _seen(("a", "d", "valid")), holdout=HoldoutSection(source_splits=("valid",)), fixed={"b0": "train"}
    )

    assert placement.splits == {"a": "train"}


def test_a_stated_hold_out_beats_train_for_the_same_bytes():
    placement = _place(_seen(("a", "d1")), _seen(("a", "d2")), fixed={"b0": "train", "b1": "holdout"})

    assert placement.splits == {"a": "holdout"}
    assert [(c.frame_id, c.split, c.stated) for c in placement.conflicts] == [("a", "train", "holdout")]


def test_training_frames_of_a_drive_that_becomes_hold_out_are_left_out():
    placement = _place(_seen(("a", "d"), ("b", "d"), ("c", "e")), _seen(("a", "x")), fixed={"b1": "holdout"})

    assert placement.splits == {"a": "holdout", "c": "train"}
    assert "touched by the hold-out that batch 'b1' states" in placement.leaks["b"]


def test_a_drive_that_links_two_splits_is_left_out_and_the_old_frames_stay():
    old = _seen(("a", "d1"), ("b", "d2"))
    placement = _place(old, _seen(("a", "new"), ("b", "new"), ("c", "new")), holdout=HoldoutSection(drives=("d2",)))

    assert placement.splits == {"a": "train", "b": "holdout"}
    assert placement.leaks == {"c": "batch 'b1', drive 'new' links groups of different splits"}


def test_later_frames_of_a_linking_drive_are_left_out_too():
    linking = _seen(("a", "new"), ("b", "new"))
    placement = _place(
        _seen(("a", "d1"), ("b", "d2")), linking, _seen(("z", "new")), holdout=HoldoutSection(drives=("d2",))
    )

    assert set(placement.leaks) == {"z"}


def test_a_batch_stated_as_train_does_not_leak_into_a_hold_out_drive():
    placement = _place(_seen(("a", "d")), _seen(("b", "d")), fixed={"b0": "holdout", "b1": "train"})

    assert placement.splits == {"a": "holdout"}
    assert "stated to be train, but its drive group is in holdout" in placement.leaks["b"]


def test_one_lonely_drive_trains():
    for seed in range(20):
        placement = _place(_seen(("a", "d")), splits=SplitSection(val_fraction=0.9, seed=seed))
        assert placement.splits == {"a": "train"}


def test_the_share_of_drawn_groups_is_near_the_fraction():
    many = _seen(*((f"f{n}", f"d{n}") for n in range(2000)))
    splits = list(_place(many, splits=SplitSection(val_fraction=0.2)).splits.values())

    assert 0.16 < splits.count("val") / len(splits) < 0.24


@pytest.mark.parametrize(
    ("holdout", "message"),
    [
        (HoldoutSection(drives=("nowhere",)), "holdout.drives names 'nowhere', which no batch has; known: d"),
        (
            HoldoutSection(source_splits=("test",)),
            "holdout.source_splits names 'test', which no batch has; known: train",
        ),
    ],
)
def test_a_hold_out_that_names_nothing_is_refused(holdout, message):
    with pytest.raises(InvalidInputError, match=message):
        _place(_seen(("a", "d", "train")), holdout=holdout)


def test_a_batch_that_draws_more_in_old_frames_moves_none_of_them_where_splits_are_balanced():
    def drawn(name, *counts):
        boxes = [[("car", 20.0 * place) for place in range(count)] for count in counts]
        rows = [rows_of(name, some, frame_id=f"{n:064}", drive=f"d{n}") for n, some in enumerate(boxes) if some]
        return snapshot_of(name, rows)

    rules = MergeRules(splits=SplitSection(val_fraction=0.3, balance=True))
    first, later = drawn("first", 8, 6, 4, 2), drawn("later", 0, 0, 0, 40)

    before, after = (merge_snapshots(parts, rules).tables.frames for parts in ([first], [first, later]))

    assert len(set(before["split"].to_pylist())) == 2
    assert after["split"].to_pylist() == before["split"].to_pylist()


def test_groups_of_one_split_that_share_a_frame_stay_apart_when_their_snapshot_is_merged_with_itself():
    tables = snapshot_of("a", [rows_of("a", [], frame_id=key * 64, drive=f"d{key}") for key in "12"]).tables
    bridge = pa.Table.from_pylist(
        [rows_of("a", [], frame_id="1" * 64, drive="d2", path="c.jpg")[1]], tables.sources.schema
    )
    merged = NamedSnapshot("m", replace(tables, sources=pa.concat_tables([tables.sources, bridge])), placed=True)

    twice = merge_snapshots([merged, NamedSnapshot("n", merged.tables, placed=True)], MergeRules())

    assert twice.tables.frames == merged.tables.frames


@pytest.mark.parametrize(("first", "second"), [("train", "val"), ("train", "holdout"), ("holdout", "train")])
def test_two_merged_snapshots_that_have_a_frame_in_two_splits_are_told_which_stands(first, second):
    parts = [NamedSnapshot(name, _all_in(split), placed=True) for name, split in (("a", first), ("b", second))]

    merged = merge_snapshots(parts, MergeRules())

    assert merged.tables.frames["split"].to_pylist() == [first]
    ((left, right, rule, winner),) = (
        tuple(row[name] for name in ("left", "right", "rule", "winner")) for row in merged.beside.conflicts.to_pylist()
    )
    assert (json.loads(left), json.loads(right)) == ({"split": first}, {"batch": "b", "split": second})
    assert (rule, winner) == ("first", "left")


def _all_in(split):
    tables = person("a").tables
    column = tables.frames.schema.get_field_index("split")
    return replace(tables, frames=tables.frames.set_column(column, "split", pa.array([split])))
