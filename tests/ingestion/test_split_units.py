from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow import tables as columns
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import SnapshotTables
from ingestion.balance import Unit, balance
from ingestion.merge_splits import place_frames
from ingestion.split_board import TIE_MARK, Sighting, SplitRules
from ingestion.split_units import FRAMES, contents, sightings
from tests.strategies import box_row, frame_row, source_row

DAY_NS = 86_400 * 10**9
SHARES = {"train": 0.72, "val": 0.08, "holdout": 0.2}
_sightings = st.lists(
    st.builds(
        Sighting,
        st.sampled_from("abcdefgh"),
        st.sampled_from(["d0", "d1", "d2", "d3", "d4"]),
        st.just(""),
        st.sampled_from(["p0", "p1", "p2", ""]).map(lambda place: (TIE_MARK + place,) if place else ()),
    ),
    max_size=8,
)
_arrivals = st.lists(_sightings, min_size=1, max_size=4).map(
    lambda found: [(f"batch{number}", seen) for number, seen in enumerate(found)]
)
_rules = st.builds(
    SplitRules,
    st.builds(HoldoutSection, fraction=st.just(0.4), seed=st.integers(0, 5)),
    st.builds(SplitSection, val_fraction=st.just(0.5), by=st.just("place"), balance=st.booleans()),
)


def _tables(*rows, boxes=(), attributes="{}"):
    """A snapshot of frames (id, and what differs in the source)."""
    ids = dict.fromkeys(frame_id for frame_id, _ in rows)
    return SnapshotTables(
        pa.Table.from_pylist([frame_row(frame_id, attributes=attributes) for frame_id in ids], columns.FRAMES),
        pa.Table.from_pylist([source_row(frame_id, **more) for frame_id, more in rows], columns.SOURCES),
        pa.Table.from_pylist(list(boxes), columns.BOXES),
        ("bus", "car", "person"),
    )


def _ties(tables, **splits):
    return {sighting.frame_id: sighting.ties for sighting in sightings(tables, SplitSection(**splits))}


def _place_of(lat, lon):
    return {"lat": lat, "lon": lon}


@given(_arrivals, _rules)
@settings(max_examples=60)
def test_a_new_batch_moves_no_old_frame_when_the_split_goes_by_place(arrivals, rules):
    before, after = place_frames(arrivals[:-1], rules), place_frames(arrivals, rules)

    assert {frame: after.splits.get(frame) for frame in before.splits} == before.splits


@given(_arrivals, _rules)
@settings(max_examples=60)
def test_no_place_and_no_drive_lies_in_two_splits_where_every_batch_brings_new_frames(arrivals, rules):
    new = [(name, [replace(seen, frame_id=name + seen.frame_id) for seen in all_seen]) for name, all_seen in arrivals]
    placement = place_frames(new, rules)

    where = {}
    for _, seen in new:
        for sighting in seen:
            if sighting.frame_id in placement.splits:
                for node in (sighting.drive, *sighting.ties):
                    where.setdefault(node, set()).add(placement.splits[sighting.frame_id])
    assert {node: splits for node, splits in where.items() if len(splits) > 1} == {}


@given(_arrivals, _rules, st.integers(0, 3))
@settings(max_examples=40)
def test_a_batch_that_comes_twice_changes_nothing_when_the_split_goes_by_place(arrivals, rules, which):
    once = place_frames(arrivals, rules)
    twice = place_frames([*arrivals, arrivals[which % len(arrivals)]], rules)

    assert (twice.splits, twice.groups, twice.leaks.keys()) == (once.splits, once.groups, once.leaks.keys())


def test_frames_within_a_cell_are_of_one_place_and_frames_far_apart_are_not():
    tables = _tables(
        ("a", _place_of(48.10001, 11.50001)), ("b", _place_of(48.10002, 11.50002)), ("c", _place_of(48.2, 11.5))
    )

    ties = _ties(tables, by="place")

    assert ties["a"] == ties["b"] != ties["c"]
    assert (
        _ties(tables, by="place", place_cell_m=50_000.0)["c"] == _ties(tables, by="place", place_cell_m=50_000.0)["a"]
    )


def test_a_place_without_a_position_ties_nothing():
    assert _ties(_tables(("a", {}), ("b", _place_of(1.0, None))), by="place") == {"a": (), "b": ()}


def test_a_frame_attribute_can_name_the_place():
    ties = _ties(_tables(("a", {}), ("b", {}), attributes='{"city":"ulm"}'), by="place", place_attribute="city")

    assert ties["a"] == ties["b"] == (f"{TIE_MARK}|ulm",)


def test_one_day_is_a_day_in_utc_whatever_the_clock_counts_from():
    gps_ns = 1_000_000_000 * 10**9  # 2011-09-14, counted from 1980
    rows = [
        ("a", {"captured_ns": 20_000 * DAY_NS, "clock": "utc"}),
        ("b", {"captured_ns": 20_001 * DAY_NS - 1, "clock": "utc"}),
        ("c", {"captured_ns": 20_001 * DAY_NS, "clock": "utc"}),
        ("d", {"captured_ns": gps_ns, "clock": "gps"}),
        ("e", {"captured_ns": gps_ns + 315_964_800 * 10**9 - 18 * 10**9, "clock": "utc"}),
        ("f", {"captured_ns": 5, "clock": "drive_relative"}),
    ]

    ties = _ties(_tables(*rows), by="day")

    assert ties["a"] == ties["b"] == (f"{TIE_MARK}|2024-10-04",)
    assert ties["c"] != ties["a"]
    assert ties["d"] == ties["e"]
    assert ties["f"] == ()


def test_by_place_and_day_one_place_on_two_days_is_two_units():
    here = _place_of(48.0, 11.0)
    rows = [("a", {**here, "captured_ns": 0, "clock": "utc"}), ("b", {**here, "captured_ns": DAY_NS, "clock": "utc"})]

    ties = _ties(_tables(*rows), by="place_and_day")

    assert ties["a"] != ties["b"]
    assert _ties(_tables(*rows), by="place")["a"] == _ties(_tables(*rows), by="place")["b"]


def test_drives_that_share_a_place_are_one_drive_group():
    tie = (f"{TIE_MARK}|7,7",)
    placement = place_frames(
        [("b", [Sighting("a", "d1", "", tie), Sighting("b", "d2", "", tie), Sighting("c", "d3", "")])],
        SplitRules(HoldoutSection(), SplitSection(by="place")),
    )

    assert placement.groups == {"a": "d1", "b": "d1", "c": "d3"}


def test_a_frame_holds_itself_and_its_boxes_but_no_ignore_regions_and_no_predictions():
    boxes = [
        box_row("a", "1", "car"),
        box_row("a", "2", "car"),
        box_row("a", "3", "bus", ignore=True),
        box_row("a", "4", "person", score=0.5),
    ]

    assert contents(_tables(("a", {}), ("b", {}), boxes=boxes)) == {"a": {FRAMES: 1, "car": 2}, "b": {FRAMES: 1}}


_units = st.lists(
    st.builds(
        Unit,
        st.integers(0, 10**6).map(lambda number: f"d{number}"),
        st.fixed_dictionaries({FRAMES: st.integers(1, 50), "car": st.integers(0, 200), "bus": st.integers(0, 3)}),
    ),
    unique_by=lambda unit: unit.name,
    max_size=30,
)


@given(_units, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_balancing_does_not_look_at_the_order_of_new_units(units, random):
    shuffled = random.sample(units, len(units))

    assert balance(shuffled, {}, SHARES) == balance(units, {}, SHARES)


def test_balancing_gives_val_and_hold_out_their_shares_of_rare_classes_too():
    units = [
        Unit(f"d{n:03d}", {FRAMES: 20, "car": 40 + n % 7, **({"bus": 5} if n % 10 == 0 else {})}) for n in range(200)
    ]
    splits = balance(units, {}, SHARES)

    for name in (FRAMES, "car", "bus"):
        total = sum(unit.counts.get(name, 0) for unit in units)
        for split, share in SHARES.items():
            part = sum(unit.counts.get(name, 0) for unit in units if splits[unit.name] == split)
            assert part / total == pytest.approx(share, abs=0.06), (name, split)


def test_balancing_makes_up_for_what_the_splits_lack_already():
    placed = {"train": {FRAMES: 100, "bus": 10}, "val": {FRAMES: 25}}
    shares = {"train": 0.8, "val": 0.2}

    assert balance([Unit("new", {FRAMES: 1, "bus": 2})], placed, shares) == {"new": "val"}


def test_one_lonely_group_trains_when_balanced():
    rules = SplitRules(HoldoutSection(fraction=0.2), SplitSection(balance=True))

    assert place_frames([("b", [Sighting("a", "d", "")])], rules, [{"a": {FRAMES: 1}}]).splits == {"a": "train"}


def test_what_is_stated_is_not_balanced():
    rules = SplitRules(HoldoutSection(drives=("d2",)), SplitSection(balance=True), {"b": "val"})
    seen = [("b", [Sighting("a", "d1", "")]), ("c", [Sighting("b", "d2", "")])]

    assert place_frames(seen, rules).splits == {"a": "val", "b": "holdout"}
