import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driveflow.neighbours.cosine_kernel import distance
from driveflow.neighbours.kept_vectors import later, near_kept
from driveflow.neighbours.leader_scan import NO_TIME, Memberships
from driveflow.neighbours.vectors import VectorRules


def unit(count: int, dimensions: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def memberships(groups: list[list[int]], times: list[int]) -> Memberships:
    starts = np.cumsum([0, *map(len, groups)])
    flat = np.array([group for row in groups for group in row], np.int64)
    time_ns = np.repeat(np.array(times, np.int64), np.diff(starts))
    nowhere = np.full(len(flat), np.nan)
    return Memberships(starts, flat, time_ns, nowhere, nowhere, nowhere)


@settings(max_examples=50)
@given(
    seed=st.integers(0, 99),
    old=st.integers(0, 30),
    new=st.integers(1, 12),
    size=st.integers(1, 9),
    windowed=st.booleans(),
    dimensions=st.sampled_from([3, 40]),
)
def test_new_items_are_named_the_kept_ones_that_a_plain_search_finds(seed, old, new, size, windowed, dimensions):
    random = np.random.default_rng(seed)
    vectors = unit(old + new, dimensions, seed)
    groups = [sorted({int(group) for group in random.integers(0, 3, 2)}) for _ in range(old + new)]
    times = [int(time) if time else NO_TIME for time in random.integers(0, 5, old + new)]
    limit = np.array([0.9, -1.0, 0.7])
    rules = VectorRules(limit, np.array([windowed, False, False]), 1)
    parts = [(np.arange(at, min(at + size, old)), vectors[at : min(at + size, old)]) for at in range(0, old, size)]

    found = near_kept(vectors[old:], memberships(groups, times), rules, parts)

    def near(one: int, other: int) -> bool:
        for group in set(groups[one]) & set(groups[other]):
            in_time = NO_TIME not in (times[one], times[other]) and abs(times[one] - times[other]) <= 1
            if distance(vectors[one], vectors[other]) <= limit[group] and (group or not windowed or in_time):
                return True
        return False

    for item in range(new):
        named = set(found.items[found.starts[item] : found.starts[item + 1]].tolist())
        assert named == {other for other in range(old) if near(old + item, other)}


def test_items_from_the_first_new_one_on_have_the_memberships_they_had():
    every = memberships([[0], [0, 1], [1]], [1, 2, 3])

    part = later(every, 1)

    assert part.starts.tolist() == [0, 2, 3]
    assert part.group.tolist() == [0, 1, 1]
    assert part.time_ns.tolist() == [2, 2, 3]


@pytest.mark.parametrize("old", [0, 3])
def test_rows_of_zeros_resemble_nothing(old):
    members = memberships([[0]] * (old + 1), [1] * (old + 1))
    rules = VectorRules(np.array([0.5]), np.array([False]))
    zeros = np.zeros((1, 2), np.float32)

    found = near_kept(zeros, members, rules, [(np.arange(old), unit(old, 2, 1))] if old else [])

    assert found.items.tolist() == []
