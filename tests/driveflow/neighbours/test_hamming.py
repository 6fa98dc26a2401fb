from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.neighbours.hamming import HammingIndex, Near, distances_bits, leaders

CODES = st.integers(0, 2**64 - 1)


@st.composite
def runs_of_codes(draw: st.DrawFn) -> list[int]:
    """Codes in long near-duplicate runs: each a few flipped bits from one of few others."""
    roots = draw(st.lists(CODES, min_size=1, max_size=4))
    flips = st.lists(st.integers(0, 63), max_size=9)
    walk = draw(st.lists(st.tuples(st.sampled_from(roots), flips), max_size=60))
    return [reduce(lambda code, bit: code ^ (1 << bit), bits, root) for root, bits in walk]


def by_definition(codes: list[int], radius: int) -> tuple[list[int], list[int]]:
    """The leader rule as it is written, comparing with every leader."""
    leading: list[int] = []
    found = []
    for position, code in enumerate(codes):
        near = (
            min(((code ^ codes[leader]).bit_count(), rank, leader) for rank, leader in enumerate(leading))
            if leading
            else None
        )
        if near is not None and near[0] <= radius:
            found.append((near[2], near[0]))
        else:
            leading.append(position)
            found.append((position, 0))
    return [leader for leader, _ in found], [distance for _, distance in found]


@given(codes=runs_of_codes(), radius=st.integers(0, 20))
def test_the_index_gives_exactly_the_leader_rule(codes, radius):
    result = leaders(np.array(codes, np.uint64), radius)

    assert (result.leader.tolist(), result.distance_bits.tolist()) == by_definition(codes, radius)


@pytest.mark.parametrize("radius", [0, 2, 3, 4, 6, 7, 9, 11, 12])
def test_thousands_of_leaders_in_buckets_give_exactly_the_leader_rule(radius):
    random = np.random.default_rng(radius)
    crowded = random.integers(0, 2**16, 1500, dtype=np.uint64) * np.uint64(0x0001000000010001)
    flips = np.uint64(1) << random.integers(0, 64, 1500).astype(np.uint64)
    codes = np.concatenate([crowded, np.bitwise_xor.accumulate(flips), random.integers(0, 2**63, 1500, np.uint64)])

    result = leaders(codes, radius)

    kept: list[int] = []
    for position, code in enumerate(codes):
        apart = np.bitwise_count(codes[kept] ^ code) if kept else np.array([64])
        nearest = int(apart.argmin())
        follows = bool(kept) and int(apart[nearest]) <= radius
        expected = (kept[nearest], int(apart[nearest])) if follows else (position, 0)
        assert (int(result.leader[position]), int(result.distance_bits[position])) == expected
        if not follows:
            kept.append(position)


@given(codes=runs_of_codes(), radius=st.integers(0, 20))
def test_every_follower_lies_within_the_radius_of_a_leader(codes, radius):
    array = np.array(codes, np.uint64)

    result = leaders(array, radius)

    assert (result.leader[result.leader] == result.leader).all()
    assert (distances_bits(array, array[result.leader]) == result.distance_bits).all()
    assert (result.distance_bits <= radius).all()


def test_a_slow_random_walk_leaves_no_follower_behind():
    """The rule that compares with any earlier frame, dropped ones too, deletes most of such a drive."""
    random = np.random.default_rng(0)
    flips = np.uint64(1) << random.integers(0, 64, 3000).astype(np.uint64)
    walk = np.bitwise_xor.accumulate(np.concatenate([random.integers(0, 2**63, 1, np.uint64), flips]))

    result = leaders(walk, 4)
    any_earlier = [bool((np.bitwise_count(walk[:at] ^ code) <= 4).any()) for at, code in enumerate(walk)]

    kept = np.unique(result.leader)
    assert (distances_bits(walk, walk[result.leader]) <= 4).all()
    assert len(kept) > 300
    assert sum(not dropped for dropped in any_earlier) < 10


@pytest.mark.parametrize("radius", [0, 4, 12])
def test_of_equal_codes_the_first_is_found(radius):
    index = HammingIndex(radius)
    index.add(7, 1)
    index.add(7, 2)

    assert index.nearest(7) == Near(1, 0)
    assert len(index) == 1


@pytest.mark.parametrize("radius", [4, 12])
def test_of_equally_near_codes_the_first_added_is_found(radius):
    index = HammingIndex(radius)
    index.add(0b0011, 5)
    index.add(0b1100, 3)

    assert index.nearest(0b0000) == Near(5, 2)


@pytest.mark.parametrize(("radius", "found"), [(3, None), (4, Near(0, 4)), (5, Near(0, 4))])
def test_the_radius_is_inclusive(radius, found):
    index = HammingIndex(radius)
    index.add(0, 0)

    assert index.nearest(0b1111) == found


def test_a_hundred_thousand_equal_codes_are_one_cluster():
    result = leaders(np.full(100_000, 12345, np.uint64), 4)

    assert not result.leader.any()


def test_nothing_gives_nothing():
    assert leaders(np.array([], np.uint64), 4).leader.tolist() == []


def test_a_radius_outside_the_code_is_refused():
    with pytest.raises(ValueError, match="0 to 63 bits, got 64"):
        HammingIndex(64)
