"""The blocked leader rule over vectors says what the plain one says."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.leader_scan import NO_TIME, GroupRules, LeaderScan, Memberships
from driveflow.neighbours.vectors import NearVectors, VectorRules, follow_vectors
from tests.driveflow.neighbours.made import walk

NOBODY = np.zeros(0, np.bool_)


def members(groups, times=None):
    """Memberships of items in groups; `groups` is a list of groups for each item."""
    flat = [group for item in groups for group in item]
    starts = np.cumsum([0, *[len(item) for item in groups]])
    time_ns = np.full(len(flat), NO_TIME) if times is None else np.repeat(times, np.diff(starts))
    return Memberships(starts, np.array(flat, np.int64), time_ns, *[np.full(len(flat), np.nan)] * 3)


def rules(*limits, window_ns=None):
    return VectorRules(np.array(limits, float), np.full(len(limits), window_ns is not None), window_ns or 0)


def plain(vectors, groups, limits, always_lead, times=None, window_ns=None):
    exact = vectors.astype(np.float64)
    leader, apart = list(range(len(vectors))), [0.0] * len(vectors)
    for item in range(len(vectors)):
        near = []
        for other in range(item):
            distance = round(1 - float(exact[item] @ exact[other]), 6)
            shared = [group for group in groups[item] if group in groups[other] and distance <= limits[group]]
            if window_ns is not None:
                shared = shared if abs(times[item] - times[other]) <= window_ns else []
            if leader[other] == other and shared:
                near.append((max(distance, 0.0), other))
        if near and not always_lead[item]:
            apart[item], leader[item] = min(near)
    return leader, apart


@pytest.mark.parametrize(("dimensions", "block"), [(3, 7), (16, 64), (48, 1), (48, 256), (48, 1000)])
def test_every_item_follows_the_nearest_leader_that_came_first_whatever_the_block(dimensions, block):
    vectors = walk(300, dimensions)[np.random.default_rng(1).integers(0, 300, 300)]
    groups = [[0]] * 300

    found = follow_vectors(vectors, members(groups), rules(0.05), np.zeros(300, np.bool_), block)

    leader, apart = plain(vectors, groups, [0.05], np.zeros(300, np.bool_))
    assert found.leader.tolist() == leader
    assert found.distance == pytest.approx(apart, abs=1.1e-6)


@settings(max_examples=40)
@given(st.integers(0, 2**20), st.integers(1, 50), st.booleans())
def test_groups_windows_and_what_always_leads_mean_what_they_say(seed, count, windowed):
    random = np.random.default_rng(seed)
    vectors = walk(count, 8, seed)
    groups = [sorted(set(random.integers(0, 3, 2).tolist())) for _ in range(count)]
    times, window_ns = random.integers(0, 30, count), 9 if windowed else None
    always_lead = random.random(count) < 0.2

    found = follow_vectors(
        vectors, members(groups, times), rules(0.3, 0.1, -1.0, window_ns=window_ns), always_lead, block=16
    )

    assert found.leader.tolist() == plain(vectors, groups, [0.3, 0.1, -1], always_lead, times, window_ns)[0]


def test_a_distance_that_is_the_limit_is_within_it():
    vectors = np.array([[1, 0], [0.95, (1 - 0.95**2) ** 0.5]], np.float32)

    at_limit = follow_vectors(vectors, members([[0], [0]]), rules(0.05), np.zeros(2, np.bool_))
    under = follow_vectors(vectors, members([[0], [0]]), rules(0.049999), np.zeros(2, np.bool_))

    assert (at_limit.leader.tolist(), at_limit.distance.tolist()) == ([0, 0], [0, 0.05])
    assert under.leader.tolist() == [0, 1]


def test_an_item_without_a_vector_leads_and_nobody_follows_it():
    vectors = np.zeros((3, 4), np.float32)

    found = follow_vectors(vectors, members([[0]] * 3), rules(0.5), np.zeros(3, np.bool_))

    assert found.leader.tolist() == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_none_one_and_two_items_are_right(count):
    found = follow_vectors(walk(2, 4)[:1].repeat(count, 0), members([[0]] * count), rules(0.1), np.zeros(count, bool))

    assert found.leader.tolist() == [0] * count


def test_items_that_are_all_equal_follow_the_first_and_name_no_pairs_of_followers():
    vectors = walk(1, 32).repeat(5_000, 0)
    near = NearVectors(vectors, members([[0]] * 5_000), rules(0.05), np.zeros(5_000, np.bool_))

    first = near.ask(100, NOBODY)
    then = near.ask(4_900, np.arange(100) == 0)

    assert len(first.items) == 100 * 99 // 2
    assert then.items.tolist() == [0] * 4_900


def test_new_items_beside_kept_ones_that_were_passed_by_are_named_the_same():
    vectors = walk(400, 32)
    asked, told = (NearVectors(vectors, members([[0]] * 400), rules(0.05), np.zeros(400, np.bool_)) for _ in range(2))
    leads = follow_vectors(vectors[:350], members([[0]] * 350), rules(0.05), np.zeros(350, np.bool_)).distance == 0

    asked.ask(350, NOBODY)
    told.pass_by(350)

    one, other = asked.ask(50, leads), told.ask(50, leads)
    assert (one.starts.tolist(), one.items.tolist()) == (other.starts.tolist(), other.items.tolist())


def test_vectors_beside_hashes_are_asked_where_no_hash_is_near():
    vectors = walk(60, 8, step=0.05)
    groups = members([[0]] * 60)
    codes = np.random.default_rng(3).integers(0, 2**63, 60, dtype=np.uint64)
    nobody = np.zeros(60, np.bool_)
    scan = LeaderScan(codes, groups, GroupRules(np.array([0]), np.array([False]), np.array([False])), nobody)
    near = NearVectors(vectors, groups, rules(0.05), nobody)

    while near.asked < 60:
        scan.ask(near.ask(20, scan.leads()))

    alone = follow_vectors(vectors, groups, rules(0.05), nobody)
    assert scan.followers.leader.tolist() == alone.leader.tolist()


def test_a_row_that_has_not_length_1_is_refused():
    with pytest.raises(ValueError, match="row 1 has 4"):
        follow_vectors(np.array([[1, 0], [2, 0]], np.float32), members([[0], [0]]), rules(0.1), np.zeros(2, np.bool_))


def test_ac_a1_a_search_among_many_vectors_never_holds_a_matrix_of_all_pairs():
    """A million of 512 numbers, in 8 GiB, are searched by `make bench`."""
    count, dimensions = 16_000, 64
    places = np.random.default_rng(3).normal(size=(count // 20, dimensions))
    vectors = (np.repeat(places, 20, axis=0) + np.random.default_rng(4).normal(size=(count, dimensions)) * 0.05).astype(
        np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    tracemalloc.start()

    found = follow_vectors(vectors, members([[0]] * count), rules(0.05), np.zeros(count, np.bool_))

    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(np.unique(found.leader)) == len(places)
    assert most_bytes < 4 * count * count / 10
