"""The compiled leader rule says what the plain one says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.leader_scan import (
    NO_TIME,
    GroupRules,
    LeaderScan,
    Memberships,
    NamedPairs,
    follow,
    no_pairs,
)


def _alone(count):
    """Every item in the one group 0, at no time and no place."""
    return Memberships(
        np.arange(count + 1),
        np.zeros(count, np.int64),
        np.full(count, NO_TIME),
        *[np.full(count, np.nan)] * 3,
    )


def _rules(bits, **changes):
    no = np.array([False])
    return GroupRules(**{"limit_bits": np.array([bits]), "windowed": no, "floored": no, **changes})


def _plain(codes, bits):
    kept, found = [], []
    for position, code in enumerate(codes.tolist()):
        distance, leader = min((((code ^ other).bit_count(), at) for other, at in kept), default=(99, 0))
        if distance <= bits:
            found.append((leader, distance))
        else:
            kept.append((code, position))
            found.append((position, 0))
    return found


@pytest.mark.parametrize("bits", [0, 1, 3, 4, 6, 8, 11, 13, 16])
def test_every_item_follows_the_nearest_leader_that_came_first(bits):
    random = np.random.default_rng(bits)
    codes = random.integers(0, 2**63, 40, dtype=np.uint64)[random.integers(0, 40, 1500)]
    for _ in range(9):
        flips = np.uint64(1) << random.integers(0, 64, len(codes)).astype(np.uint64)
        codes = np.where(random.random(len(codes)) < 0.5, codes ^ flips, codes)

    found = follow(codes, _alone(len(codes)), _rules(bits), np.zeros(len(codes), np.bool_))

    assert list(zip(found.leader.tolist(), found.distance_bits.tolist(), strict=True)) == _plain(codes, bits)


@pytest.mark.parametrize(("bits", "spared"), [(3, 0.0), (6, 0.0), (6, 0.3), (10, 0.02)])
def test_ten_thousand_leaders_of_two_groups_are_found_as_by_a_look_at_each(bits, spared):
    """Spared ones may lie nearer to each other than the limit; there are so many that the buckets are made anew."""
    random = np.random.default_rng(bits)
    codes = random.integers(0, 2**63, 12_000, dtype=np.uint64)
    flips = [np.uint64(1) << random.integers(0, 64, 6_000).astype(np.uint64) for _ in range(6)]
    codes[1::2] = codes[random.integers(0, 6_000, 6_000) * 2] ^ np.bitwise_or.reduce(flips)
    groups, spare = random.integers(0, 2, len(codes)), random.random(len(codes)) < spared
    members = _alone(len(codes))._replace(group=groups)
    no = np.zeros(2, np.bool_)
    rules = _rules(0, limit_bits=np.full(2, bits), windowed=no, floored=no)

    found = follow(codes, members, rules, spare)

    expected = np.arange(len(codes))
    for group in (0, 1):
        kept, leads = np.flatnonzero(groups == group), np.zeros(0, np.int64)
        for item in kept:
            apart = np.bitwise_count(codes[leads] ^ codes[item])
            if not spare[item] and len(leads) and apart.min() <= bits:
                expected[item] = leads[apart.argmin()]
            else:
                leads = np.append(leads, item)
    assert found.leader.tolist() == expected.tolist()


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 3), st.integers(0, 20)), max_size=40), st.integers(0, 6))
def test_the_window_and_the_groups_are_those_of_a_plain_search(rows, window):
    codes = np.array([code for code, _, _ in rows], np.uint64)
    groups, times = (np.array([row[place] for row in rows], np.int64) for place in (1, 2))
    nowhere = np.full(len(rows), np.nan)
    members = Memberships(np.arange(len(rows) + 1), groups, times, *[nowhere] * 3)
    four = np.ones(4, np.bool_)
    rules = _rules(1, limit_bits=np.full(4, 1), windowed=four, floored=~four, window_ns=window)

    found = follow(codes, members, rules, np.zeros(len(rows), np.bool_))

    leads = []
    for item, (code, group, time) in enumerate(rows):
        near = [
            ((code ^ rows[other][0]).bit_count(), other)
            for other in leads
            if rows[other][1] == group and abs(rows[other][2] - time) <= window
        ]
        distance, leader = min(near, default=(9, -1))
        expected = leader if distance <= 1 else item
        assert found.leader[item] == expected
        leads += [item] if expected == item else []


def test_who_must_lead_leads_and_is_followed():
    codes = np.zeros(4, np.uint64)

    found = follow(codes, _alone(4), _rules(0), np.array([False, True, False, True]))

    assert found.leader.tolist() == [0, 1, 0, 3]


def _floor(times, x_m, **rules):
    count = len(times)
    members = Memberships(
        np.arange(count + 1), np.zeros(count, np.int64), np.array(times), np.array(x_m, float), *[np.zeros(count)] * 2
    )
    codes = np.array([(1 << 60) * number + number * 0x0F0F0F for number in range(count)], np.uint64)
    found = follow(codes, members, _rules(0, floored=np.array([True]), **rules), np.zeros(count, np.bool_))
    return found.leader.tolist(), found.gap_ns.tolist()


def test_the_floor_keeps_one_item_in_so_much_time():
    assert _floor([0, 4, 5, 9, 10], [np.nan] * 5, floor_ns=5) == ([0, 0, 2, 2, 4], [-1, 4, -1, 4, -1])


def test_at_a_standstill_the_longer_floor_holds_and_where_no_place_is_known_the_shorter():
    assert _floor([0, 5, 12, 20], [0, 1, 1.5, 9], floor_ns=2, standstill_ns=10, floor_m=2.0)[0] == [0, 0, 2, 3]
    assert _floor([0, 5, 12], [0, np.nan, 9], floor_ns=2, standstill_ns=10, floor_m=2.0)[0] == [0, 1, 2]


def test_no_item_is_no_error():
    empty = np.zeros(0, np.uint64)

    assert len(follow(empty, _alone(0), _rules(4), np.zeros(0, np.bool_)).leader) == 0


def test_a_hundred_thousand_equal_codes_have_one_leader():
    found = follow(np.full(100_000, 7, np.uint64), _alone(100_000), _rules(4), np.zeros(100_000, np.bool_))

    assert not found.leader.any()


def _pairs(*rows):
    """For each item the (other, distance) that are named to it."""
    flat = [pair for row in rows for pair in row]
    return NamedPairs(
        np.cumsum([0, *(len(row) for row in rows)]),
        np.array([other for other, _ in flat], np.int64),
        np.array([distance for _, distance in flat], np.float64),
    )


@pytest.mark.parametrize("bits", [1, 4, 16])
def test_an_item_follows_the_next_nearest_where_it_is_barred_from_the_nearest(bits):
    codes = np.array([0, 0, 1, 0], np.uint64)
    lead = np.array([True, True, True, False])

    found = follow(codes, _alone(4), _rules(bits), lead, _pairs([], [], [], [(0, 0), (1, 0)]))

    assert (found.leader[3], found.distance_bits[3]) == (2, 1)


def test_an_item_barred_from_all_that_is_near_leads():
    found = follow(np.zeros(2, np.uint64), _alone(2), _rules(4), np.zeros(2, np.bool_), _pairs([], [(0, 0)]))

    assert found.leader.tolist() == [0, 1]


def test_named_leaders_count_where_no_code_is_near_and_followers_never():
    codes = np.array([0, 0, 255, 255 << 20, 255 << 40], np.uint64)
    walk = LeaderScan(codes, _alone(5), _rules(0), np.zeros(5, np.bool_))

    walk.ask(no_pairs(2))
    walk.ask(_pairs([(0, 0.03)], [(2, 0.01), (1, 0.01)], [(0, 0.02), (3, 0.01)]))

    assert walk.followers.leader.tolist() == [0, 0, 0, 3, 3]
    assert walk.followers.vector_distance.tolist() == [-1, -1, 0.03, -1, 0.01]
    assert walk.leads().tolist() == [True, False, False, True, False]
